"""One ceiling of the hardware, and how it is built from a number of the model file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roofline.errors import HardwareModelError
from roofline.quantity import Quantity

__all__ = ["ROOF_KINDS", "SCOPES", "Roof", "check_kind", "roof_from"]

ROOF_KINDS: Final = ("theoretical", "sustained", "measured", "vendor")
"""Array or lanes x clock and link rates; documented; from traces; what the vendor divides by."""

SCOPES: Final = ("core", "logical core", "chip")


_STRONG: Final = ("measured", "documented")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """One ceiling.

    ``resource`` is an engine key, ``hbm`` or ``dma``; ``value`` is in ``unit`` (``FLOP/s``,
    ``element/s`` for element-passes, ``B/s``) for the given ``scope``; ``low`` and ``high`` are
    the documented or measured spread. ``dtype`` and ``mode`` (1, 2, 4 elements per lane and cycle)
    say which work it holds for, ``direction`` (``read``, ``write``) which way bytes go.
    """

    name: str
    resource: str
    value: float
    unit: str
    kind: str
    scope: str
    source: str
    quality: str
    dtype: str = ""
    mode: int = 1
    direction: str = ""
    low: float | None = None
    high: float | None = None
    note: str = ""


def roof_from(
    number: Quantity,
    value: float,
    *,
    name: str,
    resource: str,
    unit: str,
    kind: str,
    scope: str,
    dtype: str = "",
    mode: int = 1,
    direction: str = "",
) -> Roof:
    """Return the roof that rests on a number of the model; the spread scales with the value."""
    scale = value / number.value
    computed = scale != 1 or unit != number.unit
    return Roof(
        name=name,
        resource=resource,
        value=value,
        unit=unit,
        kind=kind,
        scope=scope,
        source=number.source,
        # arithmetic makes a strong number a derived one; a weaker number stays what it is
        quality="derived" if computed and number.quality in _STRONG else number.quality,
        dtype=dtype,
        mode=mode,
        direction=direction,
        low=None if number.low is None else number.low * scale,
        high=None if number.high is None else number.high * scale,
        note=number.note,
    )


def check_kind(kind: str, known: tuple[str, ...] = ROOF_KINDS) -> None:
    """Raise ``HardwareModelError`` if ``kind`` is none of the known kinds of roof."""
    if kind not in known:
        raise HardwareModelError(f"no roof of kind {kind!r}; known: {', '.join(known)}")
