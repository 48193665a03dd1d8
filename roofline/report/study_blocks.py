"""What the report of a study says, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.analysis.finding import Finding
from roofline.analysis.placement import Pair
from roofline.clocks import CLOCK_LABELS
from roofline.plots.describe import shown_rows
from roofline.report.blocks import Block, Bullets, Entries, FigureBlock, Heading, Paragraph, Table
from roofline.study.evaluate import StudyResult
from roofline.study.onset import fit_times
from roofline.study.rows import Row
from roofline.units import format_count, format_rate, format_si, format_time

__all__ = ["one_sentence", "study_blocks", "summary_blocks"]

_MOST_ROWS = 16  # of a table in the text; points.csv holds every one


def study_blocks(result: StudyResult) -> list[Block]:
    """Return the whole report."""
    return [
        *summary_blocks(result),
        Heading(text="Figures"),
        FigureBlock(
            stem="ladder",
            alt="Time ladder: what each microsecond of a variant is, on a logarithmic axis",
        ),
        FigureBlock(stem="roofline", alt="Roofline: FLOP per byte against FLOP/s"),
        FigureBlock(
            stem="engines", alt="Engine panel: element-passes per byte against passes per second"
        ),
        *_time(result),
        *_sides(result),
        *_work(result),
        *_operators(result),
        *_onset(result),
        *_others(result),
        *_roofs(result),
        *_provenance(result),
    ]


def summary_blocks(result: StudyResult) -> list[Block]:
    """Return what a terminal shows: verdicts, one sentence each, and findings."""
    blocks: list[Block] = [
        Heading(text=result.study.title, level=1),
        Paragraph(text=_setting(result)),
        Heading(text="Verdicts"),
        _verdicts(result),
        Bullets(items=tuple(one_sentence(row) for row in shown_rows(result.rows))),
    ]
    if result.findings:
        blocks += [
            Heading(text="Findings"),
            Entries(items=tuple(_finding(one) for one in result.findings)),
        ]
    return blocks


def _finding(one: Finding) -> tuple[str, tuple[tuple[str, str], ...]]:
    stake = "not known" if one.at_stake_s is None else f"at most {format_time(one.at_stake_s)}"
    subject = f" ({one.subject})" if one.subject else ""
    lines = (
        ("evidence", one.evidence),
        ("at stake", f"{stake}; confidence {one.confidence}"),
        ("try", one.remedy),
    )
    return f"{one.what}{subject}", tuple((name, text) for name, text in lines if text)


def one_sentence(row: Row) -> str:
    """Return the verdict on one time as a sentence that stands alone."""
    return f"{row.measurement.key} ({row.measurement.config.key}): {row.verdict.explanation}"


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
    rows = _some(result.rows)
    return Table(
        columns=("variant", "time", "clock", "verdict", "of bound", "stable"),
        rows=tuple(
            (
                row.measurement.key if len(result.study.configs) == 1 else row.key,
                format_time(row.time_s),
                CLOCK_LABELS[row.placement.clock],
                row.verdict.label + (" (weak)" if row.verdict.weak else ""),
                _percent(row.placement.bound_fraction),
                "yes" if row.verdict.stable else "no",
            )
            for row in rows
        ),
        numeric=frozenset({1, 4}),
        note=(
            "of bound: lower bound over time; stable: the verdict survives each roof moved across "
            f"its documented spread. {_cut(rows, result.rows)}"
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


def _grouped(said: Sequence[tuple[Row, str]], result: StudyResult) -> Iterator[str]:
    """Join rows of which the same is said."""
    rows: dict[str, list[str]] = {}
    single = len(result.study.configs) == 1
    for row, text in said:
        rows.setdefault(text, []).append(row.measurement.key if single else row.key)
    for text, names in rows.items():
        yield f"{'; '.join(names)}: {text}"


def _sides(result: StudyResult) -> Iterator[Block]:
    yield Heading(text="Sides of the roofline")
    rows = shown_rows(result.rows)
    launch_bound = [row for row in rows if row.evidence.on_host]
    if launch_bound:
        yield Paragraph(
            text="The kernel cannot be classified from a clock with host time. "
            "If its device time were known, it would be:"
        )
    yield Bullets(items=tuple(f"{row.measurement.key}: {_side(row)}" for row in rows))
    row = rows[-1]
    yield Paragraph(
        text=f"Roof pairs of {row.key} ({row.placement.byte_kind} bytes); "
        "the headline gives the side:"
    )
    yield Table(
        columns=("engine roof", "memory roof", "kind", "intensity", "ridge", "side", "achieved"),
        rows=tuple(_pair(pair, headline=pair is row.placement.headline) for pair in _pairs(row)),
        numeric=frozenset({3, 4, 6}),
        note=(
            f"The vendor's ridge, one core's bf16 Tensor peak over a whole stack: "
            f"{row.placement.vendor_ridge:.2f} FLOP/B; it says nothing about elementwise work."
        ),
    )


def _side(row: Row) -> str:
    placement = row.placement
    words = placement.side_words
    if placement.headline.unit == "FLOP":
        return words
    ridge = placement.hardware.ridge(row.work.dtype) if _has_tensor(row) else None
    tensor = (
        f"; on the usual Tensor roof ({ridge:.0f} FLOP/B) its "
        f"{placement.intensity(placement.byte_kind) or 0:.2g} FLOP/B would look memory-bound, "
        "but no work of it runs there"
        if ridge
        else ""
    )
    return f"{words}{tensor}"


def _has_tensor(row: Row) -> bool:
    return row.work.dtype in row.placement.hardware.tensor_dtypes()


def _pairs(row: Row) -> list[Pair]:
    return [
        pair for pair in row.placement.pairs if pair.memory.kind in ("theoretical", "sustained")
    ]


def _pair(pair: Pair, *, headline: bool) -> tuple[str, ...]:
    unit = "FLOP" if pair.unit == "FLOP" else "pass"
    return (
        pair.compute.name + (" (headline)" if headline else ""),
        pair.memory.name,
        pair.memory.kind,
        f"{pair.intensity:.3g} {unit}/B",
        f"{pair.ridge:.3g} {unit}/B",
        pair.side,
        _percent(pair.fraction),
    )


def _work(result: StudyResult) -> Iterator[Block]:
    yield Heading(text="Work")
    rows = _some(_distinct(result.rows))
    yield Table(
        columns=(
            "variant",
            "launches",
            "FLOP",
            "element-passes",
            "minimal B",
            "dispatched B",
            "measured B",
            "FLOP/B min.",
            "FLOP/B disp.",
            "host copies B",
        ),
        rows=tuple(
            (
                row.measurement.key if len(result.study.configs) == 1 else row.key,
                str(row.work.launches),
                format_count(row.placement.flops),
                format_count(row.placement.passes),
                format_count(row.work.minimal_bytes),
                _dispatched(row),
                "unknown"
                if row.work.measured_bytes is None
                else format_count(row.work.measured_bytes),
                f"{row.placement.intensity('minimal') or 0:.3f}",
                f"{row.placement.intensity('dispatched') or 0:.3f}",
                format_count(row.work.host_copy_bytes),
            )
            for row in rows
        ),
        numeric=frozenset(range(1, 10)),
        note=(
            "Dispatched bytes count every operand of every launched operator; in brackets, with an "
            "operand that is given twice read once. "
            f"Conventions: {'; '.join(result.rows[0].work.conventions)}."
        ),
    )
    classes = {
        f"{key} {format_count(value)}"
        for row in result.rows
        if row.measurement.calls == 1
        for key, value in row.work.flops.items()
    }
    if len(result.study.configs) == 1 and classes:
        yield Paragraph(text=f"FLOP of one call by class: {', '.join(sorted(classes))}.")


def _dispatched(row: Row) -> str:
    every, once = row.work.dispatched_bytes, row.work.dispatched_aliased_bytes
    return format_count(every) + ("" if every == once else f" ({format_count(once)})")


def _operators(result: StudyResult) -> Iterator[Block]:
    rows = [row for row in result.rows if row.measurement.ops]
    if not rows:
        return
    yield Heading(text="Operators")
    for row in rows:
        total = sum(op.time_s for op in row.measurement.ops)
        yield Table(
            columns=("operator", "launches", "time", "share", "a launch"),
            rows=tuple(
                (
                    op.name,
                    str(op.count),
                    format_time(op.time_s, digits=5),
                    f"{op.time_s / total:.1%}",
                    format_time(op.time_s / op.count, digits=4),
                )
                for op in row.measurement.ops
            ),
            numeric=frozenset({1, 2, 3, 4}),
            note=f"{row.measurement.key}: {format_time(total, digits=5)} in all.",
        )


def _onset(result: StudyResult) -> Iterator[Block]:
    fits = fit_times([*result.rows, *result.context])
    host = any(row.evidence.on_host for row in result.rows)
    curve = fit_times(result.rows)
    if not result.onset or not (host or curve):
        return
    yield Heading(text="From which size on fixed time is no longer the limit")
    yield Paragraph(
        text="Half of the time is fixed at these numbers of elements (rows x columns). The range "
        "runs from the smallest published fixed time at the slow pace (one engine alone at 1x, or "
        "the slowest measured pace) to the largest at the fast pace (the lower bound)."
    )
    yield Table(
        columns=(
            "hardware",
            "fixed part",
            "fixed time",
            "ps an element",
            "elements",
            "rows x 512",
            "rows x 4096",
            "known as",
        ),
        rows=tuple(
            (
                f"{one.hardware}, LNC {one.lnc}",
                one.what,
                f"{format_time(one.fixed_s[0])} to {format_time(one.fixed_s[1])}",
                f"{one.pace_s[0] * 1e12:.2g} to {one.pace_s[1] * 1e12:.2g}",
                _range(*one.elements),
                f"{one.rows(512)[0]:,.0f} to {one.rows(512)[1]:,.0f}",
                f"{one.rows(4096)[0]:,.0f} to {one.rows(4096)[1]:,.0f}",
                one.quality,
            )
            for one in result.onset
        ),
        numeric=frozenset({3}),
    )
    if fits:
        yield Paragraph(text="Measured, as a straight line through time over elements:")
        yield Table(
            columns=("series", "fixed time", "ps an element", "half fixed at", "R2", "n"),
            rows=tuple(
                (
                    fit.label,
                    format_time(fit.fixed_s),
                    f"{fit.pace_s * 1e12:.3g}",
                    f"{format_si(fit.fixed_s / fit.pace_s, '', digits=3)} elements",
                    f"{fit.r2:.3f}",
                    str(fit.n),
                )
                for fit in fits
            ),
            numeric=frozenset({1, 2, 4, 5}),
        )


def _range(low: float, high: float) -> str:
    return f"{format_si(low, '', digits=2)} to {format_si(high, '', digits=2)}"


def _others(result: StudyResult) -> Iterator[Block]:
    if not result.others:
        return
    yield Heading(text="Other hardware candidates")
    yield Table(
        columns=("hardware", "variant", "verdict", "of lower bound", "side"),
        rows=tuple(
            (
                name,
                row.measurement.key,
                row.verdict.label,
                _percent(row.placement.bound_fraction),
                row.placement.side,
            )
            for name, rows in result.others.items()
            for row in shown_rows(rows)
        ),
        numeric=frozenset({3}),
    )


def _roofs(result: StudyResult) -> Iterator[Block]:
    yield Heading(text="Roofs")
    dtypes = {config.dtype for config in result.study.configs}
    roofs = [
        roof
        for roof in result.hardware.roofs()
        if roof.dtype in ("", *dtypes) or roof.resource != "tensor"
    ]
    yield Table(
        columns=("roof", "value", "spread", "kind", "scope", "known as", "source"),
        rows=tuple(
            (
                roof.name,
                format_rate(roof.value, roof.unit),
                ""
                if roof.low is None or roof.high is None
                else f"{format_rate(roof.low, roof.unit)} to {format_rate(roof.high, roof.unit)}",
                roof.kind,
                roof.scope,
                roof.quality,
                roof.source,
            )
            for roof in roofs
        ),
        numeric=frozenset({1}),
    )


def _provenance(result: StudyResult) -> Iterator[Block]:
    study = result.study
    yield Heading(text="Sources and assumptions")
    clocks = {
        f"clock {one.clock.key} ({one.clock_quality}), n = {one.n or 'not stated'}, "
        f"{_profiled(one.clock.profiled)}: {study.sources[one.source].title}"
        for one in study.measurements
    }
    cpu = [
        f"{one.key}: {format_time(one.cpu_s)} of CPU time for dispatch"
        for one in study.measurements
        if one.cpu_s is not None
    ]
    sources = [
        ", ".join(filter(None, (source.title, source.date, source.url, source.note)))
        for source in study.sources.values()
    ]
    variants = [f"{one.title}: {one.note}" for one in study.variants if one.note]
    yield Bullets(items=(*sources, *sorted(clocks), *study.notes, *variants, *cpu))


def _profiled(profiled: bool | None) -> str:
    return {True: "profiled", False: "not profiled", None: "profiled or not is not stated"}[
        profiled
    ]


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """One row a variant, label and config."""
    return list({row.key: row for row in rows}.values())


def _some(rows: Sequence[Row]) -> Sequence[Row]:
    return rows if len(rows) <= _MOST_ROWS else shown_rows(rows, most=_MOST_ROWS)


def _cut(shown: Sequence[Row], rows: Sequence[Row]) -> str:
    if len(shown) == len(rows):
        return ""
    return f"The largest size of each series; points.csv holds all {len(rows)} times."


def _percent(share: float | None) -> str:
    if share is None:
        return "unknown"
    return f"{share * 100:.2g} %"
