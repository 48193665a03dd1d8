"""Step five of the decision table: why the busiest resource is busy, from its rate."""

from __future__ import annotations

from typing import NamedTuple

from roofline.analysis.evidence import Evidence, ResourceEvidence
from roofline.analysis.marks import Thresholds, reaches
from roofline.units import format_percent

__all__ = ["Reason", "element_reason", "memory_reason", "tensor_reason"]


class Reason(NamedTuple):
    """The reason's word, the sentence that carries the figure, and what would settle it."""

    word: str
    why: str
    missing: tuple[str, ...] = ()


def memory_reason(
    evidence: Evidence, marks: Thresholds, entry: ResourceEvidence, *, by_rate: bool
) -> tuple[str, Reason]:
    """Return the memory ceiling that binds, and whether its bandwidth is what is used up."""
    # the ceiling that binds is the one whose rate is nearest to its roof
    rates = {one.resource: one.rate for one in evidence.memory if one.rate is not None}
    binding = max(rates, key=lambda name: rates[name], default=entry.resource)
    rate = rates.get(binding)
    dma = evidence.resource("dma")
    if rate is None:
        return entry.resource, Reason("unknown", "its rate is not known", ("bytes moved",))
    while_busy = rate if by_rate or not dma.busy else rate / dma.busy
    at = f"{while_busy:.2f} of the rate one core can reach"
    if by_rate or reaches(while_busy, marks.memory_rate):
        return binding, Reason("bandwidth", f"bytes flow at {at}")
    if dma.bytes_per_partition is not None and dma.bytes_per_partition >= marks.partition_bytes:
        if dma.issue is not None and dma.issue >= marks.fixed_share:
            waited = format_percent(dma.issue)
            why = f"bytes flow at {at} and descriptors are waited for {waited} of the window"
            return "dma", Reason("issue", why)
        why = f"bytes flow at {at} though transfers are large: they are not issued fast enough"
        return "dma", Reason("issue", why, ("time spent on issuing descriptors",))
    if dma.bytes_per_partition is None:
        why = f"bytes flow at {at}: transfers too small to fill the path (sizes not known)"
        return "dma", Reason("small-transfers", why, ("bytes per partition of the transfers",))
    why = (
        f"bytes flow at {at} in transfers of {dma.bytes_per_partition:.0f} B a partition "
        f"(recommended: {marks.partition_bytes:.0f} and more)"
    )
    return "dma", Reason("small-transfers", why)


def tensor_reason(marks: Thresholds, entry: ResourceEvidence) -> Reason:
    """Return why the Tensor engine is the limit: rate, tiles, or a limit on its clock."""
    rate = entry.rate_while_busy
    if entry.throttled is not None and entry.throttled >= marks.throttled:
        return Reason(
            "throttled", f"{format_percent(entry.throttled)} of the window is lost to a limit"
        )
    if rate is None:
        return Reason("unknown", "its FLOP rate is not known", ("Tensor FLOP",))
    at = f"{rate:.2f} of its peak while busy"
    if reaches(rate, marks.full_rate):
        return Reason("throughput", at)
    return Reason("underfilled", f"only {at}: small tiles, weight loads or gaps")


def element_reason(marks: Thresholds, entry: ResourceEvidence) -> Reason:
    """Return why Vector, Scalar or GpSimd is the limit: elements or instructions."""
    streaming = entry.streaming
    if streaming is None:
        streaming = entry.rate_while_busy
    if streaming is None:
        return Reason(
            "unknown", "its element-passes are not known", ("element-passes by instruction",)
        )
    at = f"elements flow for {format_percent(streaming)} of the time it is busy"
    if reaches(streaming, marks.streaming):
        return Reason("throughput", at)
    return Reason("instruction-overhead", f"{at}, the rest is the fixed cost of instructions")
