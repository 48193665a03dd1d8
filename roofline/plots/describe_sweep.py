"""Describe a sweep as points on the roofline of one of its chips."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.engines import ELEMENT_ENGINES, resource_title
from roofline.hardware.model import Hardware
from roofline.plots.describe import memory_roofs
from roofline.plots.figure import Axis, Figure, Point
from roofline.plots.roofs import limits, roof_lines
from roofline.plots.sweep_view import Row, SweepView, details, name_of

__all__ = ["describe_roofline"]


def describe_roofline(view: SweepView, hardware: Hardware, name: str) -> Figure | None:
    """Return modelled points on the roofline, or ``None`` where none has a place on it.

    Only points of the chip that the sweep calls ``name`` are drawn.
    """
    drawn = [
        row
        for row in view.rows
        if row["hardware"] == name and row["intensity"] and row["flops"] and row["estimate"]
    ]
    if not drawn:
        return None
    series = list(dict.fromkeys((row["dtype"], row["variant"]) for row in drawn))
    tensor = [roof for roof in hardware.roofs("theoretical", "tensor") if roof.dtype != "sparse"]
    peak = max(roof.value for roof in tensor)
    ceiling = hardware.memory_ceiling("theoretical")
    rates = [row["flops"] / row["estimate"] for row in drawn]
    low, high = limits([*(row["intensity"] for row in drawn), peak / ceiling.value * 4])
    x = Axis(label="intensity at minimal bytes", unit="FLOP/B", low=low,
             high=high)  # fmt: skip
    return Figure(
        key=f"roofline-{name.replace('#', '-')}",
        title=f"Roofline of {name}",
        subtitle=f"{view.op} on {name}, LNC {hardware.lnc}; modelled, clock {view.clock}",
        x=x,
        y=Axis(label="modelled rate", unit="FLOP/s", low=min(rates) / 4,
               high=max(peak, *rates) * 3),
        lines=roof_lines(tensor, memory_roofs(hardware), x, ceiling),
        points=tuple(
            _point(row, rate, view.sizes, series.index((row["dtype"], row["variant"])))
            for row, rate in zip(drawn, rates, strict=True)
        ),
        notes=(
            f"points are modelled times, none is measured; {_shapes(series)}",
            *_element_note(drawn),
            *view.notes,
        ),
    )  # fmt: skip


def _element_note(rows: Sequence[Row]) -> tuple[str, ...]:
    """Say what is not drawn: element engines have roofs in element-passes, not in FLOP."""
    engines = [
        resource_title(engine)
        for engine in ELEMENT_ENGINES
        if any(str(row["bound"]).startswith(f"{engine}:") for row in rows)
    ]
    if not engines:
        return ()
    named = f"those of {' and '.join(engines)}, which bounds points here, count element-passes"
    return (f"Tensor roofs are for matrix products; {named} and are not drawn",)


def _shapes(series: Sequence[tuple[str, str]]) -> str:
    words = ("circle", "square", "diamond", "triangle", "triangle down", "plus", "x", "hexagon")
    return "; ".join(
        f"{words[at % len(words)]}: {dtype} {variant}" for at, (dtype, variant) in enumerate(series)
    )


def _point(row: Row, rate: float, sizes: Sequence[str], shape: int) -> Point:
    return Point(
        key=name_of(row, sizes),
        label="",
        x=row["intensity"],
        y=rate,
        shape=shape,
        tone=row["bound"] or "unknown",
        group=f"{row['dtype']} {row['variant']}",
        time_s=row["estimate"],
        detail=details(row),
    )
