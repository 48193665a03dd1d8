"""A sweep that was just run, as blocks for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roofline.model.crossover import Crossover
from roofline.model.stored import AXES
from roofline.model.sweep import Plan
from roofline.report.blocks import Block, Paragraph, Table
from roofline.units import format_count, format_counted, format_percent, format_span, format_time

__all__ = ["change_blocks", "head_blocks", "point_blocks", "sensitivity_blocks"]

_SHOWN: Final = 24  # rows of a table
_SERIES: Final = 8  # with tables of their own
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
        Paragraph(text=f"{ready.source.name}: {sizes}; {format_counted(ready.points, 'point')}"),
        Paragraph(text=f"{views}; {names}; clock {ready.clock}"),
    ]


def point_blocks(
    rows: Sequence[Mapping[str, Any]], sizes: Sequence[str], *, width: int
) -> list[Block]:
    """Return points as a table, or as one a series where they are many or ``width`` is narrow.

    What is the same in all is left out, and columns that follow from others where they do not
    fit. Of many points the first and the last of each series are shown.
    """
    if not rows or "bound" not in rows[0]:
        return []
    axes = [axis for axis in AXES if len({row[axis] for row in rows}) > 1]
    lines = [_cells(row, axes, sizes) for row in rows[: _SHOWN + 1]]
    note = _status_note(rows)
    if len(rows) <= _SHOWN and (not axes or _width(_narrowed(lines, width)) <= width):
        return [_table(lines, width, note)]
    series: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        series.setdefault(" ".join(str(row[axis]) for axis in axes), []).append(row)
    half = max(2, _SHOWN // len(series) // 2)
    blocks: list[Block] = []
    for name, own in list(series.items())[:_SERIES]:
        cut = len(own) > 2 * half + 1
        lines = [_cells(row, (), sizes) for row in ([*own[:half], *own[-half:]] if cut else own)]
        if cut:
            lines.insert(half, {key: "..." if at == 1 else "" for at, key in enumerate(lines[0])})
        blocks += [Paragraph(text=f"{name}:")] if name else []
        blocks.append(_table(lines, width))
    more = [f"{len(series) - _SERIES} more series"] if len(series) > _SERIES else []
    if len(rows) > sum(len(one.rows) for one in blocks if isinstance(one, Table)):
        more.append(f"all {format_count(len(rows))} points")
    if more:
        note = f"{' and '.join(more)} are in --json and -o. {note}"
    return [*blocks, Paragraph(text=note.rstrip())] if note else blocks


def _narrowed(lines: list[dict[str, str]], width: int) -> list[dict[str, str]]:
    """Return lines without the columns that nobody fills, and that ``width`` has no room for."""
    empty = {name for name in lines[0] if not any(line[name] for line in lines)}
    lines = [{name: line[name] for name in line if name not in empty} for line in lines]
    for spare in _SPARE:
        if _width(lines) > width:
            lines = [{name: line[name] for name in line if name != spare} for line in lines]
    return lines


def _table(lines: list[dict[str, str]], width: int, note: str = "") -> Table:
    lines = _narrowed(lines, width)
    left = ("series", "bound", "status")
    return Table(
        columns=tuple(lines[0]),
        rows=tuple(tuple(line.values()) for line in lines),
        numeric=frozenset(at for at, name in enumerate(lines[0]) if name not in left),
        note=note,
    )


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
            rows=tuple(
                (gain["roof"], gain["saved"], format_percent(gain["gain"], signed=True))
                for gain in gains
            ),
            numeric=frozenset({1, 2}),
        ),
    ]


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row.get("estimate_low"), row.get("estimate_high")
    return "" if low is None or high is None else format_span(low, high)


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
