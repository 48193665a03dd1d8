"""Colours, markers and sizes of the static figures, in one place."""

from __future__ import annotations

from typing import Any, Final

__all__ = [
    "CONTEXT",
    "FAINT",
    "INK",
    "KIND_DASHES",
    "MARKERS",
    "MUTED",
    "RC",
    "ROOF_COLOURS",
    "TONES",
]

INK: Final = "#1a1d21"
MUTED: Final = "#5b6470"
FAINT: Final = "#e3e7ec"
CONTEXT: Final = "#6d7785"

TONES: Final = {
    "overhead": "#7a5c2e",
    "hbm": "#1b63c6",
    "dma": "#1b63c6",
    "tensor": "#b3261e",
    "vector": "#c76a00",
    "scalar": "#237a3b",
    "gpsimd": "#6d45a8",
    "serialization": "#a3308c",
    "unknown": "#5b6470",
    # rungs of the time ladder
    "bytes": "#1b63c6",
    "engines": "#c76a00",
    "schedule": "#c76a00",
    "moved": "#1b63c6",
    "dma-latency": "#3f8fd2",
    "device-start": "#a08c5b",
    "host": "#7a5c2e",
    "body": "#3d4652",
    "busiest": "#a3308c",
    "busy": "#a3308c",
    "phase": "#a08c5b",
    "measured": "#1a1d21",
    # of two runs: the base, and what the other saves or adds
    "base": "#a9b2bd",
    "saved": "#1b7f8c",
    "added": "#b3261e",
}
"""Colour by what binds a point, and by rung."""

ROOF_COLOURS: Final = {
    "hbm": "#1b63c6",
    "dma": "#3f8fd2",
    "tensor": "#b3261e",
    "vector": "#c76a00",
    "scalar": "#237a3b",
    "gpsimd": "#6d45a8",
}

KIND_DASHES: Final[dict[str, Any]] = {"theoretical": "-", "sustained": "--", "measured": ":"}

MARKERS: Final = ("o", "s", "D", "^", "v", "P", "X", "p", "h", "*")

RC: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "svg.hashsalt": "roofline",
    "svg.fonttype": "path",
    "axes.edgecolor": "#9aa3af",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "path.simplify": False,
}
"""Settings under which every figure is drawn: same input, same bytes."""
