"""What the hardware model of a trace's instance says, and what the trace itself says instead."""

from __future__ import annotations

import re

from roofline.captures.ntff.header import Header

__all__ = ["chip_of", "core_clock_hz", "marks_transposes"]

_PS_PER_S: int = 10**12


def chip_of(instance_type: str) -> str | None:
    """Return the chip family an instance type names (``trn2``), ``None`` if it names none."""
    found = re.match(r"(?:trn|inf)\d+", instance_type)
    return found.group() if found else None


def core_clock_hz(header: Header) -> int | None:
    """Return the clock that counts semaphore waits, ``None`` where it is not known."""
    clock = header.cores[0].event_clock
    if clock.den > 1:
        # the nominal ratio: 1024 core cycles are den ps; whole MHz undo the rounding of den
        return round(1024 * _PS_PER_S / clock.den / 10**6) * 10**6
    return None


def marks_transposes(header: Header) -> bool:
    """Whether words mark transposes: from NeuronCore-v3 on, whose clocks tick in picoseconds."""
    clock = header.cores[0].event_clock
    return clock.den == clock.num == 1
