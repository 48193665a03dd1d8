"""Evidence from a profile's summary: activity and bytes by the vendor's field names."""

from __future__ import annotations

from collections.abc import Mapping

from roofline.analysis.evidence import Evidence, ResourceEvidence
from roofline.analysis.from_time import reachable_rate
from roofline.analysis.totals import active_times, body_time, number, total_time
from roofline.engines import COMPUTE_ENGINES
from roofline.errors import CaptureError
from roofline.hardware.model import Hardware

__all__ = ["evidence_from_summary"]


def evidence_from_summary(
    summary: Mapping[str, float],
    hardware: Hardware,
    *,
    window: str = "body",
    missing: tuple[str, ...] = (),
) -> Evidence:
    """Return what a summary says about one window, ``body`` or ``total``.

    ``summary`` holds the vendor's fields and units (times in s, percentages as fractions of
    ``total_time``). For the body, ``total_active_time`` stands in for its length; where it is
    absent the total has to do. Raises ``CaptureError`` without a ``total_time``.
    """
    total = total_time(summary)
    if total is None:
        raise CaptureError("a summary without a positive total_time")
    body = body_time(summary)
    use_body = window == "body" and body is not None
    length = body if use_body and body is not None else total
    times = active_times(summary)
    resources = []
    for engine in COMPUTE_ENGINES:
        active = times.get(engine)
        rate = None
        if engine == "tensor":
            rate = number(summary, "hfu_estimated_percent")
            rate = number(summary, "mfu_estimated_percent") if rate is None else rate
            # the vendor divides by one core's peak whatever the number of cores
            rate = None if rate is None else rate * total / length
        if active is not None or rate is not None:
            resources.append(
                ResourceEvidence(resource=engine, active=_fraction(active, length), rate=rate)
            )
    resources += _memory(summary, times.get("dma"), hardware, total, length)
    fixed = None
    if not use_body and body is not None:
        fixed = (total - body, total - body)
    thin = list(missing)
    if window == "body" and body is None:
        thin.append("no total_active_time: start-up is part of this window")
    return Evidence(
        time_s=length,
        clock="device_body" if use_body else "device_total",
        basis="summary",
        resources=tuple(resources),
        fixed_s=fixed,
        fixed_source="total_time less total_active_time",
        cores=hardware.working_cores,
        union=hardware.working_cores > 1,
        missing=tuple(thin),
    )


def _memory(
    summary: Mapping[str, float],
    dma_s: float | None,
    hardware: Hardware,
    total: float,
    length: float,
) -> list[ResourceEvidence]:
    """Return DMA activity, and the rate of the memory ceiling that binds."""
    active = _fraction(dma_s, length)
    moved = _bytes(summary, hardware, total)
    found = {} if active is None else {"dma": ResourceEvidence(resource="dma", active=active)}
    if moved is not None:
        (name, reachable), low, high = reachable_rate(hardware)
        rate = moved / length
        found[name] = ResourceEvidence(
            resource=name,
            active=active if name == "dma" else None,
            rate=rate / reachable,
            rate_low=rate / high,
            rate_high=rate / low,
        )
    return list(found.values())


def _bytes(summary: Mapping[str, float], hardware: Hardware, total: float) -> float | None:
    """Return HBM bytes, or those that MBU stands for: a share of one stack over the total."""
    read, write = number(summary, "hbm_read_bytes"), number(summary, "hbm_write_bytes")
    if read is not None and write is not None:
        return read + write
    share = number(summary, "mbu_estimated_percent")
    return None if share is None else share * hardware.memory_ceiling("vendor").value * total


def _fraction(seconds: float | None, length: float) -> float | None:
    return None if seconds is None else seconds / length
