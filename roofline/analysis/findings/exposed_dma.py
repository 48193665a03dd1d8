"""``exposed-dma``: data moves while no engine computes."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.engines import COMPUTE_ENGINES
from roofline.intervals import EMPTY
from roofline.units import format_time

__all__: list[str] = []

_MATTERS = 0.10


@finding("exposed-dma")
def check(scene: Scene) -> Iterator[Finding]:
    """Time with a packet in flight and no engine in compute."""
    events = scene.events
    if events is None or events.found.dma is None:
        return
    found, core = events.found, events.core
    moving = found.transfers(core)
    working = EMPTY.union(*(found.busy(name, core, "compute") for name in COMPUTE_ENGINES))
    exposed = moving.subtract(working)
    seconds = exposed.total / 1e12
    if scene.share(seconds) < _MATTERS:
        return
    path = events.path_s("dma")
    hidden = moving.intersect(working).total / 1e12
    longest = max(exposed, key=lambda span: span[1] - span[0])
    yield Finding(
        id="exposed-dma",
        what=(
            f"{format_time(seconds)} of {format_time(moving.total / 1e12)} of DMA are exposed: no "
            "engine computes meanwhile"
        ),
        evidence=(
            f"{format_time(hidden)} are hidden; the longest exposed stretch is "
            f"{format_time((longest[1] - longest[0]) / 1e12)} at {format_time(longest[0] / 1e12)}"
            + (f"; {format_time(path)} of the critical path are DMA" if path is not None else "")
        ),
        remedy=(
            "load the next tile while this one is computed: two buffers per operand, transfers "
            "issued ahead of the wait, stores behind the next loads"
        ),
        at_stake_s=seconds if path is None else min(seconds, path),
        on_critical_path=path is not None,
        confidence="high" if path is not None else "medium",
        share=scene.share(seconds),
    )
