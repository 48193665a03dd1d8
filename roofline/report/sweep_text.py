"""A sweep that was just run, as blocks for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roofline.model.crossover import Crossover
from roofline.model.stored import AXES
from roofline.model.sweep import Plan
from roofline.report.blocks import Block, Paragraph, Table
from roofline.units import format_count, format_percent, format_time

__all__ = ["change_blocks", "head_blocks", "point_blocks", "sensitivity_blocks"]

_SHOWN: Final = 24  # rows of a table
_SPARE: Final = ("lower bound", "interval")
_STATUS: Final = {
    "calibrated": "inside the sizes that the constants were fitted on",
    "extrapolated": "outside of them",
    "inferred": "no measured time of this chip stands behind the constants",
    "larger-than-hbm": "does not fit in the memory",
    "unsupported": "the chip has no such dtype",
    "excluded": "left out by a condition",
    "partial": "an operator without a formula is in it",
}


def head_blocks(ready: Plan) -> list[Block]:
    """Return what was swept, on what, and how."""
    sizes = ", ".join(
        f"{name} {format_count(s[0])}"
        + (f" to {format_count(s[-1])} ({len(s)})" if len(s) > 1 else "")
        for name, s in ready.sizes.items()
    )
    views = ", ".join(f"{name} LNC {lnc}" for name, lnc in ready.lnc.items())
    names = f"{', '.join(ready.dtype)}; {', '.join(ready.variant)}"
    return [
        Paragraph(text=f"{ready.source.name}: {sizes}; {format_count(ready.points)} points"),
        Paragraph(text=f"{views}; {names}; clock {ready.clock}"),
    ]


def point_blocks(
    rows: Sequence[Mapping[str, Any]], sizes: Sequence[str], *, width: int
) -> list[Block]:
    """Return a table of points, of many the first and the last; what is the same in all is out.

    Where it does not fit in ``width`` columns, those that follow from others are left out.
    """
    if not rows or "bound" not in rows[0]:
        return []
    axes = [axis for axis in AXES if len({row[axis] for row in rows}) > 1]
    half = _SHOWN // 2
    shown = rows if len(rows) <= _SHOWN else [*rows[:half], *rows[-half:]]
    lines = [_cells(row, axes, sizes) for row in shown]
    if not axes:
        lines = [{name: cell for name, cell in line.items() if name != "series"} for line in lines]
    for spare in _SPARE:
        if _width(lines) > width:
            lines = [{name: cell for name, cell in line.items() if name != spare} for line in lines]
    note = _status_note(rows)
    if len(rows) > _SHOWN:
        lines.insert(half, {name: "..." if at == 0 else "" for at, name in enumerate(lines[0])})
        note = f"{len(rows) - _SHOWN} more are in --json and -o. {note}"
    left = ("series", "bound", "status")
    return [
        Table(
            columns=tuple(lines[0]),
            rows=tuple(tuple(line.values()) for line in lines),
            numeric=frozenset(at for at, name in enumerate(lines[0]) if name not in left),
            note=note,
        )
    ]


def _cells(row: Mapping[str, Any], axes: Sequence[str], sizes: Sequence[str]) -> dict[str, str]:
    share = row.get("percent_of_roof")
    return {
        "series": " ".join(str(row[axis]) for axis in axes),
        **{name: format_count(row[name]) for name in sizes},
        "estimate": "" if row["estimate"] is None else format_time(row["estimate"]),
        "interval": _interval(row),
        "lower bound": "" if row.get("lower_bound") is None else format_time(row["lower_bound"]),
        "of bound": "" if share is None else format_percent(share / 100),
        "bound": row["bound"] or "not modelled",
        "status": row.get("status") or "",
    }


def _width(lines: Sequence[Mapping[str, str]]) -> int:
    return sum(2 + max(len(name), *(len(line[name]) for line in lines)) for name in lines[0])


def change_blocks(changes: Sequence[Crossover], along: str) -> list[Block]:
    """Return where the bound changes along a size, with the range over the published floors."""
    if not changes:
        return [Paragraph(text=f"one bound all along {along}")]
    axes = [axis for axis in AXES if len({getattr(found, axis) for found in changes}) > 1]
    lines = [
        {
            "series": " ".join(str(getattr(found, axis)) for axis in axes),
            "at": ", ".join(f"{name} {format_count(size)}" for name, size in found.sizes.items()),
            "from": found.before,
            "to": found.after,
            f"new from {along}": f"{format_count(found.at)}{_range(found)}",
        }
        for found in changes[:_SHOWN]
    ]
    kept = [name for name in lines[0] if any(line[name] for line in lines)]
    more = len(changes) - len(lines)
    note = "In brackets: the range over the published floors of one execution."
    table = Table(
        columns=tuple(kept),
        rows=tuple(tuple(line[name] for name in kept) for line in lines),
        note=f"{note} {more} more are in --json." if more else note,
    )
    return [Paragraph(text=f"bound changes along {along}:"), table]


def sensitivity_blocks(gains: Sequence[Mapping[str, Any]], which: str) -> list[Block]:
    """Return what 10 % more of each roof saves."""
    return [
        Paragraph(text=f"each roof +10 %, largest point of {which}: time saved"),
        Table(
            columns=("roof", "saved", "gain"),
            rows=tuple((gain["roof"], gain["saved"], f"{gain['gain']:+.1%}") for gain in gains),
            numeric=frozenset({1, 2}),
        ),
    ]


def _interval(row: Mapping[str, Any]) -> str:
    """Return the interval of an estimate; a unit that both ends share is written once."""
    low, high = row.get("estimate_low"), row.get("estimate_high")
    if low is None or high is None:
        return ""
    first, last = format_time(low), format_time(high)
    return f"{first.split()[0] if first.split()[1] == last.split()[1] else first} to {last}"


def _status_note(rows: Sequence[Mapping[str, Any]]) -> str:
    found = {word for row in rows for word in str(row.get("status") or "").split(", ")}
    words = [f"{name}: {text}" for name, text in _STATUS.items() if name in found]
    return f"status: {'; '.join(words)}." if words else ""


def _range(found: Crossover) -> str:
    if (found.low, found.high) == (found.at, found.at):
        return ""
    low = "below" if found.low is None else format_count(found.low)
    high = "beyond" if found.high is None else format_count(found.high)
    return f" ({low} to {high})"
