"""Hardware: one chip generation, seen from one logical NeuronCore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from roofline.engines import engine_key
from roofline.errors import HardwareModelError
from roofline.quantity import Quantity

__all__ = ["ROOF_KINDS", "SCOPES", "Hardware", "Roof"]

ROOF_KINDS: Final = ("theoretical", "sustained", "measured", "vendor")
"""Array or lanes x clock and link rates; documented; from traces; what the vendor divides by."""

SCOPES: Final = ("core", "logical core", "chip")


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


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """A chip generation as one logical core sees it.

    ``lnc`` is the number of physical cores in the logical core, ``working_cores`` how many of
    them do work, ``neighbours_busy`` whether other cores use the same HBM stack. ``values`` holds
    every number of the model file by its dotted path.
    """

    name: str
    chip: str
    generation: str
    instances: tuple[str, ...]
    cores_per_chip: int
    lnc: int
    lnc_choices: tuple[int, ...]
    working_cores: int
    neighbours_busy: bool = False
    values: Mapping[str, Quantity] = field(default_factory=dict, repr=False)
    path: str = ""

    def value(self, path: str) -> Quantity:
        """Return the number at a dotted path of the model file, per physical core as written."""
        found = self.values.get(path)
        if found is None:
            raise HardwareModelError(
                f"{self.name}: no value {path!r} in {self.path or 'the model'}"
            )
        return found

    def clock_hz(self, engine: str) -> float:
        """Return the clock of an engine in Hz."""
        return self.value(f"engines.{engine_key(engine)}.clock_hz").value
