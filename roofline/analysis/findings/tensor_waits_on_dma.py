"""``tensor-waits-on-dma``: the Tensor engine stands still until data arrives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Events, Scene
from roofline.units import format_percent, format_time

__all__: list[str] = []

_MATTERS = 0.05
_TENSOR_KERNEL = 0.25
"""From counters: a Tensor engine active for less is not what the kernel is about."""

_DMA_BUSY = 0.25


@finding("tensor-waits-on-dma")
def check(scene: Scene) -> Iterator[Finding]:
    """Idle time of the Tensor engine with a DMA queue as its cause."""
    if scene.events is not None and scene.events.idle:
        yield from _seen(scene)
    elif scene.events is None:
        yield from _likely(scene)


def _seen(scene: Scene) -> Iterator[Finding]:
    events = scene.events
    assert events is not None
    waited = events.waited_s("tensor", "dma")
    works = events.found.busy("tensor", events.core, "compute").total
    if not works or scene.share(waited) < _MATTERS:
        return
    path = events.path_s("dma")
    segments = events.idle["tensor"]
    queues = sorted(
        {name for name in segments.cause.tolist() if name.startswith("dma")},
        key=lambda name: -segments.of(name).total,
    )
    yield Finding(
        id="tensor-waits-on-dma",
        what=f"the Tensor engine waits {format_time(waited)} for data",
        evidence=(
            f"mostly for {' and '.join(queues[:2])}; it computes {format_time(works / 1e12)}"
            + (f"; {format_time(path)} of the critical path are DMA" if path is not None else "")
        ),
        remedy=(
            "issue its loads earlier and into a second buffer; split the first load so that the "
            "first matmul can start on a part"
        ),
        at_stake_s=waited if path is None else min(waited, path),
        on_critical_path=path is not None,
        confidence="high",
        share=scene.share(waited),
        table="instructions",
        rows=_longest(events),
    )


def _longest(events: Events) -> tuple[int, ...]:
    """Return rows of the instructions that ended the longest waits for data."""
    segments = events.idle["tensor"]
    mine = np.flatnonzero(
        np.array([cause.startswith("dma") for cause in segments.cause], np.bool_)
        & (segments.row >= 0)
        & (segments.start >= events.found.window.start_ps)
    )
    order = mine[np.argsort(-(segments.end - segments.start)[mine], kind="stable")][:5]
    return tuple(int(row) for row in events.all_lines.row[segments.row[order]])


def _likely(scene: Scene) -> Iterator[Finding]:
    counters = scene.counters
    tensor, dma = counters.share("tensor"), counters.share("dma")
    if tensor is None or dma is None or tensor < _TENSOR_KERNEL or dma < _DMA_BUSY:
        return
    idle = scene.window_s - counters.active_s["tensor"]
    others = [counters.share(name) or 0.0 for name in ("vector", "scalar", "gpsimd")]
    # another engine as busy as DMA is as good an explanation
    if scene.share(idle) < _MATTERS or max(others, default=0.0) >= dma:
        return
    yield Finding(
        id="tensor-waits-on-dma",
        what=(
            f"the Tensor engine is idle for {format_time(idle)} while DMA is busy "
            f"{format_percent(dma)}"
        ),
        evidence=(
            f"Tensor active {format_percent(tensor)}, DMA {format_percent(dma)}, no other engine "
            f"more than {format_percent(max(others, default=0.0))}; counters do not say what it "
            "waited for"
        ),
        remedy="capture events (.ntff) to see which queue; load ahead into a second buffer",
        at_stake_s=min(idle, scene.gain_s("dma", 0.0) or idle),
        confidence="medium",
        share=scene.share(idle),
    )
