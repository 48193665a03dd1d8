"""Times and bytes by the vendor's field names, from the summary of a profile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from roofline.engines import COMPUTE_ENGINES

__all__ = ["active_times", "body_time", "number", "seconds", "total_time"]


def number(summary: Mapping[str, Any], field: str) -> float | None:
    """Return a field as a number; NaN and absence both mean not known."""
    value = summary.get(field)
    return None if value is None or math.isnan(value) else float(value)


def total_time(summary: Mapping[str, Any]) -> float | None:
    """Return ``total_time`` in s, ``None`` where the summary has none above zero."""
    value = number(summary, "total_time")
    return value if value is not None and value > 0 else None


def body_time(summary: Mapping[str, Any]) -> float | None:
    """Return ``total_active_time`` in s, which stands in for the body; ``None`` without one."""
    value = seconds(summary, "total_active_time")
    return value or None


def seconds(summary: Mapping[str, Any], field: str) -> float | None:
    """Return a time field in s, from itself or from its fraction of ``total_time``."""
    value = number(summary, field)
    if value is not None:
        return value
    share, total = number(summary, f"{field}_percent"), total_time(summary)
    return None if share is None or total is None else share * total


def active_times(summary: Mapping[str, Any], *more: str) -> dict[str, float]:
    """Return the active time in s of every compute engine, DMA and ``more`` engines that is known.

    A time of several physical cores is their union.
    """
    fields = {name: f"{name}_engine_active_time" for name in (*COMPUTE_ENGINES, *more)}
    fields["dma"] = "dma_active_time"
    found = {name: seconds(summary, field) for name, field in fields.items()}
    return {name: value for name, value in found.items() if value is not None}
