"""Figure descriptions: everything a figure shows as plain data, before any drawing library."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

__all__ = ["Axis", "Cell", "Curve", "Figure", "Lane", "Line", "Point", "Span"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis with its limits; values are in the SI base ``unit``, ``scale`` is log or linear.

    ``ticks`` are where labels stand on an axis of sizes (unit ``1``); without, at round numbers.
    """

    label: str
    unit: str
    low: float
    high: float
    scale: str = "log"
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A roof, a trajectory of context, or a join of two points.

    ``role`` is ``memory``, ``compute``, ``context``, ``join`` (of one time at different bytes),
    ``gap`` (from a point up to its roof) or ``arrow`` (from a base to its new point);
    ``kind`` and ``resource`` are those of the roof. ``binding`` marks the roof the headline uses.
    """

    key: str
    label: str
    role: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: str = ""
    resource: str = ""
    dtype: str = ""
    binding: bool = False
    source: str = ""
    quality: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A variant at one intensity: ``shape`` by variant, ``tone`` by what binds it.

    ``hollow`` points are of context or at another way to count bytes. ``group`` names the time
    that points at different bytes share, ``basis`` how bytes are counted, ``time_s`` how long it
    took. ``detail`` is what a reader may want to know of the point, as (name, text). ``row`` is the
    block that it is in.
    """

    key: str
    label: str
    x: float
    y: float
    shape: int = 0
    tone: str = "unknown"
    hollow: bool = False
    group: str = ""
    basis: str = ""
    time_s: float = 0.0
    detail: tuple[tuple[str, str], ...] = ()
    row: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Values over the horizontal axis in one block, with the interval from ``low`` to ``high``.

    ``shape`` is by variant, as that of points, and gives the dashes; ``role`` is ``model``,
    ``bound`` (a limit that no value passes), ``change`` (of bound, solved) or ``range`` (of it).
    """

    key: str
    row: int
    label: str
    role: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    shape: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a map in block ``row``: its size on both axes, its edges, and what is there.

    ``tone`` names its colour; without one ``value`` does, on the scale of the figure. ``text`` is
    written where it fits.
    """

    key: str
    row: int
    x: float
    y: float
    left: float
    right: float
    bottom: float
    top: float
    tone: str = ""
    value: float = 0.0
    text: str = ""
    detail: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range on the horizontal axis in one row of a ladder; ``row`` counts from the top."""

    key: str
    row: int
    label: str
    low: float
    value: float
    high: float
    tone: str
    text: str = ""
    share: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Activity over time from 0 to ``end`` in equal bins, in thousandths of each bin."""

    key: str
    row: int
    label: str
    tone: str
    end: float
    working: tuple[int, ...]
    active: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A whole figure. ``groups`` names blocks of rows as (first row, title, note).

    Blocks of curves and cells are drawn side by side, each under its title and all on the same
    axes. ``scale`` gives colours to the values of cells.
    """

    key: str
    title: str
    subtitle: str
    x: Axis
    y: Axis | None = None
    lines: tuple[Line, ...] = ()
    points: tuple[Point, ...] = ()
    spans: tuple[Span, ...] = ()
    lanes: tuple[Lane, ...] = ()
    curves: tuple[Curve, ...] = ()
    cells: tuple[Cell, ...] = ()
    scale: Axis | None = None
    groups: tuple[tuple[int, str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def share_words(self) -> str:
        """What the shares beside spans are of; empty where none has one."""
        if not any(span.share for span in self.spans):
            return ""
        return "of the measured time" if self.x.scale == "log" else "of the total"

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain lists and dicts, which rebuild it exactly."""
        return {name: _plain(getattr(self, name)) for name in _names(Figure)}


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _plain(value: Any) -> Any:
    """Return marks as dicts; ``asdict`` would copy every text of every mark."""
    if isinstance(value, Axis):
        return {name: getattr(value, name) for name in _names(Axis)}
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        kind: type = type(value[0])
        names = _names(kind)
        return [{name: getattr(mark, name) for name in names} for mark in value]
    return value
