"""What a comparison says: quantities, kernels and runs on two sides, with the outcome of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roofline.analysis.explain import Term
from roofline.analysis.noise import NOT_KNOWN, Noise
from roofline.analysis.observed import Observed, Run
from roofline.units import format_number, format_time

__all__ = ["OUTCOMES", "Comparison", "Delta", "Pair", "Versus"]

OUTCOMES: Final = (
    "slower",
    "faster",
    "unproven",
    "below-noise",
    "same",
    "refused",
    "unknown",
    "gone",
    "new",
)
"""What a pair comes to. ``unproven``: a difference whose noise nobody knows; ``refused``: two
times that must not be compared; ``unknown``: a time is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One quantity on both sides in the SI base ``unit``; ``None`` is not known."""

    id: str
    label: str
    unit: str
    base: float | None
    new: float | None

    @property
    def change(self) -> float | None:
        """New less base."""
        return None if self.base is None or self.new is None else self.new - self.base

    @property
    def relative(self) -> float | None:
        """Change over base; ``None`` where base is zero or unknown."""
        return None if self.change is None or not self.base else self.change / self.base


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One kernel on both sides, or on one where it appeared or vanished.

    ``refused`` says why the times must not be compared. ``impossible`` lists times that are
    faster than their bound, as (``base`` or ``new``, what). ``findings_gone`` and
    ``findings_new`` hold (id, what); ``None`` where one side was not searched.
    """

    key: str
    base: Observed | None
    new: Observed | None
    clock: str = ""
    base_s: float | None = None
    new_s: float | None = None
    refused: str = ""
    noise: Noise = NOT_KNOWN
    deltas: tuple[Delta, ...] = ()
    terms: tuple[Term, ...] = ()
    findings_gone: tuple[tuple[str, str], ...] | None = None
    findings_new: tuple[tuple[str, str], ...] | None = None
    impossible: tuple[tuple[str, str], ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def change_s(self) -> float | None:
        """New less base in s; ``None`` where they cannot be compared."""
        if self.refused or self.base_s is None or self.new_s is None:
            return None
        return self.new_s - self.base_s

    @property
    def ratio(self) -> float | None:
        """Base over new: above 1 the new one is faster."""
        return None if self.change_s is None or not self.new_s else (self.base_s or 0) / self.new_s

    @property
    def outcome(self) -> str:
        """One of ``OUTCOMES``."""
        if self.base is None or self.new is None:
            return "new" if self.base is None else "gone"
        if self.refused:
            return "refused"
        change = self.change_s
        if change is None:
            return "unknown"
        if abs(change) <= self.noise.resolution_s:
            return "same"
        if self.noise.seconds is None:
            return "unproven"
        if abs(change) <= self.noise.seconds:
            return "below-noise"
        return "faster" if change < 0 else "slower"

    @property
    def findings_kept(self) -> tuple[tuple[str, str, str], ...] | None:
        """Findings of both sides as (id, what in the base, what in the other)."""
        if self.base is None or self.new is None:
            return None
        left, right = self.base.findings, self.new.findings
        if left is None or right is None:
            return None
        return tuple((k, what, right[k]) for k, what in left.items() if k in right)

    @property
    def verdict_changed(self) -> bool:
        """Whether both sides have a verdict and they differ; ``unknown`` is none."""
        if self.base is None or self.new is None:
            return False
        verdicts = self.base.verdict, self.new.verdict
        return not {"", "unknown"} & {*verdicts} and verdicts[0] != verdicts[1]

    def delta(self, id: str) -> Delta | None:
        """Return the delta of a quantity, ``None`` where neither side knows it."""
        return next((one for one in self.deltas if one.id == id), None)

    @property
    def size(self) -> str:
        """How much faster or slower the new one is, empty where that is not known."""
        if self.change_s is None or not self.ratio:
            return ""
        if self.change_s < 0:
            return f"{format_number(self.ratio)}x faster"
        return f"{format_number(1 / self.ratio)}x slower"

    @property
    def words(self) -> str:
        """The outcome in words, with the direction named."""
        if self.outcome in ("gone", "new"):
            return "gone: only in the base" if self.outcome == "gone" else "new: not in the base"
        if self.refused:
            return f"not compared: {self.refused}"
        if self.change_s is None or self.ratio is None:
            return "a time is missing"
        if self.change_s == 0 or self.outcome == "same":
            return "the same"
        size = self.size
        if self.outcome == "below-noise":
            return f"{size}, which is below the noise of {format_time(self.noise.seconds)}"
        if self.outcome == "unproven":
            return f"{size}; {self.noise.source}"
        return size


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """All pairs of one run against the base."""

    run: Run
    pairs: tuple[Pair, ...]

    def of(self, *outcomes: str) -> tuple[Pair, ...]:
        """Return the pairs with one of some outcomes."""
        return tuple(pair for pair in self.pairs if pair.outcome in outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A base run and what changed in each of the others."""

    base: Run
    versus: tuple[Versus, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every pair of every run."""
        return tuple(pair for one in self.versus for pair in one.pairs)
