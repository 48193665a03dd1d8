"""Join texts that say the same with other figures: one sentence for many captures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

__all__ = ["among", "joined", "merged", "skeleton"]

T = TypeVar("T")

_NUMBER: Final = r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
_UNIT: Final = r"(?: ?%|x| ?[fpnµmkMGTPE]?(?:FLOP/s|FLOP/B|FLOP|B/s|B|s|Hz|(?<=[kMGT])(?=\W|$)))"
_ONE: Final = rf"{_NUMBER}{_UNIT}?"
_FIGURE: Final = re.compile(rf"(?<![\w.]){_ONE}(?: to {_ONE})?(?!\w)")
_PART: Final = re.compile(rf"({_NUMBER})({_UNIT})?")
_PREFIX: Final = {"f": 1e-15, "p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3,
                  "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Figure:
    """A number as it is written, with its unit and what it is worth in the base unit."""

    number: str
    gap: str
    unit: str

    @property
    def text(self) -> str:
        return f"{self.number}{self.gap}{self.unit}"

    @property
    def base(self) -> str:
        return self.unit[1:] if self.unit[:1] in _PREFIX else self.unit

    @property
    def value(self) -> float:
        scale = _PREFIX.get(self.unit[:1], 1.0) if self.unit != self.base else 1.0
        return float(self.number.replace(",", "")) * scale


def _figures(text: str) -> list[_Figure]:
    return [
        _Figure(number, " " if unit.startswith(" ") else "", unit.strip())
        for number, unit in _PART.findall(text)
    ]


def skeleton(text: str) -> str:
    """Return a text without its figures: the same for texts that differ only in them.

    Figures inside names (``bf16``, ``4x512``) are no figures; prefixes of units do not count.

    >>> skeleton("busy 787 ns of 1.35 µs") == skeleton("busy 2 µs of 3 µs")
    True
    >>> skeleton("on fp32") == skeleton("on bf16")
    False
    """
    return _FIGURE.sub(lambda found: f"#{_figures(found[0])[0].base}", text)


def merged(texts: Sequence[str], most: int = 0) -> str:
    """Return texts of one skeleton as one: figures that differ become their range.

    Of up to ``most`` texts they are listed instead, in the order of the texts.

    >>> merged(["waits 787 ns of 3 µs", "waits 1.35 µs of 3 µs", "waits 1 µs of 3 µs"])
    'waits 787 ns to 1.35 µs of 3 µs'
    >>> merged(["at 0.62", "at 0.53"], most=3)
    'at 0.62 and 0.53'
    """
    columns = list(
        zip(*([one[0] for one in _FIGURE.finditer(text)] for text in texts), strict=True)
    )
    between = _FIGURE.split(texts[0])
    shown = [_shown(column, most) for column in columns]
    return between[0] + "".join(a + b for a, b in zip(shown, between[1:], strict=True))


def _shown(column: Sequence[str], most: int) -> str:
    if len(set(column)) == 1:
        return column[0]
    if len(column) <= most:
        return joined(column)
    figures = sorted((one for text in column for one in _figures(text)), key=lambda one: one.value)
    low, high = figures[0], figures[-1]
    return f"{low.number if low.unit == high.unit else low.text} to {high.text}"


def joined(names: Sequence[str]) -> str:
    """Return names as a list in prose.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def among(items: Iterable[T], text: Callable[[T], str]) -> list[list[T]]:
    """Return items in groups whose texts have one skeleton, in the order they first appear."""
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(skeleton(text(item)), []).append(item)
    return list(groups.values())
