"""``dma-queue-imbalance``: a few DMA engines carry most of the bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.units import format_si

__all__: list[str] = []

_EVEN = 0.6
_MATTERS = 0.10


@finding("dma-queue-imbalance")
def check(scene: Scene) -> Iterator[Finding]:
    """Bytes of the busiest DMA engine against an even spread over all of them."""
    events = scene.events
    if events is None or events.found.dma is None or not len(events.packets):
        return
    dma, rows = events.found.dma, events.packets
    if np.any(dma.engine[rows] < 0):
        return
    available = int(scene.hardware.value("dma.engines_count").value)
    _, place = np.unique(dma.engine[rows], return_inverse=True)
    size = np.zeros(place.max() + 1)
    np.add.at(size, place, dma.size[rows])
    even = float(size.sum()) / available
    spread = even / float(size.max())
    busy = scene.counters.active_s.get("dma", 0.0)
    if spread >= _EVEN or scene.share(busy) < _MATTERS:
        return
    won = busy * (1 - spread)
    path = events.path_s("dma", "dma_transfer")
    yield Finding(
        id="dma-queue-imbalance",
        what=(
            f"{len(size)} of {available} DMA engines are used, the busiest carries "
            f"{1 / spread:.1f} times an even share"
        ),
        evidence=(
            f"the busiest carries {format_si(float(size.max()), 'B')}, an even share is "
            f"{format_si(even, 'B')}"
        ),
        remedy=(
            "transfers of 128 partitions spread over all DMA engines; split transfers of few "
            "partitions, or issue several at once from different queues"
        ),
        at_stake_s=won if path is None else min(won, path),
        on_critical_path=path is not None,
        confidence="medium",
        share=scene.share(busy),
    )
