"""How good the data of a report are: clocks, repeats and windows, and what captures lack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from roofline.captures.capture import Capture, Issue
from roofline.clocks import CLOCK_LABELS, CLOCKS
from roofline.report.alike import among, joined, merged
from roofline.report.blocks import Block, Heading, Paragraph, Table
from roofline.report.study_rows import noun
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row

__all__ = ["data_quality"]

_BASES: Final = {
    "capture": "events",
    "summary": "counters",
    "time": "the time alone",
}
_PROFILED: Final = {True: "yes", False: "no", None: "not stated"}
_NAMED: Final = 3


def data_quality(result: StudyResult) -> Iterator[Block]:
    """Yield how each time was measured and judged, and what is missing, lost or repaired."""
    yield Heading(text="Data quality")
    yield _measured(result)
    yield from _issues(result)


def _measured(result: StudyResult) -> Table:
    """Return one row for all times that were measured and judged alike."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in result.rows:
        groups.setdefault(_how(row, result), []).append(row)
    clocks = {one.placement.clock for one in result.rows}
    clocks |= {one.evidence.clock for one in result.rows}
    meaning = "; ".join(f"{CLOCK_LABELS[key]}: {CLOCKS[key]}" for key in sorted(clocks))
    return Table(
        columns=("of", "times", "clock", "known as", "profiled", "repeats", "judged on", "from"),
        rows=tuple((_of(rows, result), str(len(rows)), *how) for how, rows in groups.items()),
        numeric=frozenset({1}),
        note=f"{meaning}. Repeats: runs behind one time; without them its spread is not known.",
    )


def _how(row: Row, result: StudyResult) -> tuple[str, ...]:
    measured, evidence = row.measurement, row.evidence
    window = CLOCK_LABELS[evidence.clock]
    source = result.study.sources.get(measured.source)
    return (
        CLOCK_LABELS[row.placement.clock],
        measured.clock_quality,
        _PROFILED[measured.clock.profiled],
        "not stated" if measured.n is None else str(measured.n),
        f"{window}, {_BASES[evidence.basis]}",
        "the capture" if result.kind != "study" or source is None else source.title,
    )


def _of(rows: Sequence[Row], result: StudyResult) -> str:
    names = list(dict.fromkeys(row.measurement.key for row in rows))
    if len(names) <= _NAMED:
        return ", ".join(names)
    every = "all " if len(rows) == len(result.rows) else ""
    return f"{every}{len(names)} {noun(result)}"


def _issues(result: StudyResult) -> Iterator[Block]:
    if not result.captures:
        return
    found = [(capture, issue) for capture in result.captures for issue in capture.quality]
    if found:
        yield Table(
            columns=("capture", "severity", "what", "table", "count"),
            rows=tuple(
                _issue(group, len(result.captures))
                for group in among(
                    found, lambda one: f"{one[1].severity} {one[1].table} {one[1].what}"
                )
            ),
            numeric=frozenset({4}),
        )
    else:
        yield Paragraph(text="Nothing is known to be missing, lost, repaired or estimated.")
    if result.same_execution:
        yield Table(
            columns=("execution, shown by", "left out, the same execution"),
            rows=tuple(
                (shown, ", ".join(others)) for shown, others in result.same_execution.items()
            ),
        )


def _issue(group: Sequence[tuple[Capture, Issue]], captures: int) -> tuple[str, ...]:
    names = list(dict.fromkeys(capture.path.name for capture, _ in group))
    issues = [issue for _, issue in group]
    counts = [f"{issue.count:,}" for issue in issues if issue.count is not None]
    if len(names) <= _NAMED:
        where = joined(names)
    else:
        where = f"all {captures}" if len(names) == captures else f"{len(names)} of {captures}"
    return (
        where,
        issues[0].severity,
        merged([issue.what for issue in issues]),
        issues[0].table,
        merged(counts) if counts else "",
    )
