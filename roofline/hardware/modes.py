"""Which instruction runs at how many elements per lane and cycle, as rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["OPERANDS", "ModeRule", "fastest_rule"]

OPERANDS: Final = ("sbuf", "one_psum", "psum")
"""Where the operands of an instruction lie: all in SBUF, one in PSUM, more than one in PSUM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeRule:
    """When an element engine takes how many elements per lane and cycle.

    ``operations`` and ``dtypes`` hold vendor instruction names and dtype keys, or ``*``.
    ``operands`` lists where they may lie (``OPERANDS``), ``contiguous`` says whether the innermost
    step must be one element, ``broadcast`` whether an input with step zero is allowed. ``path`` is
    that of its number in the model file.
    """

    engine: str
    path: str
    elements_per_lane_per_cycle: float
    operations: tuple[str, ...]
    dtypes: tuple[str, ...]
    operands: tuple[str, ...]
    contiguous: bool
    broadcast: bool
    quality: str
    source: str
    note: str = ""

    def allows(
        self,
        operation: str,
        dtypes: tuple[str, ...],
        operands: str,
        contiguous: bool,
        broadcast: bool,
    ) -> bool:
        """Return whether an instruction with these operands runs under this rule."""
        return (
            (operation in self.operations or "*" in self.operations)
            and ("*" in self.dtypes or all(dtype in self.dtypes for dtype in dtypes))
            and operands in self.operands
            and (contiguous or not self.contiguous)
            and (self.broadcast or not broadcast)
        )


def fastest_rule(
    rules: tuple[ModeRule, ...],
    operation: str,
    dtypes: tuple[str, ...],
    *,
    operands: str = "psum",
    contiguous: bool = False,
    broadcast: bool = True,
) -> ModeRule | None:
    """Return the fastest rule that allows an instruction; one that names it beats ``*``.

    The defaults assume the least: operands in PSUM, strided, broadcast.
    """
    allowed = [
        rule for rule in rules if rule.allows(operation, dtypes, operands, contiguous, broadcast)
    ]
    named = [rule for rule in allowed if operation in rule.operations]
    return max(named or allowed, key=lambda rule: rule.elements_per_lane_per_cycle, default=None)
