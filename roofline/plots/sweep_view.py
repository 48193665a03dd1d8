"""What the figures of a sweep share: its points as plain data, their words, and axes of sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from roofline.plots.figure import Axis
from roofline.units import format_count, format_percent, format_si, format_time

__all__ = ["Row", "SweepView", "details", "name_of", "series_of", "size_axis", "varying"]

Row = Mapping[str, Any]
"""A point: hardware, dtype, variant, sizes, and the variables of a sweep, ``bound`` by name."""

_AXES: Final = ("hardware", "dtype", "variant")
_KNOWN: Final = ("estimate", "status", "estimate_low", "estimate_high", "lower_bound",
                 "schedule_bound", "percent_of_roof", "bound", "flops", "intensity",
                 "minimal_bytes")  # fmt: skip
_TICKS: Final = 10  # labels along one axis
_WIDE: Final = 6.0  # ratio of sizes from which an axis is logarithmic
_EVEN: Final = 3.0  # ratio of the largest to the smallest step of sizes in even steps


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepView:
    """Points of a sweep that a figure draws; ``part`` says which they are where not all.

    Values that are not known are ``None``. ``sizes`` names the dimensions that are sizes.
    """

    rows: Sequence[Row]
    sizes: tuple[str, ...]
    op: str
    clock: str
    part: str = ""

    @property
    def title(self) -> str:
        """What was swept, on which clock, and what is held."""
        held = [f"{name} {format_count(self.rows[0][name])}" for name in self.sizes
                if name not in varying(self)]  # fmt: skip
        where = f", at {', '.join(held)}" if held else ""
        return f"{self.op}{where}; modelled, clock {self.clock}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said below a figure of these points."""
        return (self.part,) if self.part else ()


def varying(view: SweepView) -> list[str]:
    """Return the sizes that have more than one value."""
    return [name for name in view.sizes if len({row[name] for row in view.rows}) > 1]


def series_of(rows: Sequence[Row], axes: Sequence[str] = _AXES) -> dict[tuple[str, ...], list[Row]]:
    """Return rows by the values of ``axes``, in the order in which these appear."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(str(row[axis]) for axis in axes), []).append(row)
    return found


def name_of(row: Row, sizes: Sequence[str]) -> str:
    """Return the name of a point: hardware, dtype, variant and sizes."""
    at = ", ".join(f"{name} {format_count(row[name])}" for name in sizes)
    return f"{' '.join(str(row[axis]) for axis in _AXES)}{': ' if at else ''}{at}"


def details(row: Row) -> tuple[tuple[str, str], ...]:
    """Return what is known of a point as (name, value with unit and quality).

    The same for every figure, so that a page holds each text once.
    """
    return _details(*map(row.get, _KNOWN))


@lru_cache(maxsize=1 << 14)  # each point is in three figures
def _details(*values: Any) -> tuple[tuple[str, str], ...]:
    row = dict(zip(_KNOWN, values, strict=True))
    if row["estimate"] is None:
        return (("estimate", "not modelled"), ("status", row.get("status") or "unknown"))
    found = [
        ("estimate", f"{format_time(row['estimate'])}; {row.get('status') or 'modelled'}"),
        ("interval", _interval(row)),
        ("lower bound", _with(row, "lower_bound", "s", "theoretical roofs")),
        ("schedule bound", _with(row, "schedule_bound", "s", "derived")),
        ("of roof", _share(row)),
        ("bound", f"{row['bound'] or 'unknown'}; modelled"),
        ("rate", _rate(row)),
        ("intensity", _with(row, "intensity", "FLOP/B", "counted")),
        ("operations", _with(row, "flops", "FLOP", "counted")),
        ("minimal bytes", _with(row, "minimal_bytes", "B", "counted")),
    ]
    return tuple((name, text) for name, text in found if text)


def size_axis(name: str, values: Sequence[int], *, cells: bool = False) -> Axis:
    """Return an axis of sizes with labels at some of them; with ``cells`` it has room for edges.

    Sizes in even steps stand on a linear axis, all others far apart on a logarithmic one.
    """
    sizes = sorted(set(values))
    even = _even(sizes)
    log = not even and (cells or sizes[-1] / sizes[0] >= _WIDE)
    if cells:
        edges = cell_edges(sizes)
        low, high = edges[0], edges[-1]
    elif log:
        room = (sizes[-1] / sizes[0]) ** 0.03
        low, high = sizes[0] / room, sizes[-1] * room
    else:
        span = (sizes[-1] - sizes[0]) or sizes[0]
        low, high = max(0.0, sizes[0] - 0.04 * span), sizes[-1] + 0.04 * span
    scale = "log" if log else "linear"
    return Axis(label=name, unit="1", low=low, high=high, scale=scale,
                ticks=_ticks(sizes, log=log))  # fmt: skip


def cell_edges(sizes: Sequence[int]) -> list[float]:
    """Return the edges of cells around ascending sizes, halfway between them on their axis."""
    if len(sizes) == 1:
        return [sizes[0] / math.sqrt(2), sizes[0] * math.sqrt(2)]
    if _even(sizes):
        inner = [(a + b) / 2 for a, b in pairwise(sizes)]
        return [2 * sizes[0] - inner[0], *inner, 2 * sizes[-1] - inner[-1]]
    inner = [math.sqrt(a * b) for a, b in pairwise(sizes)]
    return [sizes[0] ** 2 / inner[0], *inner, sizes[-1] ** 2 / inner[-1]]


def _even(sizes: Sequence[int]) -> bool:
    """Whether ascending sizes go in steps that are about alike."""
    steps = [after - before for before, after in pairwise(sizes)]
    return len(steps) > 3 and max(steps) <= _EVEN * min(steps)


def _ticks(sizes: Sequence[int], *, log: bool) -> tuple[float, ...]:
    """Return sizes that stand apart, or of many the powers of two; none for round numbers."""
    if not log and len(sizes) > _TICKS:
        return ()
    place = math.log2 if log else float
    apart = (place(sizes[-1]) - place(sizes[0])) / _TICKS
    kept: list[int] = []
    powers = [size for size in sizes if size & (size - 1) == 0]
    for size in powers if len(powers) > 2 and len(sizes) > _TICKS else sizes:
        if all(abs(place(size) - place(other)) >= max(apart * 0.999, 1e-9) for other in kept):
            kept.append(size)
    return tuple(float(size) for size in sorted(kept))


def _with(row: Row, name: str, unit: str, quality: str) -> str:
    value = row.get(name)
    return "" if value is None else f"{format_si(value, unit)}; {quality}"


def _interval(row: Row) -> str:
    low, high = row.get("estimate_low"), row.get("estimate_high")
    if low is None or high is None:
        return ""
    return f"{format_time(low)} to {format_time(high)}; 90 %"


def _share(row: Row) -> str:
    share = row.get("percent_of_roof")
    return "" if share is None else f"{format_percent(share / 100)}; lower bound over estimate"


def _rate(row: Row) -> str:
    if not row.get("flops"):
        return ""
    return f"{format_si(row['flops'] / row['estimate'], 'FLOP/s')}; modelled"
