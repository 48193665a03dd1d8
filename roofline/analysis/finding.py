"""Finding: one ranked observation, with its evidence and what to try."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roofline.errors import QueryError

__all__ = ["CONFIDENCES", "Finding", "rank", "rank_by_share"]

CONFIDENCES: Final = ("high", "medium", "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observation about an execution or a study.

    ``at_stake_s`` is the time in s that could be won, an upper limit unless ``on_critical_path``
    says that a critical path shows it; ``None`` where it is not known. ``subject`` names the
    variant, kernel or capture it is about; ``confidence`` is one of ``CONFIDENCES``. ``share`` is
    the part of the window its subject takes, whatever of it can be won; ``rows`` are rows of the
    capture's table ``table`` that show it, the most telling first.
    """

    id: str
    what: str
    evidence: str
    remedy: str = ""
    subject: str = ""
    at_stake_s: float | None = None
    on_critical_path: bool = False
    confidence: str = "high"
    share: float | None = None
    table: str = ""
    rows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.confidence not in CONFIDENCES:
            raise QueryError(
                f"unknown confidence {self.confidence!r}; known: {', '.join(CONFIDENCES)}"
            )
        if self.at_stake_s is not None and not (
            math.isfinite(self.at_stake_s) and self.at_stake_s >= 0
        ):
            raise QueryError(f"finding {self.id}: {self.at_stake_s} s are no time at stake")


def rank(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by time at stake, the largest first; those of unknown time come last."""
    return tuple(
        sorted(
            findings,
            key=lambda one: (
                one.at_stake_s is None,
                -(one.at_stake_s or 0.0),
                CONFIDENCES.index(one.confidence),
            ),
        )
    )


def rank_by_share(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by their share of the window, the largest first: where time goes.

    Not the same as where it can be won: see ``rank``.
    """
    return tuple(sorted(findings, key=lambda one: (one.share is None, -(one.share or 0.0), one.id)))
