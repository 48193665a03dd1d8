"""``serialization``: two engines take turns instead of working side by side."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.engines import COMPUTE_ENGINES
from roofline.units import format_time

__all__: list[str] = []

_MATTERS = 0.10
_SIDE_BY_SIDE = 0.5


@finding("serialization")
def check(scene: Scene) -> Iterator[Finding]:
    """Pairs of engines that wait for each other and seldom work at the same time."""
    events = scene.events
    if events is None or not events.idle:
        return
    found = []
    for one, other in combinations(COMPUTE_ENGINES, 2):
        there, back = events.waited_s(one, other), events.waited_s(other, one)
        mine = events.found.busy(one, events.core, "compute")
        theirs = events.found.busy(other, events.core, "compute")
        shorter = min(mine.total, theirs.total) / 1e12
        both = mine.intersect(theirs).total / 1e12
        # both directions: a pipeline that only waits one way overlaps when it is full
        if scene.share(min(there, back)) < _MATTERS / 2 or scene.share(shorter) < _MATTERS / 2:
            continue
        if both >= _SIDE_BY_SIDE * shorter:
            continue
        found.append((min(there, back), one, other, there, back, both, shorter))
    if not found:
        return
    _, one, other, there, back, both, shorter = max(found)
    yield Finding(
        id="serialization",
        what=f"{one} and {other} take turns: they wait for each other and overlap little",
        evidence=(
            f"{one} waits {format_time(there)} for {other}, {other} waits {format_time(back)} for "
            f"{one}; both compute at once for {format_time(both)} of {format_time(shorter)}"
        ),
        remedy=(
            "work on two tiles at once, so that one engine has the second while the other has the "
            "first; use separate PSUM banks and buffers so that neither has to wait for a free one"
        ),
        at_stake_s=shorter - both,
        confidence="medium",
        share=scene.share(min(there, back)),
    )
