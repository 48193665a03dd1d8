"""Gather what a profiled run left behind, and look for the traps of recording."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roofline.analysis.finding import Finding
from roofline.analysis.launches import launches
from roofline.analysis.trace_findings import trace_findings
from roofline.captures.neff.container import HEADER_BYTES, read_header
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError
from roofline.record.manifest import Problem

if TYPE_CHECKING:
    import xarray as xr

    from roofline.captures.capture import Capture

__all__ = ["Collected", "collect"]

_CORE: Final = re.compile(r"(?:^|_)v?nc_(\d+)(?:_|$)")
_SESSION: Final = "session"
_TRAPS: Final = frozenset(
    {
        "no-device-events",
        "no-executions",
        "launches-without-execution",
        "trace-cut-short",
        "host-scalar-copy",
        "host-scalar",
        "cpu-fallback",
    }
)
"""Findings of a trace that are faults of the recording or of the program, not results."""


@dataclass(frozen=True, kw_only=True)
class Collected:
    """Files of a run, its launches, and what is wrong with it."""

    trace: Path | None
    device_traces: tuple[Path, ...]
    programs: tuple[Path, ...]
    result: xr.Dataset | None
    problems: tuple[Problem, ...]


def collect(
    folder: Path,
    *,
    device: str,
    core: int | None = None,
    modes: Sequence[str] = (),
    started_s: float = 0.0,
    caches: Sequence[Path] = (),
) -> Collected:
    """Return what is in the folder of one run. ``started_s`` is the Unix time of its beginning.

    Programs that a device trace needs and that stand in a cache only are copied beside it.
    """
    problems: list[Problem] = []
    trace, result = _trace(folder, problems)
    neuron = device == "neuron"
    device_traces = tuple(sorted(folder.rglob("*.ntff")))
    wants_device = neuron and "DEVICE" in modes
    if wants_device:
        _copy_programs(device_traces, (folder, *caches))
    programs = tuple(sorted(folder.rglob("*.neff")))
    if wants_device:
        problems += _device_problems(device_traces, programs, core)
        problems += _program_problems(device_traces, programs, started_s)
    if trace is not None and result is not None:
        capture, dataset = trace, result
        for finding in trace_findings(capture, dataset):
            if finding.id in _TRAPS and (neuron or finding.id == "host-scalar"):
                problems.append(_problem(finding))
        problems += _core_problems(capture, core) if neuron else []
    return Collected(
        trace=trace.path if trace is not None else None,
        device_traces=device_traces,
        programs=programs,
        result=result,
        problems=tuple(problems),
    )


def _trace(folder: Path, problems: list[Problem]) -> tuple[Capture | None, xr.Dataset | None]:
    """Return the framework trace of a run and its launches."""
    patterns = ("trace.json", "trace.json.gz", "neuron_framework_trace_rank_*.json*")
    found = sorted({path for pattern in patterns for path in folder.rglob(pattern)})
    if not found:
        problems.append(
            Problem(
                id="no-trace",
                what="the profiler left no trace.json",
                remedy="see whether the profiler's steps ran to the end of its schedule",
            )
        )
        return None, None
    if len(found) > 1:
        problems.append(
            Problem(
                id="several-traces",
                what=f"{len(found)} framework traces; the first one is used",
                remedy="record into an empty folder, one process at a time",
            )
        )
    try:
        capture = open_capture(found[0])
        return capture, launches(capture, warmup=0)
    except CaptureError as error:
        problems.append(Problem(id="bad-trace", what=str(error)))
        return None, None


def _problem(finding: Finding) -> Problem:
    return Problem(id=finding.id, what=f"{finding.what}: {finding.evidence}", remedy=finding.remedy)


def _device_problems(
    traces: Sequence[Path], programs: Sequence[Path], core: int | None
) -> Iterator[Problem]:
    full = [path for path in traces if path.stat().st_size]
    if not traces:
        yield Problem(
            id="no-device-trace",
            what="no .ntff was written",
            remedy="ask for the DEVICE mode, and let the device run in the profiled steps",
        )
    elif not full:
        yield Problem(
            id="empty-device-trace",
            what="every .ntff is empty: nothing ran on these cores while they were profiled",
            remedy="check which core the program runs on (NEURON_RT_VISIBLE_CORES)",
        )
    numbers = {int(found[1]) for path in full if (found := _CORE.search(path.stem))}
    if core is not None and numbers and core not in numbers:
        yield Problem(
            id="wrong-core",
            what=f"the device traces are of core {', '.join(map(str, sorted(numbers)))}, "
            f"not of core {core}",
            remedy="let NEURON_RT_VISIBLE_CORES, the device index and --core agree",
        )
    if full and not programs:
        yield Problem(
            id="missing-program",
            what="device traces without any .neff: no names of tensors and layers",
            remedy="set neff_cache_dir, or copy the programs from the compiler's cache",
        )


def _program_problems(
    traces: Sequence[Path], programs: Sequence[Path], started_s: float
) -> Iterator[Problem]:
    """Traces of one execution without their program, and programs from before the recording."""
    for path in traces:
        # a session holds many programs in one trace and has none of its own
        if _SESSION in path.stem or not path.stat().st_size:
            continue
        try:
            capture = open_capture(path)
        except CaptureError as error:
            yield Problem(id="bad-device-trace", what=str(error))
            continue
        if "neff" not in capture.metadata and programs:
            yield Problem(
                id="missing-program",
                what=f"{path.name}: none of {len(programs)} programs is its own",
                remedy="set neff_cache_dir, or copy the program from the compiler's cache",
            )
    old = [path for path in programs if path.stat().st_mtime < started_s]
    if old:
        yield Problem(
            id="stale-cache",
            what=f"{len(old)} of {len(programs)} programs were compiled before this recording, "
            "perhaps without debug information",
            remedy="clear the cache, or let the recording use its own "
            "(TORCH_NEURONX_NEFF_CACHE_DIR)",
        )
    bare = [path for path in programs if not _has_debug(path)]
    if bare and not old:
        yield Problem(
            id="no-debug-information",
            what=f"{len(bare)} of {len(programs)} programs hold no names of layers or lines",
            remedy="set NEURON_FRAMEWORK_DEBUG=1, XLA_IR_DEBUG=1, XLA_HLO_DEBUG=1 before compiling",
        )


def _has_debug(path: Path) -> bool:
    from roofline.captures.neff.program import open_neff

    try:
        neff = open_neff(path)
        return bool(neff.penguin.entries or neff.hlo.entries or neff.framework.entries)
    except CaptureError:
        return True  # damaged, which is another fault


def _core_problems(capture: Capture, core: int | None) -> Iterator[Problem]:
    """Executions on another core than the one asked for, as the framework trace tells."""
    device = capture.table("device", ["name", "device"])
    seen = {text for text in device["device"].to_pylist() if text is not None}
    if core is not None and seen and str(core) not in seen:
        yield Problem(
            id="wrong-core",
            what=f"executions are on core {', '.join(sorted(seen))}, not on core {core}",
            remedy="let NEURON_RT_VISIBLE_CORES, the device index and --core agree",
        )


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
