"""Colours of the page for light and dark, by the same tones as the static figures."""

from __future__ import annotations

from typing import Final

from roofline.plots import style

__all__ = ["MARKERS", "PALETTES", "colour"]

MARKERS: Final = (
    "circle",
    "square",
    "diamond",
    "triangle",
    "inverted_triangle",
    "plus",
    "x",
    "hex",
    "star",
    "asterisk",
)
"""Shapes by variant, in the order of the static figures."""

_LIGHT: Final = {**style.TONES, "ink": style.INK, "muted": style.MUTED, "grid": style.FAINT,
                 "paper": "#ffffff", "context": style.CONTEXT, "other": "#b9c0c9",
                 "sync": "#5b6470"}  # fmt: skip

_DARK: Final = {
    **_LIGHT,
    "overhead": "#c9a66b",
    "hbm": "#6aa6f8",
    "dma": "#6aa6f8",
    "tensor": "#ff8078",
    "vector": "#f2a04a",
    "scalar": "#6cc48a",
    "gpsimd": "#b594ea",
    "serialization": "#e57fd2",
    "unknown": "#9aa5b1",
    "bytes": "#6aa6f8",
    "engines": "#f2a04a",
    "moved": "#6aa6f8",
    "dma-latency": "#7fc0f0",
    "device-start": "#d5c38f",
    "host": "#c9a66b",
    "body": "#b4bdc8",
    "busiest": "#e57fd2",
    "busy": "#e57fd2",
    "phase": "#d5c38f",
    "measured": "#f2f4f7",
    "base": "#69727d",
    "saved": "#52c4cf",
    "added": "#ff8078",
    "overhead:device-start": "#8f7c50",
    "dma:bandwidth": "#3d75bd",
    "dma:small-transfers": "#7fd0cc",
    "dma:issue": "#3d9c99",
    "tensor:underfilled": "#b5534c",
    "tensor:throttled": "#ffc2bd",
    "vector:instruction-overhead": "#a86c26",
    "scalar:instruction-overhead": "#3f8357",
    "gpsimd:instruction-overhead": "#7a5fae",
    "none": "#30363e",
    "ink": "#e8ebef",
    "muted": "#a3adb8",
    "grid": "#30363e",
    "paper": "#16191d",
    "context": "#8c97a5",
    "other": "#565f6a",
    "sync": "#9aa5b1",
}

PALETTES: Final = {"light": _LIGHT, "dark": _DARK}
"""Colour by tone, and ink, muted, grid and paper, for each mode."""


def colour(tone: str) -> str:
    """Return the light colour of a tone; the page swaps it when it is dark."""
    return _LIGHT.get(tone) or _LIGHT.get(tone.partition(":")[0], style.MUTED)
