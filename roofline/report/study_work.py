"""Sections of a study's report on the work itself: sides, counts, operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.analysis.placement import Pair
from roofline.plots.describe import shown_rows
from roofline.report.alike import among, merged
from roofline.report.blocks import Block, Bullets, Heading, Paragraph, Table
from roofline.report.study_rows import distinct_rows, row_name, some_rows
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row
from roofline.units import format_count, format_number, format_percent, format_time

__all__ = ["operators", "sides", "work"]


def sides(result: StudyResult) -> Iterator[Block]:
    """Yield on which side of which ridge each variant stands."""
    yield Heading(text="Sides of the roofline", short="Sides")
    rows = shown_rows(result.rows)
    launch_bound = [row for row in rows if row.evidence.on_host]
    if launch_bound:
        yield Paragraph(
            text="The kernel cannot be classified from a clock with host time. "
            "If its device time were known, it would be:"
        )
    yield Bullets(items=tuple(_alike(group, result) for group in among(rows, _side)))
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


def _alike(rows: Sequence[Row], result: StudyResult) -> str:
    names = "; ".join(row_name(row, result) for row in rows)
    return f"{names}: {merged([_side(row) for row in rows])}"


def _side(row: Row) -> str:
    placement = row.placement
    words = placement.side_words
    if placement.headline is None or placement.tensor_flops or not _has_tensor(row):
        return words
    ridge = placement.hardware.ridge(row.work.dtype)
    intensity = placement.intensity(placement.byte_kind) or 0.0
    bound = "memory" if intensity < ridge else "compute"
    return (
        f"{words}; on the usual Tensor roof ({format_number(ridge)} FLOP/B) its "
        f"{format_number(intensity)} FLOP/B would look {bound}-bound, but no work of it runs there"
    )


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
        f"{format_number(pair.intensity)} {unit}/B",
        f"{format_number(pair.ridge)} {unit}/B",
        pair.side,
        format_percent(pair.fraction),
    )


def work(result: StudyResult) -> Iterator[Block]:
    """Yield what each variant has to do."""
    yield Heading(text="Work")
    rows = some_rows(distinct_rows(result.rows))
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
            "FLOP/B meas.",
            "host copies B",
        ),
        rows=tuple(
            (
                row_name(row, result),
                str(row.work.launches),
                format_count(row.placement.flops),
                format_count(row.placement.passes),
                format_count(row.placement.bytes.get("minimal")),
                _dispatched(row),
                "unknown"
                if row.work.measured_bytes is None
                else format_count(row.work.measured_bytes),
                _intensity(row, "minimal"),
                _intensity(row, "dispatched"),
                _intensity(row, "measured"),
                format_count(row.work.host_copy_bytes),
            )
            for row in rows
        ),
        numeric=frozenset(range(1, 11)),
        note=(
            "Dispatched bytes count every operand of every launched operator; in brackets, with an "
            "operand that is given twice read once. "
            f"Conventions: {'; '.join(result.rows[0].work.conventions)}."
        ),
    )
    single = [row.work.flops for row in result.rows if row.measurement.calls == 1]
    if single and single[0] and all(flops == single[0] for flops in single):
        classes = ", ".join(f"{key} {format_count(value)}" for key, value in single[0].items())
        yield Paragraph(text=f"FLOP of one call by class: {classes}.")


def _intensity(row: Row, kind: str) -> str:
    value = row.placement.intensity(kind)
    return "unknown" if value is None else f"{value:.3f}"


def _dispatched(row: Row) -> str:
    if "dispatched" not in row.placement.bytes:
        return "unknown"
    every, once = row.work.dispatched_bytes, row.work.dispatched_aliased_bytes
    return format_count(every) + ("" if every == once else f" ({format_count(once)})")


def operators(result: StudyResult) -> Iterator[Block]:
    """Yield the times of operators where a source gives them."""
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
                    format_percent(op.time_s / total, digits=3),
                    format_time(op.time_s / op.count, digits=4),
                )
                for op in row.measurement.ops
            ),
            numeric=frozenset({1, 2, 3, 4}),
            note=f"{row.measurement.key}: {format_time(total, digits=5)} in all.",
        )
