"""Noise: how large a difference of two times has to be before it says anything."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import Final

from roofline.analysis.observed import Timing
from roofline.errors import QueryError, UnitError
from roofline.units import format_percent, format_time, parse_time

__all__ = ["CONFIDENCE", "NOT_KNOWN", "Noise", "Tolerance", "noise_between", "parse_tolerance"]

_DIGITS: Final = 1e-9
"""Times are written to at least so many digits; what is beyond them is rounding."""

CONFIDENCE: Final = 0.95
"""Two-sided confidence of the interval that repeats give."""
_OF_REPEATS: Final = f"{format_percent(CONFIDENCE)} of repeats"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """A spread that somebody states: relative, in s, or the larger of both."""

    relative: float = 0.0
    seconds: float = 0.0

    def of(self, seconds: float) -> float:
        """Return the tolerance in s at a time."""
        return max(self.relative * seconds, self.seconds)

    @property
    def words(self) -> str:
        """For example ``3 % or 500 ns``."""
        parts = []
        if self.relative:
            parts.append(format_percent(self.relative, digits=3))
        if self.seconds:
            parts.append(format_time(self.seconds))
        return " or ".join(parts) or "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Differences up to ``seconds`` mean nothing; ``None``: nobody knows. ``source`` says why.

    Up to ``resolution_s`` two times are the same as far as they were written down.
    """

    seconds: float | None
    source: str
    resolution_s: float = 0.0


NOT_KNOWN: Final = Noise(seconds=None, source="")
"""Where there is no pair of times to speak of."""


def parse_tolerance(text: str) -> Tolerance:
    """Return the tolerance of a text: ``3%``, ``500ns``, or both as ``3% or 500ns``.

    Raises ``QueryError`` for anything else.
    """
    relative = seconds = 0.0
    for part in text.replace(",", " or ").split(" or "):
        part = part.strip()
        try:
            if part.endswith("%"):
                relative = float(part[:-1]) / 100
            else:
                seconds = parse_time(part)
        except (ValueError, UnitError):
            raise QueryError(
                f"noise {text!r}: write a share, a time or both: 3%, 500ns, '3% or 500ns'"
            ) from None
    if not (0 <= relative < math.inf and 0 <= seconds < math.inf):
        raise QueryError(f"noise {text!r}: a spread is 0 or more")
    return Tolerance(relative=relative, seconds=seconds)


def noise_between(base: Timing, new: Timing, stated: Tolerance | None = None) -> Noise:
    """Return the noise of the difference of two times.

    With repeats on both sides it is the half-width of Welch's confidence interval of the
    difference of means; with repeats on one side the prediction interval of one more run. Without
    any, the spread that a source states for single runs. ``stated`` is a floor under all of them,
    and so is the resolution of the clocks.
    """
    longest = max(base.seconds, new.seconds)
    resolution = max(base.resolution_s + new.resolution_s, _DIGITS * longest)
    found = [Noise(seconds=resolution, source="resolution of the clock")]
    known = _measured(base, new) or _spread(base, new)
    if known is not None:
        found.append(known)
    if stated is not None:
        found.append(Noise(seconds=stated.of(longest), source=f"stated: {stated.words}"))
    if len(found) == 1 and abs(base.seconds - new.seconds) > resolution:
        runs = " and ".join(
            "n not stated" if one.n is None else f"n = {one.n}" for one in (base, new)
        )
        return Noise(seconds=None, source=f"no spread is known ({runs})", resolution_s=resolution)
    widest = max(found, key=lambda one: one.seconds or 0.0)
    return replace(widest, resolution_s=resolution)


def _spread(base: Timing, new: Timing) -> Noise | None:
    """Return the widest spread that a source states for single runs."""
    stated = [(one.spread, one.spread_source) for one in (base, new) if one.spread is not None]
    if not stated:
        return None
    spread, source = max(stated)
    return Noise(seconds=spread * max(base.seconds, new.seconds), source=source)


def _measured(base: Timing, new: Timing) -> Noise | None:
    """Return what repeats say, ``None`` where neither side has two."""
    from scipy.special import stdtrit

    sides = [one.samples for one in (base, new)]
    variances = [statistics.variance(s) / len(s) if len(s) > 1 else None for s in sides]
    quantile = (1 + CONFIDENCE) / 2
    if variances[0] is not None and variances[1] is not None:
        total = variances[0] + variances[1]
        if total == 0:
            return Noise(seconds=0.0, source="repeats that do not differ")
        freedom = total**2 / sum(
            v**2 / (len(s) - 1) for v, s in zip(variances, sides, strict=True) if v is not None
        )
        half = float(stdtrit(freedom, quantile)) * math.sqrt(total)
        return Noise(
            seconds=half,
            source=f"{_OF_REPEATS}, n = {len(sides[0])} and {len(sides[1])}",
        )
    for samples, variance in zip(sides, variances, strict=True):
        if variance is not None:
            n = len(samples)
            half = float(stdtrit(n - 1, quantile)) * math.sqrt(variance * n * (1 + 1 / n))
            return Noise(
                seconds=half,
                source=f"{_OF_REPEATS} on one side, n = {n} and 1",
            )
    return None
