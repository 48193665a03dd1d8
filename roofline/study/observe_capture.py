"""Observe a capture: its times, how its engines were used, counters and verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from roofline.analysis.observed import Observed, Part, Run, Timing, Use
from roofline.captures.capture import Capture
from roofline.captures.folder import program_name
from roofline.errors import CaptureError, QueryError, RooflineError
from roofline.work.captured import tensor_flops

if TYPE_CHECKING:
    from roofline.analysis.window import Window
    from roofline.study.options import Options

__all__ = ["observe_capture", "summary_uses"]

_RESOLUTION_S = 1e-9
"""Traces are printed in whole ns."""

_BOUND = "bound of executed work"

_COUNTS = {
    "instructions": (
        "tensor_engine_instruction_count",
        "vector_engine_instruction_count",
        "scalar_engine_instruction_count",
        "gpsimd_engine_instruction_count",
    ),
    "matmuls": ("matmul_instruction_count",),
    "DMA packets": (
        "static_dma_packet_count",
        "software_dynamic_dma_packet_count",
        "hardware_dynamic_dma_packet_count",
    ),
    "HBM read bytes": ("hbm_read_bytes",),
    "HBM write bytes": ("hbm_write_bytes",),
    "spill bytes": ("spill_save_bytes", "spill_reload_bytes"),
}
"""Counters worth comparing, as sums of the vendor's fields."""


def observe_capture(capture: Capture, options: Options, *, kernel: str = "") -> Run:
    """Return the run of one capture; operators of a framework trace are kernels of their own."""
    name = kernel or program_name(capture.path.parent, capture)
    if capture.has("cpu_ops"):
        from roofline.study.observe_trace import observe_trace

        observed, notes = observe_trace(capture)
    else:
        observed, notes = (_observed(capture, name, options),), _notes(capture)
    return Run(
        label=name,
        source=str(capture.path),
        format=capture.format,
        observed=observed,
        notes=notes,
        issues=tuple((capture.path.name, issue) for issue in capture.quality),
    )


def _observed(capture: Capture, name: str, options: Options) -> Observed:
    summary = capture.summary
    total = _number(summary, "total_time")
    judged = _judge(capture, name, options)
    uses = _uses(capture, total)
    timings = {use.clock: _timing(use.window_s, use.clock) for use in uses}
    if total is not None and total > 0:
        timings["device_total"] = _timing(total, "device_total")
    order = ("device_body", "device_total")
    if options.window == "total":
        order = order[::-1]
    moved = _moved(summary)
    products, transposes = tensor_flops(capture)
    return replace(
        judged.observed,
        timings=tuple(timings[clock] for clock in order if clock in timings),
        uses=tuple(
            replace(use, throttled_s=judged.throttled_s) if use.clock == judged.clock else use
            for use in uses
        ),
        tensor_flops=products,
        bytes={} if moved is None else {"measured": moved},
        counts=_counts(summary, transposes),
    )


def _timing(seconds: float, clock: str) -> Timing:
    return Timing(seconds=seconds, clock=clock, profiled=True, n=1, resolution_s=_RESOLUTION_S)


def _uses(capture: Capture, total: float | None) -> tuple[Use, ...]:
    """Return the use of body and total, from tables where they are there."""
    from roofline.analysis.activity import activity
    from roofline.analysis.use import use_of

    if not (capture.has("instructions") and capture.has("dma")):
        return summary_uses(capture.summary)
    windows: list[tuple[str, str | Window]] = [("device_body", "body")]
    if total is not None:
        windows.append(("device_total", "total"))
    found = []
    for clock, window in windows:
        try:
            use = use_of(activity(capture, window), clock)
        except QueryError:  # tables without a row: the summary has to do
            return summary_uses(capture.summary)
        if use is not None:
            found.append(use)
    return tuple(found) or summary_uses(capture.summary)


def summary_uses(summary: Mapping[str, Any]) -> tuple[Use, ...]:
    """Return the use of body and total that a summary tells: active times, their union.

    ``total_active_time`` stands in for the body, so that there is no waiting in it.
    """
    from roofline.analysis.totals import body_time
    from roofline.engines import COMPUTE_ENGINES

    total = _number(summary, "total_time")
    if total is None or total <= 0:
        return ()
    active = {}
    for name in COMPUTE_ENGINES:
        seconds = _active(summary, f"{name}_engine_active_time", total)
        if seconds is not None:
            active[name] = seconds
    moving = _active(summary, "dma_active_time", total)
    if moving is not None:
        active["dma"] = moving
    if not active:
        return ()
    body = body_time(summary)
    uses = [Use(clock="device_total", window_s=total, active_s=active, any_s=body)]
    if body is not None and body > 0:
        uses.insert(0, Use(clock="device_body", window_s=body, active_s=active, any_s=body))
    return tuple(uses)


def _active(summary: Mapping[str, Any], field: str, total: float) -> float | None:
    value = _number(summary, field)
    share = _number(summary, f"{field}_percent")
    return value if value is not None else None if share is None else share * total


def _number(summary: Mapping[str, Any], field: str) -> float | None:
    value = summary.get(field)
    if not isinstance(value, (int, float)) or math.isnan(value):
        return None
    return float(value)


def _moved(summary: Mapping[str, Any]) -> float | None:
    read, write = _number(summary, "hbm_read_bytes"), _number(summary, "hbm_write_bytes")
    return None if read is None or write is None or read + write == 0 else read + write


def _counts(summary: Mapping[str, Any], transposes: int | None) -> dict[str, float]:
    found: dict[str, float] = {} if transposes is None else {"transpose FLOP": transposes}
    for name, fields in _COUNTS.items():
        values = [_number(summary, field) for field in fields]
        known = [value for value in values if value is not None]
        if known:
            found[name] = sum(known)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What the report of a capture says: placement, verdict and findings; its clock, throttling."""

    observed: Observed
    clock: str = ""
    throttled_s: float | None = None


def _judge(capture: Capture, name: str, options: Options) -> _Judged:
    from roofline.study.captured import capture_findings, capture_hardware, capture_row
    from roofline.study.study import Variant
    from roofline.study.views import capture_steps

    try:
        hardware = capture_hardware(capture, options.hardware, lnc=options.lnc)
    except CaptureError:
        note = "the capture does not say which chip it is from: no roofs, no verdict"
        return _Judged(observed=Observed(kernel=name, notes=(note,)))
    seen = Observed(
        kernel=name,
        bytes_per_s=hardware.memory_ceiling("theoretical").value,
        hardware=hardware.name,
        lnc=hardware.lnc,
        working_cores=hardware.working_cores,
    )
    try:
        row = capture_row(
            capture,
            hardware,
            variant=Variant(name=name, title=name, mode="executed"),
            window=options.window,
            preset=options.preset,
        )
        found = capture_findings(capture, hardware, "", options.window)
        steps, _, source = capture_steps(capture, hardware)
    except RooflineError as error:
        return _Judged(observed=replace(seen, notes=(f"no verdict: {error}",)))
    placement, bound = row.placement, row.placement.bound
    terms = [] if bound is None else [term for term, s in bound.terms_s.items() if s]
    throttled = row.evidence.resource("tensor").throttled
    return _Judged(
        observed=replace(
            seen,
            passes=placement.passes or None,
            bound_s=bound.seconds if bound is not None and terms else None,
            bound_what="" if not terms else _BOUND if "memory" in terms else f"{_BOUND}, no bytes",
            bounds={} if bound is None else {n: s for n, s in bound.terms_s.items() if s},
            parts=tuple(
                Part(name=name, seconds=seconds, what=source if name == "lower_bound" else words)
                for name, words, seconds in steps
            ),
            verdict=row.verdict.label,
            verdict_weak=row.verdict.weak,
            findings={one.id: one.what for one in found},
        ),
        clock=row.evidence.clock,
        throttled_s=None if throttled is None else throttled * row.evidence.time_s,
    )


def _notes(capture: Capture) -> tuple[str, ...]:
    bad = [issue for issue in capture.quality if issue.severity in ("lost", "contradiction")]
    return tuple(f"{capture.path.name}: {issue.what}" for issue in bad)
