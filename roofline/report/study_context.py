"""Sections of a study's report around its times: onset, other chips, sources."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.plots.describe import shown_rows
from roofline.report.blocks import Block, Bullets, Heading, Paragraph, Table
from roofline.study.evaluate import StudyResult
from roofline.study.onset import fit_times
from roofline.units import format_percent, format_si, format_time

__all__ = ["onset", "other_hardware", "provenance"]


def onset(result: StudyResult) -> Iterator[Block]:
    """Yield from which size on fixed time is no longer the limit."""
    fits = fit_times([*result.rows, *result.context])
    host = any(row.evidence.on_host for row in result.rows)
    curve = fit_times(result.rows)
    if not result.onset or not (host or curve):
        return
    yield Heading(text="From which size on fixed time is no longer the limit", short="Fixed time")
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


def other_hardware(result: StudyResult) -> Iterator[Block]:
    """Yield the verdicts on the other hardware candidates."""
    if not result.others:
        return
    yield Heading(text="Other hardware candidates", short="Other hardware")
    yield Table(
        columns=("hardware", "variant", "verdict", "of lower bound", "side"),
        rows=tuple(
            (
                name,
                row.measurement.key,
                row.verdict.label,
                format_percent(row.placement.bound_fraction),
                row.placement.side,
            )
            for name, rows in result.others.items()
            for row in shown_rows(rows)
        ),
        numeric=frozenset({3}),
    )


def provenance(result: StudyResult) -> Iterator[Block]:
    """Yield where the figures come from and what was assumed."""
    study = result.study
    yield Heading(text="Sources and assumptions", short="Sources")
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
    # what the section on the quality of captures says is not said again
    told = [f"{i.severity}: {i.what}" for capture in result.captures for i in capture.quality]
    notes = [note for note in study.notes if not any(words in note for words in told)]
    yield Bullets(items=(*sources, *notes, *variants, *cpu))
