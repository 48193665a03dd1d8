"""What the hardware model of a trace's instance says, and what the trace itself says instead."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from roofline.captures.ntff.header import Header
from roofline.errors import HardwareModelError
from roofline.hardware.load import load_hardware, model_of_instance

if TYPE_CHECKING:
    from roofline.hardware.model import Hardware

__all__ = ["core_clock_hz", "hardware_of", "known_value", "marks_transposes"]

_PS_PER_S: int = 10**12


def hardware_of(header: Header) -> Hardware | None:
    """Return the hardware of the instance a trace was taken on, ``None`` if it is not known."""
    return _load(header.instance_type, len(header.cores))


@lru_cache(maxsize=32)
def _load(instance: str, cores: int) -> Hardware | None:
    name = model_of_instance(instance)
    if name is None:
        return None
    try:
        return load_hardware(name, lnc=cores)
    except HardwareModelError:
        return None  # a generation without a model, or more cores than a logical core has


def known_value(hardware: Hardware | None, path: str) -> float | None:
    """Return a number of the hardware model, ``None`` where there is none."""
    if hardware is None or path not in hardware.values:
        return None
    return hardware.value(path).value


def core_clock_hz(header: Header) -> int | None:
    """Return the clock that counts semaphore waits, ``None`` where it is not known."""
    modelled = known_value(hardware_of(header), "chip.clock.clock_hz")
    if modelled is not None:
        return round(modelled)
    clock = header.cores[0].event_clock
    if clock.den > 1:
        # the nominal ratio: 1024 core cycles are den ps; whole MHz undo the rounding of den
        return round(1024 * _PS_PER_S / clock.den / 10**6) * 10**6
    return None


def marks_transposes(header: Header) -> bool:
    """Whether words mark transposes: from NeuronCore-v3 on, whose clocks tick in picoseconds."""
    clock = header.cores[0].event_clock
    return clock.den == clock.num == 1
