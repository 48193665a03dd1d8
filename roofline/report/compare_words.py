"""A comparison in sentences: what got faster or slower by how much, and what is only noise."""

from __future__ import annotations

from collections import Counter

from roofline.analysis.comparison import Pair, Versus
from roofline.analysis.explain import signed_time
from roofline.clocks import clock_label
from roofline.plots.labels import shorten
from roofline.units import format_percent, format_time

__all__ = ["ORDER", "headline", "pair_words", "weight"]

ORDER = (
    "slower",
    "faster",
    "unproven",
    "refused",
    "gone",
    "new",
    "unknown",
    "below-noise",
    "same",
)
"""Outcomes, worst first."""

_SAID = {
    "slower": "slower",
    "faster": "faster",
    "unproven": "changed by an unproven amount",
    "refused": "not compared",
    "gone": "gone",
    "new": "new",
    "unknown": "without a time",
    "below-noise": "below the noise",
    "same": "the same",
}
_LETTERS = 60  # of a name in a sentence


def weight(pair: Pair) -> tuple[float, int]:
    """Order pairs by how much time they change; what has no change comes behind."""
    return -abs(pair.change_s or 0.0), ORDER.index(pair.outcome)


def headline(versus: Versus) -> str:
    """Return one sentence on a run against its base, with directions and noise named."""
    if len(versus.pairs) == 1:
        return pair_words(versus.pairs[0])
    counts = Counter(pair.outcome for pair in versus.pairs)
    said = ", ".join(f"{counts[one]} {_SAID[one]}" for one in ORDER if counts[one])
    text = f"{versus.run.label}: of {len(versus.pairs)} kernels {said}."
    for outcomes, faster, title in (
        (("slower", "unproven"), False, "Most slower"),
        (("faster", "unproven"), True, "Most faster"),
    ):
        moved = [p for p in versus.of(*outcomes) if ((p.change_s or 0.0) < 0) == faster]
        if moved:
            text += f" {title}: {_short_words(max(moved, key=lambda p: abs(p.change_s or 0.0)))}."
    changed = sum(pair.verdict_changed for pair in versus.pairs)
    return f"{text} {changed} with another verdict." if changed else text


def _short_words(pair: Pair) -> str:
    times = f"{format_time(pair.base_s)} -> {format_time(pair.new_s)}"
    return f"{shorten(pair.key, _LETTERS)}, {pair.size}, {times}"


def pair_words(pair: Pair) -> str:
    """Return what happened to a pair in one sentence."""
    if pair.change_s is None or pair.base_s is None:
        return f"{pair.key}: {pair.words}."
    share = format_percent(pair.change_s / pair.base_s, signed=True)
    return (
        f"{pair.key}: {pair.words}. {format_time(pair.base_s)} -> {format_time(pair.new_s)} "
        f"({signed_time(pair.change_s)}, {share}) on the clock {clock_label(pair.clock)}."
    )
