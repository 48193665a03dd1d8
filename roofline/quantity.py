"""A number with its unit, source and quality: the form in which every shown figure is carried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roofline.errors import UnitError

__all__ = ["QUALITIES", "Quantity"]

QUALITIES: Final = ("measured", "counted", "documented", "calibrated", "derived", "inferred")
"""How a figure is known, from the strongest to the weakest kind of evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A value with unit, source and quality.

    ``unit`` is an SI-base spelling such as ``s``, ``B``, ``FLOP/s``, ``B/s`` or ``1``.
    ``low`` and ``high`` bound the value where the source gives a band or sources disagree.
    """

    value: float
    unit: str
    source: str
    quality: str
    low: float | None = None
    high: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.quality not in QUALITIES:
            raise UnitError(f"unknown quality {self.quality!r}; known: {', '.join(QUALITIES)}")
