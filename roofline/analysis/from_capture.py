"""Evidence from event tables: what each resource of the working core did in a window."""

from __future__ import annotations

from typing import Final

import numpy as np

from roofline.analysis.activity import Activity, activity
from roofline.analysis.bounds import Busy
from roofline.analysis.bounds_inputs import measure, working_core
from roofline.analysis.columns import has, integers
from roofline.analysis.evidence import Evidence, ResourceEvidence
from roofline.analysis.operands import read_operands
from roofline.analysis.window import Window
from roofline.captures.capture import Capture
from roofline.engines import COMPUTE_ENGINES, ELEMENT_ENGINES, ENGINES
from roofline.hardware.model import Hardware
from roofline.intervals import EMPTY

__all__ = ["evidence_from_capture", "weighted_median"]

_JUDGED: Final = ("instructions", "dma")
"""Tables the fractions come from; updates of semaphores lost in range clears do not change them."""


def evidence_from_capture(
    capture: Capture, hardware: Hardware, window: str | Window = "body"
) -> Evidence:
    """Return what the events of a capture say about one window, for ``decide``.

    Of several cores the one with the most work is judged, and the others are told in ``missing``
    where they work too. Raises ``MissingTableError`` for a capture without events.
    """
    found = activity(capture, window)
    core = working_core(found)
    seconds = found.window.seconds
    busy = measure(capture, found, core, hardware).busy
    resources = [_engine(found, core, name, busy.get(name), seconds) for name in COMPUTE_ENGINES]
    if found.instructions is None:
        resources = []
    resources += _memory(capture, found, core, hardware, seconds)
    fixed = None
    if found.window.name == "total":
        phases = found.phases
        fixed = (phases.start_up_ps + phases.tail_ps) / 1e12
    return Evidence(
        time_s=seconds,
        clock="device_total" if found.window.name == "total" else "device_body",
        basis="capture",
        resources=tuple(resources),
        fixed_s=None if fixed is None else (fixed, fixed),
        fixed_source="start-up and tail of the same capture",
        cores=1,
        lost_fraction=_lost(capture),
        contradictions=tuple(
            issue.what for issue in capture.quality if issue.severity == "contradiction"
        ),
        missing=tuple(_missing(found, core)),
    )


def _engine(
    found: Activity, core: int, name: str, busy: Busy | None, seconds: float
) -> ResourceEvidence:
    active = found.busy(name, core).total / 1e12
    working = found.busy(name, core, "compute").total / 1e12
    ideal = busy.ideal if busy is not None else None
    streaming = None
    if busy is not None and working > 0:
        flows = busy.ideal if name in ELEMENT_ENGINES else busy.streamed
        streaming = None if flows is None else flows / working
    throttled = None
    if name == "tensor" and busy is not None and busy.achievable and busy.streamed is not None:
        throttled = max(0.0, busy.achievable - busy.streamed) / seconds
    return ResourceEvidence(
        resource=name,
        active=active / seconds,
        working=working / seconds,
        rate=None if ideal is None else ideal / seconds,
        streaming=streaming,
        throttled=throttled,
    )


def _memory(
    capture: Capture, found: Activity, core: int, hardware: Hardware, seconds: float
) -> list[ResourceEvidence]:
    dma = found.dma
    if dma is None:
        return []
    inside = (dma.start >= found.window.start_ps) & (dma.start < found.window.end_ps)
    rows = np.flatnonzero(inside & dma.payload & (dma.core == core))
    size = int(dma.size[rows].sum())
    moving = found.transfers(core)
    issuing = EMPTY.union(*(found.busy(name, core, "dma_issue") for name in ENGINES))
    # roofs of one core: the evidence is that of one core
    path = [
        roof.value / hardware.working_cores
        for roof in hardware.memory_roofs()
        if roof.resource == "dma" and not roof.direction and roof.kind != "vendor"
    ]
    sustained = [
        roof.value / hardware.working_cores
        for roof in hardware.memory_roofs("sustained")
        if roof.resource == "dma" and not roof.direction
    ]
    reachable = sustained[0] if sustained else min(path)
    rate = size / seconds
    result = [
        ResourceEvidence(
            resource="dma",
            active=moving.total / 1e12 / seconds,
            rate=rate / reachable,
            rate_low=rate / max(path),
            rate_high=rate / min(path),
            issue=issuing.subtract(moving).total / 1e12 / seconds,
            bytes_per_partition=_partition_bytes(capture, found, core),
            packet_bytes=size / len(rows) if len(rows) else None,
        )
    ]
    stack = hardware.memory_roofs("theoretical")
    stacks = [roof.value for roof in stack if roof.resource == "hbm"]
    moved = _hbm_bytes(capture, found, core)
    if stacks and moved is not None:
        result.append(ResourceEvidence(resource="hbm", rate=moved / seconds / stacks[0]))
    return result


def _hbm_bytes(capture: Capture, found: Activity, core: int) -> int | None:
    lines = found.instructions
    if lines is None or not has(capture.instructions, "hbm_read_bytes", "hbm_write_bytes"):
        return None
    inside = (lines.start >= found.window.start_ps) & (lines.start < found.window.end_ps)
    rows = lines.row[inside & (lines.core == core)]
    table = capture.instructions
    return int(
        integers(table, "hbm_read_bytes")[rows].sum()
        + integers(table, "hbm_write_bytes")[rows].sum()
    )


def _partition_bytes(capture: Capture, found: Activity, core: int) -> float | None:
    """Return the median contiguous bytes of the transfers issued, weighted by their bytes."""
    lines = found.instructions
    operands = read_operands(capture.instructions) if lines is not None else None
    if lines is None or operands is None:
        return None
    inside = (lines.start >= found.window.start_ps) & (lines.start < found.window.end_ps)
    rows = lines.row[inside & (lines.core == core)]
    element, size = (operands.integers(name)[rows] for name in ("dma_element", "dma_bytes"))
    known = (element > 0) & (size > 0)
    return weighted_median(element[known], size[known])


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float | None:
    """Return the value at half of the weight; ``None`` where there is none.

    >>> weighted_median(np.array([1, 9, 5]), np.array([1, 1, 4]))
    5.0
    """
    if not len(values) or not weights.sum():
        return None
    order = np.argsort(values, kind="stable")
    done = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(done, done[-1] / 2, "left")])


def _lost(capture: Capture) -> float | None:
    """Return lost records over records, where a reader says how many were lost."""
    lost = sum(
        issue.count or 0
        for issue in capture.quality
        if issue.severity == "lost" and issue.table in _JUDGED
    )
    rows = sum(capture.table(name).num_rows for name in _JUDGED if capture.has(name))
    return lost / (lost + rows) if lost + rows else None


def _missing(found: Activity, core: int) -> list[str]:
    missing = []
    if found.instructions is None:
        missing.append("no instructions: engines are not known")
    if found.dma is None:
        missing.append("no DMA packets: memory is not known")
    others = [
        each
        for each in found.cores
        if each != core and any(len(found.busy(name, each, "compute")) for name in COMPUTE_ENGINES)
    ]
    if others:
        named = ", ".join(map(str, others))
        missing.append(f"judged on core {core}, the one with the most work; core {named} works too")
    return missing
