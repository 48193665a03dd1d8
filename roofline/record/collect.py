"""Gather what a profiled run left behind, and look for the traps of recording."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roofline.analysis.finding import Finding
from roofline.analysis.launches import launches
from roofline.analysis.trace_findings import trace_findings
from roofline.captures.neff.container import HEADER_BYTES, read_header
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError
from roofline.record.traps import DEVICE_CHECKS, Recorded

if TYPE_CHECKING:
    import xarray as xr

    from roofline.captures.capture import Capture

__all__ = ["Collected", "collect"]

_TRAPS: Final = (
    "no-device-events",
    "no-executions",
    "launches-without-execution",
    "trace-cut-short",
    "host-scalar-copy",
    "host-scalar",
    "cpu-fallback",
)
"""Findings of a trace that are faults of the recording or of the program, not results."""


@dataclass(frozen=True, kw_only=True)
class Collected:
    """Files of a run, its launches, and what is wrong with it."""

    trace: Path | None
    device_traces: tuple[Path, ...]
    programs: tuple[Path, ...]
    result: xr.Dataset | None
    findings: tuple[Finding, ...]


def collect(
    folder: Path,
    *,
    device: str,
    core: int | None = None,
    lnc: int | None = None,
    dge: bool = True,
    modes: Sequence[str] = (),
    started_s: float = 0.0,
    caches: Sequence[Path] = (),
) -> Collected:
    """Return what is in the folder of one run. ``started_s`` is the Unix time of its beginning.

    Programs that a device trace needs and that stand in a cache only are copied beside it.
    """
    findings: list[Finding] = []
    capture, result = _trace(folder, findings)
    neuron = device == "neuron"
    device_traces = tuple(sorted(folder.rglob("*.ntff")))
    if neuron and "DEVICE" in modes:
        _copy_programs(device_traces, (folder, *caches))
    programs = tuple(sorted(folder.rglob("*.neff")))
    if neuron and "DEVICE" in modes:
        recorded = Recorded(
            device_traces=device_traces,
            programs=programs,
            core=core,
            lnc=lnc,
            dge=dge,
            started_s=started_s,
            capture=capture,
        )
        findings += DEVICE_CHECKS.run(recorded)
    if capture is not None and result is not None:
        wanted = _TRAPS if neuron else ("host-scalar",)
        findings += (one for one in trace_findings(capture, result) if one.id in wanted)
    return Collected(
        trace=capture.path if capture is not None else None,
        device_traces=device_traces,
        programs=programs,
        result=result,
        findings=tuple(findings),
    )


def _trace(folder: Path, findings: list[Finding]) -> tuple[Capture | None, xr.Dataset | None]:
    """Return the framework trace of a run and its launches."""
    patterns = ("trace.json", "trace.json.gz", "neuron_framework_trace_rank_*.json*")
    found = sorted({path for pattern in patterns for path in folder.rglob(pattern)})
    if not found:
        findings.append(
            Finding(
                id="no-trace",
                what="the profiler left no framework trace",
                evidence="no trace.json in the folder of the run",
                remedy="see whether the profiler's steps ran to the end of its schedule",
            )
        )
        return None, None
    if len(found) > 1:
        findings.append(
            Finding(
                id="several-traces",
                what="several framework traces; the first one is used",
                evidence=f"{len(found)} files",
                remedy="record into an empty folder, one process at a time",
            )
        )
    try:
        capture = open_capture(found[0])
        return capture, launches(capture, warmup=0)
    except CaptureError as error:
        findings.append(
            Finding(
                id="bad-trace",
                what="the framework trace cannot be read",
                evidence=str(error),
                remedy="see whether the disk is full, and whether the program ran to its end",
            )
        )
        return None, None


def _copy_programs(traces: Iterable[Path], caches: Sequence[Path]) -> None:
    """Copy programs from the caches beside the traces they belong to, by uuid."""
    from roofline.captures.ntff.trace import open_trace

    cached = [path for cache in caches if cache.is_dir() for path in sorted(cache.rglob("*.neff"))]
    if not cached:
        return
    for trace in traces:
        if not trace.stat().st_size:
            continue
        try:
            prefix = open_trace(trace).header.uuid
        except CaptureError:
            continue
        for path in cached:
            try:
                with path.open("rb") as file:
                    uuid = read_header(file.read(HEADER_BYTES), path).uuid
            except CaptureError:
                continue
            if prefix and uuid.startswith(prefix):
                if path.parent != trace.parent:
                    shutil.copy2(path, trace.parent / f"neff_{uuid.hex()[:12]}.neff")
                break
