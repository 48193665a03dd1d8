"""Observe a study: its variants with placement, counters, verdict and findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from roofline.analysis.finding import Finding
from roofline.analysis.observed import Observed, Run, Timing, Use
from roofline.analysis.totals import body_time
from roofline.captures.capture import Issue
from roofline.study.evaluate import evaluate
from roofline.study.findings import launch_spread
from roofline.study.observe_capture import observe_capture, summary_uses
from roofline.study.rows import Row
from roofline.study.study import Study
from roofline.units import format_percent

if TYPE_CHECKING:
    from roofline.study.options import Options

__all__ = ["observe_study"]


def observe_study(study: Study, options: Options) -> Run:
    """Return every time and capture of a study on its first hardware, or on the one asked for."""
    observed: list[Observed] = []
    notes: list[str] = []
    issues: list[tuple[str, Issue]] = []
    if study.measurements:
        result = evaluate(
            study,
            hardware=options.hardware,
            lnc=options.lnc,
            preset=options.preset,
            window=options.window,
            trust=options.trust,
        )
        observed += [_observed(row, result.rows, result.findings) for row in result.rows]
    for reference in study.captures:
        name = ", ".join(filter(None, (reference.variant, reference.label)))
        run = observe_capture(options.opener(reference.path), options, kernel=name)
        observed += [replace(one, config=reference.config.key) for one in run.observed]
        notes += run.notes
        issues += run.issues
    return Run(
        label=study.name,
        source=study.name,
        format="study",
        observed=tuple(observed),
        notes=tuple(notes),
        issues=tuple(issues),
    )


def _observed(row: Row, rows: Sequence[Row], findings: Sequence[Finding]) -> Observed:
    measured, placement = row.measurement, row.placement
    subjects = {row.variant.name, measured.key, measured.config.key, row.key}
    return Observed(
        kernel=measured.key,
        config=measured.config.key,
        timings=_timings(row, rows),
        uses=_uses(row),
        calls=measured.calls,
        launches=row.work.launches,
        flops=placement.flops,
        tensor_flops=placement.tensor_flops,
        passes=placement.passes,
        bytes=dict(placement.bytes),
        bytes_per_s=placement.hardware.memory_ceiling("theoretical").value,
        bound_s=placement.bound_s,
        bound_what="lower bound",
        bounds={}
        if placement.bound is None
        else {name: seconds for name, seconds in placement.bound.terms_s.items() if seconds},
        verdict=row.verdict.label,
        verdict_weak=row.verdict.weak,
        findings={one.id: one.what for one in findings if one.subject in subjects},
        hardware=placement.hardware.name,
        lnc=placement.hardware.lnc,
        working_cores=placement.hardware.working_cores,
        notes=placement.notes,
    )


def _timings(row: Row, rows: Sequence[Row]) -> tuple[Timing, ...]:
    """Return the measured time, and the body where counters give it."""
    measured = row.measurement
    alike = [
        one
        for one in rows
        if one.measurement.clock.key == measured.clock.key
        and one.measurement.config == measured.config
    ]
    spread = launch_spread(alike) if (measured.n or 1) < 2 else None
    main = Timing(
        seconds=measured.time_s,
        clock=measured.clock.key,
        profiled=measured.clock.profiled,
        n=measured.n,
        spread=spread[0] if spread else None,
        spread_source=f"launches of one trace ({spread[1]}) differ by {format_percent(spread[0])}"
        if spread
        else "",
        clock_quality=measured.clock_quality,
    )
    body = body_time(measured.counters) if "total_time" in measured.counters else None
    if body is None or measured.clock.key != "device_total":
        return (main,)
    return (replace(main, seconds=body, clock="device_body"), main)


def _uses(row: Row) -> tuple[Use, ...]:
    return summary_uses(row.measurement.counters)
