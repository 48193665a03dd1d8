"""Evidence from a time and counted work: rates and fixed time, and no activity."""

from __future__ import annotations

from roofline.analysis.evidence import Evidence, ResourceEvidence
from roofline.analysis.ladder import device_time
from roofline.analysis.placement import Placement
from roofline.errors import QueryError
from roofline.hardware.model import Hardware

__all__ = ["evidence_from_time", "fixed_time", "memory_evidence"]


def evidence_from_time(placement: Placement, device_s: float | None = None) -> Evidence:
    """Return what the time of a placement says.

    ``device_s`` is the time in s that executions took inside a window with host time, where it was
    measured: the rest of the window is then known and not bounded. Raises ``QueryError`` for a
    placement without a time.
    """
    if placement.time_s is None:
        raise QueryError(f"work {placement.work.name!r} has no time to judge")
    resources = [memory_evidence(placement)] if placement.bytes else []
    if placement.tensor_flops:
        resources.append(
            ResourceEvidence(resource="tensor", rate=placement.term_s("tensor") / placement.time_s)
        )
    contradictions: tuple[str, ...] = ()
    if placement.time_s < (placement.bound_s or 0.0):
        contradictions = tuple(note for note in placement.notes if "lower bound" in note)
    fixed, source = fixed_time(placement)
    if device_s is not None and placement.clock in ("host_wall", "framework_window"):
        outside = max(0.0, placement.time_s - device_s)
        fixed, source = (outside, outside), "window less the executions in it, both measured"
    return Evidence(
        time_s=placement.time_s,
        clock=placement.clock,
        basis="time",
        resources=tuple(resources),
        fixed_s=fixed,
        fixed_source=source,
        launches=placement.work.launches,
        cores=placement.hardware.working_cores,
        contradictions=contradictions,
    )


def memory_evidence(placement: Placement) -> ResourceEvidence:
    """Return the rate of the memory that binds, against what one logical core can reach.

    The reachable rate is the sustained one of the DMA path or the theoretical one of the stack,
    whichever is lower; its spread runs over every kind of roof of that resource.
    """
    moved = placement.bytes[placement.byte_kind]
    if placement.time_s is None:
        raise QueryError(f"work {placement.work.name!r} has no time")
    rate = moved / placement.time_s
    reachable, low, high = reachable_rate(placement.hardware)
    return ResourceEvidence(
        resource=reachable[0],
        rate=rate / reachable[1],
        rate_low=rate / high,
        rate_high=rate / low,
    )


def reachable_rate(hardware: Hardware) -> tuple[tuple[str, float], float, float]:
    """Return (resource, B/s) one logical core can reach, and the spread of that roof in B/s."""
    kinds = {roof.kind for roof in hardware.memory_roofs() if roof.resource == "dma"}
    ceiling = hardware.memory_ceiling("sustained" if "sustained" in kinds else "theoretical")
    same = [
        roof
        for roof in hardware.memory_roofs()
        if roof.resource == ceiling.resource and not roof.direction and roof.kind != "vendor"
    ]
    values = [roof.value for roof in same]
    return (ceiling.resource, ceiling.value), min(values), max(values)


def fixed_time(placement: Placement) -> tuple[tuple[float, float] | None, str]:
    """Return the range in s of the time that does not depend on the work, and its source.

    On a clock with host time it is what the device cannot have used: the window less the range of
    ``device_time``. On a device clock it is the published floor of that clock, a launch.
    """
    hardware, time_s, work = placement.hardware, placement.time_s, placement.work
    if time_s is None:
        return None, ""
    if placement.clock in ("host_wall", "framework_window"):
        device = device_time(placement)
        if device is None:
            return None, ""
        low, high = (max(0.0, time_s - device[1]), max(0.0, time_s - device[0]))
        source = (
            "window less device time; the device needs a published floor of an execution a launch, "
            "and at most that and everything one after the other"
        )
        return (low, high), source
    path = f"overheads.launch.{placement.clock}.floor_s"
    if path not in hardware.values:
        return None, ""
    floor = hardware.value(path)
    low = floor.value if floor.low is None else floor.low
    high = floor.value if floor.high is None else floor.high
    return (low * work.launches, high * work.launches), floor.source
