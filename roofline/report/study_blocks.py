"""What the report of a study says, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from roofline.plots.describe import shown_rows
from roofline.report.blocks import Block, Bullets, FigureBlock, Heading, Paragraph, Table
from roofline.report.hardware_card import hardware_card
from roofline.report.study_context import onset, other_hardware, provenance
from roofline.report.study_findings import findings, top_findings
from roofline.report.study_quality import data_quality
from roofline.report.study_rows import row_name
from roofline.report.study_untimed import estimated_blocks, untimed_blocks
from roofline.report.study_verdicts import verdicts
from roofline.report.study_work import operators, sides, work
from roofline.report.trace_blocks import operator_tables, trace_summary
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row
from roofline.units import format_counted, format_si, format_time

__all__ = ["study_blocks", "summary_blocks"]

_NAMED: Final = 3  # of all rows that are named where the same is said of them


def study_blocks(result: StudyResult) -> list[Block]:
    """Return the whole report: verdicts, figures, findings, tables, quality, sources.

    Where nothing is placed there are no tables about times.
    """
    return [
        *_headline(result),
        *top_findings(result),
        *_figures(),
        *findings(result),
        *estimated_blocks(result),
        *untimed_blocks(result),
        *operator_tables(result),
        *(_tables(result) if result.rows else ()),
        *provenance(result),
    ]


def _tables(result: StudyResult) -> Iterator[Block]:
    yield from _time(result)
    yield from sides(result)
    yield from work(result)
    yield from operators(result)
    yield from onset(result)
    yield from other_hardware(result)
    yield from data_quality(result)
    yield from hardware_card(result.hardware)


def _figures() -> tuple[Block, ...]:
    return (
        Heading(text="Figures"),
        FigureBlock(
            stem="operators", alt="Operators by time: on the host, dispatched, on the device"
        ),
        FigureBlock(
            stem="ladder",
            alt="Time ladder: what each microsecond of a variant is, on a logarithmic axis",
        ),
        FigureBlock(stem="roofline", alt="Roofline: FLOP per byte against FLOP/s"),
        FigureBlock(
            stem="engines", alt="Engine panel: element-passes per byte against passes per second"
        ),
        FigureBlock(stem="timeline", alt="Engines and DMA over time, share of each bin at work"),
        FigureBlock(stem="utilization", alt="Active and working share of each engine, DMA and HBM"),
        FigureBlock(
            stem="waterfall", alt="From the lower bound up to the total: what the time above is"
        ),
        FigureBlock(stem="sizes", alt="Achieved bandwidth over size, with the memory roofs"),
    )


def summary_blocks(result: StudyResult) -> list[Block]:
    """Return what a terminal shows: verdicts in a sentence each, findings, what is modelled."""
    return [
        *_headline(result),
        *findings(result),
        *estimated_blocks(result),
        *untimed_blocks(result),
    ]


def _headline(result: StudyResult) -> Iterator[Block]:
    """Yield title, setting and verdicts."""
    yield Heading(text=result.study.title, level=1)
    if result.rows:
        yield Paragraph(text=_setting(result))
    yield from (trace_summary(result, result.trace) if result.trace else verdicts(result))


def _setting(result: StudyResult) -> str:
    hardware = result.hardware
    ceiling = hardware.memory_ceiling("theoretical")
    cores = (
        "one physical core"
        if hardware.lnc == 1
        else f"LNC {hardware.lnc}, {hardware.working_cores} of {hardware.lnc} physical cores work"
    )
    return (
        f"{_same(result)}Shown on {hardware.name} ({hardware.chip}), {cores}. The memory ceiling "
        f"that binds is {ceiling.name} at {format_si(ceiling.value, 'B/s')} ({ceiling.kind}). "
        f"Marks: preset {result.preset}."
    )


def _same(result: StudyResult) -> str:
    """Say that files of a folder are of one execution; the data quality names them."""
    if not result.same_execution:
        return ""
    count = len(result.captures) + sum(map(len, result.same_execution.values()))
    return (
        f"{format_counted(count, 'capture')} of "
        f"{format_counted(len(result.captures), 'execution')}: files of one name are of one "
        "execution, which is shown once, by its raw trace where there is one. "
    )


def _time(result: StudyResult) -> Iterator[Block]:
    yield Heading(text="Where the time goes", short="Time")
    rows = shown_rows(result.rows)
    yield Table(
        columns=("variant", "rung", "time", "what", "known as"),
        rows=tuple(
            (
                row_name(row, result),
                rung.label,
                format_time(rung.value_s)
                if rung.low_s == rung.high_s
                else f"{format_time(rung.low_s)} to {format_time(rung.high_s)}",
                rung.what,
                rung.quality,
            )
            for row in rows
            for rung in row.rungs
        ),
        note="Each rung is a time of its own, not the sum of those above it.",
    )
    firm = [
        *((row, caveat) for row in rows for caveat in row.verdict.caveats),
        *(
            (row, f"would be {label} with the {what}")
            for row in rows
            for what, label in row.verdict.alternatives
        ),
        *((row, note) for row in rows for note in row.placement.notes),
        *((row, f"to settle it: {what}") for row in rows for what in row.verdict.missing),
    ]
    if firm:
        yield Paragraph(text="How firm the verdicts are:")
        yield Bullets(items=tuple(_grouped(firm, result)))


def _grouped(said: Sequence[tuple[Row, str]], result: StudyResult) -> Iterator[str]:
    """Join rows of which the same is said."""
    rows: dict[str, list[str]] = {}
    for row, text in said:
        rows.setdefault(text, []).append(row_name(row, result))
    for text, names in rows.items():
        every = len(names) > _NAMED and len(names) == len(shown_rows(result.rows))
        yield f"{f'All {len(names)}' if every else '; '.join(names)}: {text}"
