"""The traps of recording, each a finding about what one profiled run left behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roofline.analysis.checks import Checks
from roofline.analysis.finding import Finding
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError

if TYPE_CHECKING:
    from roofline.captures.capture import Capture

__all__ = ["DEVICE_CHECKS", "Recorded"]

_CORE: Final = re.compile(r"(?:^|_)v?nc_(\d+)(?:_|$)")
_SESSION: Final = "session"
_HELPER_BYTES: Final = 64
"""A program that moves no more is one that the framework runs for itself."""
_CORES_REMEDY: Final = "let NEURON_RT_VISIBLE_CORES, the device index and --core agree"


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Files of one run on a device, as the checks see them.

    ``core`` is the logical core asked for, ``lnc`` the physical cores in it where known, ``dge``
    whether notifications of dynamic DMA were asked for;
    ``started_s`` the Unix time of the beginning; ``capture`` the framework trace.
    """

    device_traces: tuple[Path, ...]
    programs: tuple[Path, ...]
    core: int | None
    lnc: int | None
    dge: bool
    started_s: float
    capture: Capture | None

    @cached_property
    def full(self) -> tuple[Path, ...]:
        """Device traces with content."""
        return tuple(path for path in self.device_traces if path.stat().st_size)

    @cached_property
    def opened(self) -> tuple[tuple[Path, Capture | str], ...]:
        """Traces of one execution with what they hold, or why they cannot be read.

        A session holds many programs in one trace and has none of its own.
        """
        return tuple((path, _opened(path)) for path in self.full if _SESSION not in path.stem)

    @property
    def readable(self) -> Iterator[tuple[Path, Capture]]:
        """Traces of one execution that can be read."""
        for path, capture in self.opened:
            if not isinstance(capture, str):
                yield path, capture


def _opened(path: Path) -> Capture | str:
    try:
        return open_capture(path)
    except CaptureError as error:
        return str(error)


DEVICE_CHECKS: Final = Checks[Recorded]("a recording on a device")


@DEVICE_CHECKS.finding("no-device-trace", "empty-device-trace")
def _traces(run: Recorded) -> Iterator[Finding]:
    empty = len(run.device_traces) - len(run.full)
    if not run.device_traces:
        yield Finding(
            id="no-device-trace",
            what="no device trace was written",
            evidence="no .ntff in the folder of the run",
            remedy="ask for the DEVICE mode, and let the device run in the profiled steps",
        )
    elif empty:
        yield Finding(
            id="empty-device-trace",
            what="nothing ran on a core while it was profiled",
            evidence=f"{empty} of {len(run.device_traces)} .ntff are empty",
            remedy="check which core the program runs on (NEURON_RT_VISIBLE_CORES)",
        )


@DEVICE_CHECKS.finding("wrong-core")
def _core(run: Recorded) -> Iterator[Finding]:
    """The core of the traces' names and of the framework trace's executions."""
    if run.core is None:
        return
    named = {found[1] for path in run.full if (found := _CORE.search(path.stem))}
    executed: set[str] = set()
    if run.capture is not None:
        device = run.capture.table("device", ["name", "device"])
        executed = {text for text in device["device"].to_pylist() if text is not None}
    for what, seen in (("device traces are", named), ("executions are", executed)):
        if seen and str(run.core) not in seen:
            yield Finding(
                id="wrong-core",
                what=f"the {what} of another core",
                evidence=f"core {', '.join(sorted(seen))}, not core {run.core}",
                remedy=_CORES_REMEDY,
            )


@DEVICE_CHECKS.finding("wrong-lnc")
def _lnc(run: Recorded) -> Iterator[Finding]:
    for path, capture in run.readable:
        seen = capture.metadata.get("lnc")
        if None not in (seen, run.lnc) and seen != run.lnc:
            yield Finding(
                id="wrong-lnc",
                what="the device trace is of another logical-core setting than the host's",
                evidence=f"{path.name}: LNC {seen}, the host says {run.lnc}",
                remedy="let NEURON_RT_VIRTUAL_CORE_SIZE and NEURON_LOGICAL_NC_CONFIG (--lnc of the "
                "compiler) agree, and compile anew",
            )


@DEVICE_CHECKS.finding("missing-program", "bad-device-trace")
def _programs(run: Recorded) -> Iterator[Finding]:
    remedy = "set neff_cache_dir, or copy the program from the compiler's cache"
    if run.full and not run.programs:
        yield Finding(
            id="missing-program",
            what="device traces without a program: no names of tensors and layers",
            evidence=f"{len(run.full)} .ntff, no .neff",
            remedy=remedy,
        )
        return
    for path, capture in run.opened:
        if isinstance(capture, str):
            yield Finding(
                id="bad-device-trace", what="a device trace cannot be read", evidence=capture
            )
        elif "neff" not in capture.metadata:
            yield Finding(
                id="missing-program",
                what="a device trace without its own program",
                evidence=f"{path.name}: none of {len(run.programs)} .neff has its uuid",
                remedy=remedy,
            )


@DEVICE_CHECKS.finding("helper-program")
def _helpers(run: Recorded) -> Iterator[Finding]:
    for path, capture in run.readable:
        if not capture.has("dma"):
            continue
        moved = sum(capture.table("dma", ["transfer_bytes"])["transfer_bytes"].to_pylist())
        if moved <= _HELPER_BYTES:
            yield Finding(
                id="helper-program",
                what="the device trace is of a helper program, not of the variant",
                evidence=f"{path.name}: {moved} B moved",
                remedy="trace the program of the variant (roofline record --explorer)",
            )


@DEVICE_CHECKS.finding("records-lost")
def _lost(run: Recorded) -> Iterator[Finding]:
    for path, capture in run.readable:
        lost = [
            issue.what for issue in capture.quality
            # counts of lost semaphore events are usual, and change no time
            if issue.severity == "lost" and issue.table != "semaphores"
        ]  # fmt: skip
        if lost:
            yield Finding(
                id="records-lost",
                what="the device trace lost records, as when a queue of notifications overflows",
                evidence=f"{path.name}: {'; '.join(lost)}",
                remedy="record without notifications of dynamic DMA (--no-dge), and fewer steps",
            )


@DEVICE_CHECKS.finding("no-dma-notifications")
def _unlinked(run: Recorded) -> Iterator[Finding]:
    if not run.dge:
        return  # left out on purpose
    for path, capture in run.readable:
        issue = next((one for one in capture.quality if one.id == "unlinked-dma"), None)
        if issue is not None:
            yield Finding(
                id="no-dma-notifications",
                what="dynamic DMA is not linked to the instructions that issued it",
                evidence=f"{path.name}: {issue.count} packets",
                remedy="set NEURON_RT_ENABLE_DGE_NOTIFICATIONS=1 before the program is loaded",
            )


@DEVICE_CHECKS.finding("stale-cache", "no-debug-information")
def _compiled(run: Recorded) -> Iterator[Finding]:
    old = [path for path in run.programs if path.stat().st_mtime < run.started_s]
    bare = [path for path in run.programs if not _has_debug(path)]
    if old:
        yield Finding(
            id="stale-cache",
            what="programs were compiled before this recording, perhaps without debug information",
            evidence=f"{len(old)} of {len(run.programs)} .neff are older",
            remedy="clear the cache, or let the recording use its own "
            "(TORCH_NEURONX_NEFF_CACHE_DIR)",
        )
    elif bare:
        yield Finding(
            id="no-debug-information",
            what="programs hold no names of layers or source lines",
            evidence=f"{len(bare)} of {len(run.programs)} .neff",
            remedy="set NEURON_FRAMEWORK_DEBUG=1, XLA_IR_DEBUG=1, XLA_HLO_DEBUG=1 before compiling",
        )


def _has_debug(path: Path) -> bool:
    from roofline.captures.neff.program import open_neff

    try:
        neff = open_neff(path)
        return bool(neff.penguin.entries or neff.hlo.entries or neff.framework.entries)
    except CaptureError:
        return True  # damaged, which is another fault
