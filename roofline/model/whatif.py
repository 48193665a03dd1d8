"""What if: change a number of a hardware model, and see which number matters most."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from roofline.errors import HardwareModelError, QueryError, RooflineError
from roofline.hardware.model import Hardware
from roofline.model.estimate import estimate
from roofline.work.work import Work

__all__ = ["SENSITIVE", "Gain", "change", "find_path", "sensitivity"]

_HOW: Final = re.compile(r"([*+-]?)\s*([\d.]+(?:[eE][+-]?\d+)?)$")

SENSITIVE: Final = {
    "HBM bandwidth": ("memories.hbm.stack.bandwidth_bytes_per_s",),
    "DMA path": ("dma.link_bytes_per_s", "dma.sustained.engine_bytes_per_s"),
    "Tensor clock": ("engines.tensor.clock_hz",),
    "Vector clock": ("engines.vector.clock_hz",),
    "Scalar clock": ("engines.scalar.clock_hz",),
    "GpSimd clock": ("engines.gpsimd.clock_hz",),
    "launch (floor and stages)": ("calibrated.device.floor_s", "calibrated.device.stage_s"),
}
"""Roof in words -> the numbers that are made better together; a ``_s`` number gets smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """How much faster a work becomes when one roof is raised: seconds saved and their share."""

    roof: str
    paths: tuple[str, ...]
    time_s: float
    saved_s: float
    gain: float


def find_path(hardware: Hardware, text: str) -> str:
    """Return the path of a number: written out, or with its unit or a middle word left away.

    ``memories.hbm.bandwidth`` finds ``memories.hbm.stack.bandwidth_bytes_per_s``. Raises
    ``HardwareModelError`` when none or several match, naming them.
    """
    if text in hardware.values:
        return text
    words = text.split(".")
    found = [path for path in hardware.paths() if _matches(path, words)]
    if not found:
        near = [path for path in hardware.paths() if words[-1] in path][:6]
        hint = f"; paths with {words[-1]!r}: {', '.join(near)}" if near else ""
        raise HardwareModelError(f"{hardware.name}: no value {text!r}{hint}")
    roof = [path for path in found if not set(path.split(".")) & _OTHER_KINDS]
    if len(roof) == 1:
        return roof[0]
    raise HardwareModelError(f"{hardware.name}: {text!r} may be {', '.join(found)}")


_OTHER_KINDS: Final = frozenset({"printed", "vendor", "measured", "documented", "vendor_printed"})


def _matches(path: str, words: list[str]) -> bool:
    parts = path.split(".")
    if not (parts[-1] == words[-1] or parts[-1].startswith(f"{words[-1]}_")):
        return False
    rest = iter(parts[:-1])
    return all(word in rest for word in words[:-1])


def change(hardware: Hardware, path: str, how: str) -> Hardware:
    """Return the hardware with one number changed: ``*1.5``, ``+1e-6``, ``-5e-6`` or ``800e9``."""
    match = _HOW.match(how.strip())
    if match is None:
        raise QueryError(f"{path}={how}: write *1.5, +1e-6, -5e-6 or a value in SI base units")
    where = find_path(hardware, path)
    old, by = hardware.value(where).value, float(match[2])
    new = {"*": old * by, "+": old + by, "-": old - by, "": by}[match[1]]
    return hardware.replace_value(where, new)


def sensitivity(
    work: Work,
    hardware: Hardware,
    *,
    variant: str = "fused",
    clock: str = "device_execution",
    percent: float = 10.0,
    roofs: Mapping[str, tuple[str, ...]] = SENSITIVE,
) -> list[Gain]:
    """Return what raising each roof by ``percent`` saves, largest first.

    Rates go up and fixed times go down by the same factor. A roof that saves nothing does not
    bind; what the time model leaves out cannot show here.
    """
    if percent <= 0:
        raise QueryError(f"raise a roof by more than 0 %, not {percent}")
    factor = 1 + percent / 100
    base = estimate(work, hardware, variant=variant, clock=clock).time_s
    gains = []
    for name, paths in roofs.items():
        raised = hardware
        known = tuple(path for path in paths if path in hardware.values)
        for path in known:
            old = hardware.value(path).value
            raised = raised.replace_value(
                path, old / factor if path.endswith("_s") and "per_s" not in path else old * factor
            )
        try:
            time_s = estimate(work, raised, variant=variant, clock=clock).time_s
        except RooflineError:  # a roof the work does not need may not exist on this chip
            continue
        gains.append(
            Gain(
                roof=name, paths=known, time_s=time_s, saved_s=base - time_s, gain=base / time_s - 1
            )
        )
    return sorted(gains, key=lambda gain: -gain.saved_s)
