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
    "SCALE",
    "TONES",
    "tone_colour",
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
    # second reasons of a resource, where a map tells them apart
    "overhead:device-start": "#b5a273",
    "dma:bandwidth": "#6fb0e6",
    "dma:small-transfers": "#4fa8a4",
    "dma:issue": "#20716f",
    "tensor:underfilled": "#e08e86",
    "tensor:throttled": "#6f1611",
    "vector:instruction-overhead": "#efbd80",
    "scalar:instruction-overhead": "#8cc49c",
    "gpsimd:instruction-overhead": "#bba4dd",
    "none": "#e3e7ec",
}
"""Colour by what binds a point, and by rung; of a label without an entry, that of its resource."""

SCALE: Final = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74",
                "#c3b369", "#e1cc55", "#fee838")  # fmt: skip
"""Colours of a scale from its low to its high end, in even steps of lightness: the order is seen
also by who does not tell all colours apart (cividis)."""

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


def tone_colour(tone: str) -> str:
    """Return the colour of a tone: a rung, a resource, or ``resource:reason``."""
    return TONES.get(tone) or TONES.get(tone.partition(":")[0], MUTED)
