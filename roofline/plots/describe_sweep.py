"""Describe a sweep as points on the roofline of its first hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roofline.hardware.model import Hardware
from roofline.plots.describe import memory_roofs
from roofline.plots.figure import Axis, Figure, Point
from roofline.plots.roofs import limits, roof_lines
from roofline.units import format_count, format_rate, format_time

__all__ = ["describe_sweep"]


def describe_sweep(
    rows: Sequence[Mapping[str, Any]], sizes: Sequence[str], hardware: Hardware, op: str, clock: str
) -> Figure | None:
    """Return modelled points on the roofline, or ``None`` where none has a place on it.

    ``rows`` are points as plain data: ``hardware``, ``dtype``, ``variant``, the ``sizes``, and the
    variables of a sweep with ``bound`` by name. Only those of ``hardware`` are drawn.
    """
    drawn = [
        row
        for row in rows
        if row["hardware"] == hardware.name
        and row["intensity"]
        and row["flops"]
        and row["estimate"]
    ]
    if not drawn:
        return None
    series = list(dict.fromkeys((row["dtype"], row["variant"]) for row in drawn))
    tensor = [roof for roof in hardware.roofs("theoretical", "tensor") if roof.dtype != "sparse"]
    peak = max(roof.value for roof in tensor)
    ceiling = hardware.memory_ceiling("theoretical")
    rates = [row["flops"] / row["estimate"] for row in drawn]
    low, high = limits([*(row["intensity"] for row in drawn), peak / ceiling.value * 4])
    x = Axis(label="arithmetic intensity, all FLOP per minimal byte", unit="FLOP/B", low=low,
             high=high)  # fmt: skip
    return Figure(
        key="roofline",
        title="Roofline of the sweep",
        subtitle=f"{op} on {hardware.name}, LNC {hardware.lnc}; modelled, clock {clock}",
        x=x,
        y=Axis(label="modelled rate", unit="FLOP/s", low=min(rates) / 4,
               high=max(peak, *rates) * 3),
        lines=roof_lines(tensor, memory_roofs(hardware), x, ceiling),
        points=tuple(
            _point(row, rate, sizes, series.index((row["dtype"], row["variant"])))
            for row, rate in zip(drawn, rates, strict=True)
        ),
        notes=("points are modelled times, none is measured", _shapes(series)),
    )  # fmt: skip


def _shapes(series: Sequence[tuple[str, str]]) -> str:
    words = ("circle", "square", "diamond", "triangle", "triangle down", "plus", "x", "hexagon")
    return "; ".join(
        f"{words[at % len(words)]}: {dtype} {variant}" for at, (dtype, variant) in enumerate(series)
    )


def _point(row: Mapping[str, Any], rate: float, sizes: Sequence[str], shape: int) -> Point:
    at = " ".join(f"{name}={row[name]}" for name in sizes)
    key = f"{row['variant']} {row['dtype']}, {at}"
    detail = [
        ("estimate", f"{format_time(row['estimate'])}; modelled"),
        ("bound", row["bound"] or "unknown"),
        ("rate", format_rate(rate, "FLOP/s")),
    ]
    if row.get("lower_bound"):
        detail.append(("lower bound", f"{format_time(row['lower_bound'])}; theoretical roofs"))
    if row.get("minimal_bytes"):
        detail.append(("minimal bytes", f"{format_count(round(row['minimal_bytes']))} B; counted"))
    return Point(
        key=key,
        label="",
        x=row["intensity"],
        y=rate,
        shape=shape,
        tone=(row["bound"] or "unknown").split(":")[0],
        group=key,
        time_s=row["estimate"],
        detail=tuple(detail),
    )
