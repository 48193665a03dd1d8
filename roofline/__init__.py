"""Roofline and engine analysis for AWS Trainium, from real captures, on any laptop.

Names are imported on first use, so that ``import roofline`` costs nothing but itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "Capture": "roofline.captures.capture",
    "Hardware": "roofline.hardware.model",
    "Roof": "roofline.hardware.model",
    "RooflineError": "roofline.errors",
    "Work": "roofline.work.work",
    "load_hardware": "roofline.hardware.load",
    "open_capture": "roofline.captures.registry",
}

__all__ = ["__version__", *sorted(_EXPORTS)]


def __getattr__(name: str) -> Any:
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module 'roofline' has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
