"""Verdicts of a report: a table of all times, and one sentence for all of which the same holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from roofline.clocks import CLOCK_LABELS, CLOCKS
from roofline.engines import resource_title
from roofline.report.alike import among, joined, merged
from roofline.report.blocks import Block, Bullets, Heading, Table
from roofline.report.study_rows import noun, row_name, some_rows
from roofline.report.study_table import verdict_grid
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row
from roofline.units import format_percent, format_time

__all__ = ["sentences", "verdicts"]

_LISTED: Final = 3  # rows whose figures a sentence lists one by one; of more it gives the range
_NAMED: Final = 4  # rows that a sentence names one by one


def verdicts(result: StudyResult) -> Iterator[Block]:
    """Yield the table of verdicts, by configs where there are several, and their sentences."""
    yield Heading(text="Verdicts")
    rows = some_rows(result.rows)
    gridded = result.kind == "study" and len(result.study.configs) > 1
    yield verdict_grid(result) if gridded else _table(rows, result)
    yield Bullets(items=tuple(sentences(result)))


def sentences(result: StudyResult) -> Iterator[str]:
    """Yield one sentence for all rows whose verdicts differ in nothing but figures.

    Figures of up to three rows are listed in the order of their names; of more the range is given.
    """
    for group in among(result.rows, lambda row: row.verdict.explanation):
        said = merged([row.verdict.explanation for row in group], most=_LISTED)
        yield f"{_names(group, result)}: {said}"


def _names(group: Sequence[Row], result: StudyResult) -> str:
    keys = list(dict.fromkeys(row.measurement.key for row in group))
    configs = list(dict.fromkeys(row.measurement.config.key for row in group))
    if len(group) > _NAMED and len(group) == len(result.rows):
        return f"All {len(group)} {'captures' if noun(result) == 'captures' else 'times'}"
    if len(keys) > _NAMED:
        return f"{len(keys)} {noun(result)}, {', '.join(keys[: _NAMED - 1])} and more"
    if len(configs) == 1 or result.kind == "capture":
        return joined(keys) + (f" ({configs[0]})" if len(configs) == 1 and configs[0] else "")
    return ", ".join(f"{key} ({_sizes(key, group, result)})" for key in keys)


def _sizes(key: str, group: Sequence[Row], result: StudyResult) -> str:
    """Say at which sizes the rows of one variant are; dtypes with the same sizes together."""
    said: dict[str, list[str]] = {}
    for dtype, shapes in _shapes(key, group).items():
        every = _shapes(key, result.rows)[dtype]
        said.setdefault(_some(shapes, every), []).append(dtype)
    return ", ".join(f"{sizes} {joined(dtypes)}" for sizes, dtypes in said.items())


def _shapes(key: str, rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return the shapes of a variant by dtype, in their order."""
    found: dict[str, list[str]] = {}
    for config in (row.measurement.config for row in rows if row.measurement.key == key):
        found.setdefault(config.dtype, []).append(config.key.removesuffix(f" {config.dtype}"))
    return found


def _some(shapes: Sequence[str], every: Sequence[str]) -> str:
    if len(shapes) <= 2:
        return joined(shapes)
    if shapes == every:
        return "all sizes of"
    start = every.index(shapes[0])
    if shapes == every[start : start + len(shapes)]:
        return f"{shapes[0]} to {shapes[-1]}"
    return f"{len(shapes)} of {len(every)} sizes of"


def _table(rows: Sequence[Row], result: StudyResult) -> Table:
    """Return a row a time. Clock and stability have a column only where they differ."""
    clocks = list(dict.fromkeys(map(_clock, rows)))
    firm = all(row.verdict.stable for row in rows)
    columns = {
        noun(result)[:-1]: [row_name(row, result) for row in rows],
        "time": [format_time(row.time_s) for row in rows],
        "clock": list(map(_clock, rows)),
        "verdict": [row.verdict.label + (" (weak)" if row.verdict.weak else "") for row in rows],
        "decided by": list(map(_figure, rows)),
        "of bound": [format_percent(row.placement.bound_fraction) for row in rows],
        "stable": ["yes" if row.verdict.stable else "no" for row in rows],
    }
    if len(clocks) == 1:
        del columns["clock"]
    if firm:
        del columns["stable"]
    names = tuple(columns)
    return Table(
        columns=names,
        rows=tuple(zip(*columns.values(), strict=True)),
        numeric=frozenset({names.index("time"), names.index("of bound")}),
        note=" ".join(filter(None, _notes(rows, result, clocks, firm=firm))),
    )


def _notes(
    rows: Sequence[Row], result: StudyResult, clocks: Sequence[str], *, firm: bool
) -> Iterator[str]:
    if len(clocks) == 1:
        yield f"Clock: {clocks[0]} ({CLOCKS[rows[0].placement.clock]})."
    if any(row.measurement.clock_quality == "inferred" for row in rows):
        yield "A clock with ? is inferred, its source does not state it."
    yield (
        "decided by: the share of the window in which the busiest resource works, or of the rate "
        "that it can reach; fixed: of fixed time. of bound: lower bound over time."
    )
    if any(row.placement.bound is not None and not row.work.minimal_bytes for row in rows):
        yield "A capture without named tensors has a bound of the work it executed, without bytes."
    moved = "each roof is moved across its documented spread"
    yield (
        f"Stable: no verdict here changes when {moved}."
        if firm
        else f"stable: the verdict does not change when {moved}."
    )
    if len(rows) < len(result.rows):
        yield f"Shown: {len(rows)} of {len(result.rows)} times; points.csv holds every one."


def _figure(row: Row) -> str:
    verdict = row.verdict
    if verdict.utilization is None:
        return "unknown"
    if verdict.resource == "overhead":
        return f"fixed {verdict.utilization:.2f}"
    return f"{resource_title(verdict.busiest)} {verdict.utilization:.2f}"


def _clock(row: Row) -> str:
    """Name the clock; one that the source does not state is marked."""
    label = CLOCK_LABELS[row.placement.clock]
    return f"{label}?" if row.measurement.clock_quality == "inferred" else label
