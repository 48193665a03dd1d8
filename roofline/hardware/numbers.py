"""Access to the numbers of a model file by their dotted path."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from roofline.errors import HardwareModelError
from roofline.hardware.modes import ModeRule
from roofline.quantity import Quantity

__all__ = ["Numbers"]


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of one model file, and the rules that say which mode an instruction runs in."""

    name: str
    values: Mapping[str, Quantity] = field(default_factory=dict, repr=False)
    modes: tuple[ModeRule, ...] = field(default=(), repr=False)
    path: str = ""

    def value(self, path: str) -> Quantity:
        """Return the number at a dotted path of the model file, per physical core as written."""
        found = self.values.get(path)
        if found is None:
            raise HardwareModelError(
                f"{self.name}: no value {path!r} in {self.path or 'the model'}"
            )
        return found

    def series(self, path: str) -> tuple[float, ...]:
        """Return a list of numbers of the model file, such as a curve."""
        found: list[float] = []
        while (number := self.values.get(f"{path}.{len(found)}")) is not None:
            found.append(number.value)
        if not found:
            raise HardwareModelError(f"{self.name}: no list {path!r} in {self.path or 'the model'}")
        return tuple(found)

    def paths(self, prefix: str = "") -> tuple[str, ...]:
        """Return the paths of every number, or of those below ``prefix``, in file order."""
        return tuple(
            path for path in self.values if not prefix or f"{path}.".startswith(f"{prefix}.")
        )

    def replace_value(self, path: str, value: float) -> Self:
        """Return the same hardware with one number changed: what if it were so."""
        old = self.value(path)
        if not (math.isfinite(value) and value > 0):
            raise HardwareModelError(f"{self.name}: {path}: expected a positive number: {value!r}")
        new = replace(
            old,
            value=float(value),
            quality="inferred",
            source=f"what if; the model has {old.value:g}",
            low=None,
            high=None,
        )
        modes = tuple(
            replace(rule, elements_per_lane_per_cycle=float(value)) if rule.path == path else rule
            for rule in self.modes
        )
        return replace(self, values={**self.values, path: new}, modes=modes)
