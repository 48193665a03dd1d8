"""``dma-small-transfers``: the DMA path is busy below the rate large transfers reach."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.analysis.from_capture import weighted_median
from roofline.analysis.marks import PRESETS
from roofline.units import format_percent, format_si, format_time

__all__: list[str] = []

_FULL = 0.6
"""Share of the sustained rate while busy above which transfers are large enough (the vendor's mark
for memory-bound kernels)."""

_MATTERS = 0.10
"""Share of the window the slow part has to take to be worth a line."""

_RECOMMENDED_BYTES = PRESETS["vendor"].partition_bytes
_FIXED_COST_BYTES = 512
"""Size of a packet below which its fixed cost rules."""


@finding("dma-small-transfers")
def check(scene: Scene) -> Iterator[Finding]:
    """Busy time of DMA beyond what the same bytes take in large transfers."""
    counters = scene.counters
    busy, moved = counters.active_s.get("dma"), counters.moved_bytes
    if not busy or not moved:
        return
    sustained = [
        roof.value / scene.hardware.working_cores
        for roof in scene.hardware.memory_roofs("sustained")
        if roof.resource == "dma" and not roof.direction
    ]
    reachable = sustained[0] if sustained else scene.dma_rate
    rate = moved / busy
    lost = busy - moved / reachable
    if rate >= _FULL * reachable or scene.share(lost) < _MATTERS:
        return
    size, small = _sizes(scene)
    at_stake, on_path = scene.gain_s("dma", moved / reachable), False
    if scene.events is not None:
        path = scene.events.path_s("dma", "dma_transfer", "dma_latency", "dma_completion")
        if path is not None:
            at_stake, on_path = min(lost, path), True
    confidence = "high" if small else "medium"
    yield Finding(
        id="dma-small-transfers",
        what=(
            f"DMA is busy {format_time(busy)} at {format_si(rate, 'B/s')}, "
            f"{format_percent(rate / reachable)} of the {format_si(reachable, 'B/s')} one core "
            "sustains"
        ),
        evidence=size
        or f"{format_si(moved, 'B')} moved; the sizes of transfers are not in this capture",
        remedy=(
            "move at least 2 KiB, better 4 KiB, of contiguous bytes per partition and all 128 "
            "partitions in one transfer; load a larger tile once and slice it in SBUF"
        ),
        at_stake_s=at_stake,
        on_critical_path=on_path,
        confidence=confidence,
        share=scene.share(busy),
        table="instructions" if scene.events else "",
        rows=_rows(scene),
    )


def _sizes(scene: Scene) -> tuple[str, bool]:
    """Return what events tell of the sizes of transfers, and whether it shows small ones."""
    events = scene.events
    if events is None or events.found.dma is None or not len(events.packets):
        return "", False
    text, shown = [], False
    if events.operands is not None:
        element = events.operands.integers("dma_element")[events.lines.row]
        size = events.operands.integers("dma_bytes")[events.lines.row]
        known = (element > 0) & (size > 0)
        middle = weighted_median(element[known], size[known])
        if middle is not None:
            small = float(size[known & (element < _RECOMMENDED_BYTES)].sum() / size[known].sum())
            text.append(
                f"half of the bytes move in {format_si(middle, 'B')} or less a partition, "
                f"{format_percent(small)} in less than the recommended 2 KiB: small"
            )
            shown = True
    sizes = events.found.dma.size[events.packets]
    text.append(f"{len(sizes)} packets of {format_si(float(np.median(sizes)), 'B')} (median)")
    if float(np.median(sizes)) < _FIXED_COST_BYTES:
        shown = True
        text.append("below 512 B the fixed cost of a packet rules: small")
    return "; ".join(text), shown


def _rows(scene: Scene) -> tuple[int, ...]:
    events = scene.events
    if events is None or events.operands is None:
        return ()
    element = events.operands.integers("dma_element")[events.lines.row]
    chosen = np.flatnonzero((element > 0) & (element < _RECOMMENDED_BYTES))
    return tuple(int(row) for row in events.lines.row[chosen][:5])
