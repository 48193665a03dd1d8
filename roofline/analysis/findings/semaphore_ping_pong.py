"""``semaphore-ping-pong``: signals between engines take a large part of the path."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.units import format_time

__all__: list[str] = []

_MATTERS = 0.10
_MANY = 10


@finding("semaphore-ping-pong")
def check(scene: Scene) -> Iterator[Finding]:
    """Hops on the critical path: a signal, and the start of what waited for it."""
    events = scene.events
    if events is None or not events.path:
        return
    hops = [one for one in events.path if one.kind == "hop"]
    seconds = sum(one.end - one.start for one in hops) / 1e12
    if len(hops) < _MANY or scene.share(seconds) < _MATTERS:
        return
    pairs: dict[str, int] = {}
    for one in hops:
        pairs[one.resource] = pairs.get(one.resource, 0) + 1
    most = sorted(pairs, key=lambda name: -pairs[name])[:2]
    yield Finding(
        id="semaphore-ping-pong",
        what=f"{len(hops)} hops between engines take {format_time(seconds)} of the critical path",
        evidence=f"{format_time(seconds / len(hops))} each, most of them into {' and '.join(most)}",
        remedy=(
            "larger tiles between two engines, or both steps on one engine, so that there are "
            "fewer hand-overs"
        ),
        at_stake_s=seconds,
        on_critical_path=True,
        confidence="high",
        share=scene.share(seconds),
    )
