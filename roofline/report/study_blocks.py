"""What the report of a study says, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.analysis.finding import Finding
from roofline.clocks import CLOCK_LABELS
from roofline.plots.describe import shown_rows
from roofline.report.blocks import Block, Bullets, Entries, FigureBlock, Heading, Paragraph, Table
from roofline.report.study_context import onset, other_hardware, provenance, roofs_used
from roofline.report.study_quality import data_quality
from roofline.report.study_rows import percent, some_rows
from roofline.report.study_untimed import untimed_blocks
from roofline.report.study_work import operators, sides, work
from roofline.report.trace_blocks import operator_tables, trace_summary
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row
from roofline.units import format_rate, format_time

__all__ = ["one_sentence", "study_blocks", "summary_blocks"]


def study_blocks(result: StudyResult) -> list[Block]:
    """Return the whole report; where nothing is placed it ends with the figures."""
    if not result.rows:
        return [*summary_blocks(result), *_figures(), *operator_tables(result), *provenance(result)]
    return [
        *summary_blocks(result),
        *_figures(),
        *operator_tables(result),
        *_time(result),
        *sides(result),
        *work(result),
        *operators(result),
        *onset(result),
        *other_hardware(result),
        *data_quality(result),
        *roofs_used(result),
        *provenance(result),
    ]


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
    """Return what a terminal shows: verdicts, one sentence each, and findings."""
    blocks: list[Block] = [
        Heading(text=result.study.title, level=1),
        *([Paragraph(text=_setting(result))] if result.rows else []),
    ]
    if result.trace is not None:
        blocks += trace_summary(result, result.trace)
    else:
        blocks += [
            Heading(text="Verdicts"),
            _verdicts(result),
            Bullets(items=tuple(one_sentence(row) for row in shown_rows(result.rows))),
        ]
    if result.findings:
        blocks += [
            Heading(text="Findings"),
            Entries(items=tuple(_finding(one) for one in result.findings)),
        ]
    blocks += untimed_blocks(result)
    return blocks


def _finding(one: Finding) -> tuple[str, tuple[tuple[str, str], ...]]:
    if one.at_stake_s is None:
        stake = "not known"
    elif one.at_stake_s == 0:
        stake = "nothing"
    else:
        limit = "" if one.on_critical_path else "at most "
        stake = f"{limit}{format_time(one.at_stake_s)}"
    subject = f" ({one.subject})" if one.subject else ""
    lines = (
        ("evidence", one.evidence),
        ("at stake", f"{stake}; confidence {one.confidence}"),
        ("try", one.remedy),
    )
    return f"{one.what}{subject}", tuple((name, text) for name, text in lines if text)


def one_sentence(row: Row) -> str:
    """Return the verdict on one time as a sentence that stands alone."""
    config = row.measurement.config.key
    name = f"{row.measurement.key} ({config})" if config else row.measurement.key
    return f"{name}: {row.verdict.explanation}"


def _setting(result: StudyResult) -> str:
    hardware = result.hardware
    ceiling = hardware.memory_ceiling("theoretical")
    cores = (
        "one physical core"
        if hardware.lnc == 1
        else f"LNC {hardware.lnc}, {hardware.working_cores} of {hardware.lnc} physical cores work"
    )
    return (
        f"Shown on {hardware.name} ({hardware.chip}), {cores}. The memory ceiling that binds is "
        f"{ceiling.name} at {format_rate(ceiling.value, 'B/s')} ({ceiling.kind}). "
        f"Marks: preset {result.preset}."
    )


def _verdicts(result: StudyResult) -> Table:
    rows = some_rows(result.rows)
    return Table(
        columns=("variant", "time", "clock", "verdict", "of bound", "stable"),
        rows=tuple(
            (
                row.measurement.key if len(result.study.configs) == 1 else row.key,
                format_time(row.time_s),
                _clock(row),
                row.verdict.label + (" (weak)" if row.verdict.weak else ""),
                percent(row.placement.bound_fraction),
                "yes" if row.verdict.stable else "no",
            )
            for row in rows
        ),
        numeric=frozenset({1, 4}),
        note=(
            "of bound: lower bound over time; stable: the verdict survives each roof moved across "
            f"its documented spread{_inferred(rows)}{_byteless(rows)}. {_cut(rows, result)}"
        ).strip(),
    )


def _time(result: StudyResult) -> Iterator[Block]:
    yield Heading(text="Where the time goes")
    rows = shown_rows(result.rows)
    yield Table(
        columns=("variant", "rung", "time", "what", "known as"),
        rows=tuple(
            (
                row.measurement.key if len(result.study.configs) == 1 else row.key,
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


def _inferred(rows: Sequence[Row]) -> str:
    if all(row.measurement.clock_quality != "inferred" for row in rows):
        return ""
    return "; a clock with ? is inferred, its source does not state it"


def _byteless(rows: Sequence[Row]) -> str:
    if all(row.work.minimal_bytes or row.placement.bound is None for row in rows):
        return ""
    return "; a capture without named tensors has a bound of the work it executed, without bytes"


def _clock(row: Row) -> str:
    """Name the clock; one that the source does not state is marked."""
    label = CLOCK_LABELS[row.placement.clock]
    return f"{label}?" if row.measurement.clock_quality == "inferred" else label


def _grouped(said: Sequence[tuple[Row, str]], result: StudyResult) -> Iterator[str]:
    """Join rows of which the same is said."""
    rows: dict[str, list[str]] = {}
    single = len(result.study.configs) == 1
    for row, text in said:
        rows.setdefault(text, []).append(row.measurement.key if single else row.key)
    for text, names in rows.items():
        yield f"{'; '.join(names)}: {text}"


def _cut(shown: Sequence[Row], result: StudyResult) -> str:
    if len(shown) == len(result.rows):
        return ""
    return f"The largest size of each series; points.csv holds all {len(result.rows)} times."
