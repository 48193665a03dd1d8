"""Captures as rows of a study: their events or counters are the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from roofline.analysis.activity import activity
from roofline.analysis.evidence import Evidence
from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import find
from roofline.analysis.findings.scene import scene_of
from roofline.analysis.from_capture import evidence_from_capture
from roofline.analysis.from_summary import evidence_from_summary
from roofline.analysis.ladder import Rung, ladder, measured_rung
from roofline.analysis.placement import Placement, place
from roofline.analysis.verdict import decide
from roofline.captures.capture import Capture
from roofline.captures.hardware import hardware_of
from roofline.clocks import Clock
from roofline.engines import resource_title
from roofline.errors import CaptureError, WorkError
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.study.rows import Row
from roofline.study.study import Config, Measurement, Variant
from roofline.units import format_count
from roofline.work.captured import executed_work, minimal_bytes_of_tensors, with_measured
from roofline.work.work import OpCount, Work

__all__ = ["capture_findings", "capture_hardware", "capture_row"]

_UNKNOWN = "unknown"  # how a capture spells a dtype it does not tell


def capture_hardware(
    capture: Capture, name: str | None = None, *, lnc: int | None = None
) -> Hardware:
    """Return the hardware a capture is judged on: one working core where it has events.

    A summary tells nothing of single cores, so all cores of the logical core are taken to work.
    """
    cores = 1 if _has_events(capture) else None
    found = hardware_of(capture, name, working_cores=cores)
    if lnc is None or lnc == found.lnc:
        return found
    return load_hardware(found.name, lnc=lnc, working_cores=cores)


def capture_row(
    capture: Capture,
    hardware: Hardware,
    *,
    variant: Variant,
    config: Config | None = None,
    source: str = "capture",
    label: str = "",
    window: str = "body",
    preset: str = "vendor",
    work: Work | None = None,
) -> Row:
    """Return a capture placed and judged; ``work`` joins it with what it had to do.

    Without ``work`` the executed instructions are counted, or the FLOP of the summary. Raises
    ``CaptureError`` for a capture with neither events of a device nor a summary.
    """
    evidence = _evidence(capture, hardware, window)
    notes: tuple[str, ...] = ()
    if work is None:
        work, notes = _work(capture)
    else:
        work = with_measured(work, capture)
    dtype = "" if any("dtypes" in note for note in notes) else work.dtype
    placement = place(work, hardware, time_s=evidence.time_s, clock=evidence.clock)
    placement = replace(placement, notes=(*placement.notes, *notes))
    return Row(
        variant=variant,
        measurement=Measurement(
            variant=variant.name,
            config=config or Config(params=(), dtype=dtype, mixed=_mixed(work) if dtype else ()),
            time_s=evidence.time_s,
            clock=Clock(key=evidence.clock, profiled=True),
            source=source,
            label=label,
            n=1,
        ),
        work=work,
        placement=placement,
        rungs=_rungs(capture, placement, evidence, window),
        evidence=evidence,
        verdict=decide(evidence, preset),
    )


def capture_findings(
    capture: Capture, hardware: Hardware, subject: str, window: str = "body"
) -> tuple[Finding, ...]:
    """Return the findings of a capture, each told of which it is."""
    return tuple(
        replace(one, subject=f"{subject}: {one.subject}" if one.subject else subject)
        for one in find(scene_of(capture, hardware, window))
    )


def _has_events(capture: Capture) -> bool:
    return capture.has("instructions") or capture.has("dma")


def _evidence(capture: Capture, hardware: Hardware, window: str) -> Evidence:
    if _has_events(capture):
        return evidence_from_capture(capture, hardware, window)
    if "total_time" in capture.summary:
        return evidence_from_summary(capture.summary, hardware, window=window)
    held = ", ".join(capture.sources) or "nothing"
    raise CaptureError(
        f"{capture.path}: a {capture.format} capture without device events or a summary; it holds "
        f"{held}. For the launches of a framework's trace see `roofline launches`"
    )


def _work(capture: Capture) -> tuple[Work, tuple[str, ...]]:
    """Return what was executed, with the bytes the tensors need, and what had to be assumed."""
    notes = []
    if capture.has("instructions"):
        work = executed_work(capture)
    else:
        work = _summary_work(capture.path.stem, capture.summary)
    if work.dtype == _UNKNOWN:
        assumed = "bf16" if work.tensor_flops else "fp32"
        work = _assume(work, assumed)
        notes.append(f"the capture does not tell dtypes: {assumed} roofs are assumed")
    work = with_measured(work, capture)
    try:
        read, write = minimal_bytes_of_tensors(capture)
    except (CaptureError, WorkError):
        notes.append("sizes of inputs and outputs are not known: the lower bound has no bytes")
        return work, tuple(notes)
    moved = work.measured_bytes
    if moved is not None and moved < read + write:
        notes.append(
            f"{format_count(read + write)} B of inputs and outputs, {format_count(moved)} B moved: "
            "not all of them were touched, so the lower bound has no bytes"
        )
        return work, tuple(notes)
    return replace(work, minimal_read_bytes=read, minimal_write_bytes=write), tuple(notes)


def _mixed(work: Work) -> tuple[str, ...]:
    """Return the dtypes the Tensor engine multiplied next to the main one, the most FLOP first."""
    flops = work.tensor_flops
    return tuple(sorted(flops.keys() - {work.dtype}, key=lambda dtype: -flops[dtype]))


def _assume(work: Work, dtype: str) -> Work:
    """Return a work of unknown dtypes as if they were ``dtype``."""
    ops = tuple(
        replace(op, tensor_flops={dtype: op.tensor_flops[_UNKNOWN]})
        if _UNKNOWN in op.tensor_flops
        else op
        for op in work.ops
    )
    return replace(work, dtype=dtype, ops=ops)


def _summary_work(name: str, summary: Mapping[str, float]) -> Work:
    """Return the Tensor FLOP of a summary, bf16 equivalents where it has them."""
    flops = summary.get("adjusted_hardware_flops", summary.get("hardware_flops"))
    ops: tuple[OpCount, ...] = ()
    if flops is not None and flops == flops and flops > 0:
        ops = (
            OpCount(
                name="tensor",
                flops={"matmul": int(flops)},
                tensor_flops={_UNKNOWN: int(flops)},
                family="executed",
            ),
        )
    return Work(
        name=name,
        mode="executed",
        dtype=_UNKNOWN,
        ops=ops,
        conventions=("Tensor FLOP of the summary as bf16; elementwise work has no counter",),
    )


def _rungs(
    capture: Capture, placement: Placement, evidence: Evidence, window: str
) -> tuple[Rung, ...]:
    """Return bytes and ideal engine time, then what was measured: engines, phases, the window."""
    keep = ("bytes", "moved", "engines")
    steps = [
        replace(rung, label="ideal engines") if rung.key == "engines" else rung
        for rung in ladder(placement)
        if rung.key in keep
    ]
    steps += [
        _rung(
            "busy",
            f"{resource_title(one.resource)} working",
            one.busy * evidence.time_s,
            f"{resource_title(one.resource)} at work in the window",
        )
        for one in evidence.resources
        if one.busy
    ]
    if _has_events(capture):
        phases = activity(capture, window).phases
        steps += [
            _rung("phase", "start-up", phases.start_up_ps / 1e12, "before the body"),
            _rung("phase", "tail", phases.tail_ps / 1e12, "behind the body"),
        ]
    measured = "device body" if evidence.clock == "device_body" else "device total"
    steps.append(_rung("measured", measured, evidence.time_s, "the window that is judged"))
    total = capture.summary.get("total_time")
    if total is not None and evidence.clock == "device_body":
        steps.append(_rung("body", "device total", float(total), "start-up and tail included"))
    return tuple(step for step in steps if step.high_s > 0)


def _rung(key: str, label: str, seconds: float, what: str) -> Rung:
    return measured_rung(key, label, what, seconds, "the capture")
