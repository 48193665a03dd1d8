"""What a time measures. A time without its clock cannot be placed on a roofline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roofline.errors import UnitError

__all__ = ["CLOCKS", "CLOCK_LABELS", "DEVICE_CLOCKS", "Clock", "clock", "clock_label"]

CLOCKS: Final = {
    "host_wall": "wall time on the host around the call",
    "framework_window": "dispatch to completion as the framework's profiler sees it",
    "device_execution": "nc_exec_running: one execution on the device",
    "device_total": "a profile's total_time, start-up included",
    "device_body": "first to last useful instruction or byte on the device",
    "nki_benchmark": "the latency that nki.benchmark prints",
    "engine_active": "merged busy time of one engine",
    "modelled": "an estimate, not a measurement",
}
"""Clock key -> what it measures."""

CLOCK_LABELS: Final = {
    "host_wall": "host wall",
    "framework_window": "host window",
    "device_execution": "device execution",
    "device_total": "device total",
    "device_body": "device body",
    "nki_benchmark": "nki.benchmark",
    "engine_active": "engine active",
    "modelled": "modelled",
}
"""Clock key -> short name for tables and figures."""

DEVICE_CLOCKS: Final = frozenset(
    {"device_execution", "device_total", "device_body", "nki_benchmark", "engine_active"}
)
"""Clocks that do not contain host time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A clock key, and whether the run was profiled (``None``: not stated)."""

    key: str
    profiled: bool | None = None

    def __post_init__(self) -> None:
        clock(self.key)

    @property
    def on_device(self) -> bool:
        """Whether this clock excludes host time."""
        return self.key in DEVICE_CLOCKS


def clock(name: str) -> str:
    """Return ``name`` if it is a clock key; raise ``UnitError`` listing the known ones if not."""
    if name not in CLOCKS:
        raise UnitError(f"unknown clock {name!r}; known: {', '.join(CLOCKS)}")
    return name


def clock_label(key: str) -> str:
    """Return the short name of a clock; an empty key is a clock that nobody states."""
    return CLOCK_LABELS.get(key, key) or "clock not stated"
