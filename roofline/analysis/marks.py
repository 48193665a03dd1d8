"""The marks of the decision table, in named presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["PRESETS", "Thresholds", "reaches"]

_ROUNDING: Final = 1e-9  # a published 0.900 is at a mark of 0.9


def reaches(value: float, mark: float) -> bool:
    """Whether a fraction is at its mark or over it."""
    return value >= mark - _ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The marks of the decision table, as fractions unless the name says bytes.

    ``engine_busy`` and ``memory_rate`` are the vendor's (NKI performance guide: an engine active
    for 90 % of the time is the limit; a memory-bound kernel should reach 60 % MBU). The others are
    this project's: ``near`` is how far under a mark a resource is still named, with its margin;
    ``fixed_share`` calls a window overhead when most of it is fixed; ``full_rate`` and
    ``streaming`` separate work at the roof's rate from time lost inside a busy engine;
    ``throttled`` is the share of the window lost to a limit that is worth naming, ``lost`` the
    share of lost records above which nothing is said. ``partition_bytes`` is the contiguous size
    per SBUF partition the vendor recommends as a minimum (2 KiB).
    """

    name: str
    engine_busy: float = 0.90
    memory_rate: float = 0.60
    near: float = 0.05
    fixed_share: float = 0.50
    full_rate: float = 0.80
    streaming: float = 0.50
    throttled: float = 0.10
    lost: float = 0.05
    partition_bytes: float = 2048.0


PRESETS: Final = {
    "vendor": Thresholds(name="vendor"),
    "strict": Thresholds(name="strict", engine_busy=0.95, memory_rate=0.80, full_rate=0.90),
}
"""Named sets of marks; ``vendor`` is the default."""
