"""The hardware model of the machine a capture was taken on."""

from __future__ import annotations

from roofline.captures.capture import Capture
from roofline.errors import CaptureError
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware

__all__ = ["hardware_of", "named_hardware"]


def hardware_of(
    capture: Capture,
    name: str | None = None,
    *,
    lnc: int | None = None,
    working_cores: int | None = None,
) -> Hardware:
    """Return the hardware of a capture as its own metadata give it, or of ``name`` and ``lnc``.

    The number of physical cores in the logical core is the capture's where it says so. Raises
    ``CaptureError`` when neither names a chip: there is no silent default.
    """
    known = name or named_hardware(capture)
    if not known:
        raise CaptureError(
            f"{capture.path}: does not say which chip it is from; name the hardware (--hw trn2)"
        )
    found = capture.metadata.get("lnc") if lnc is None else lnc
    return load_hardware(
        str(known), lnc=None if found is None else int(found), working_cores=working_cores
    )


def named_hardware(capture: Capture) -> str | None:
    """Return the chip or instance a capture says it is from, ``None`` where it does not."""
    found = capture.metadata.get("hardware") or capture.metadata.get("instance_type")
    return str(found) if found else None
