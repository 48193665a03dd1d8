"""``spills``: intermediates go to HBM and come back."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.units import format_percent, format_si, format_time

__all__: list[str] = []

_MATTERS = 0.05


@finding("spills")
def check(scene: Scene) -> Iterator[Finding]:
    """Bytes written beyond the outputs, and read back: SBUF was too small, or nothing fused."""
    counters = scene.counters
    written, needed = counters.hbm_write_bytes, counters.necessary_bytes
    spilled, how = counters.spill_bytes or 0.0, "reloaded, by the compiler's own count"
    if written is not None and needed:
        outputs = needed if counters.input_bytes is None else needed - counters.input_bytes
        beyond = max(0.0, written - outputs)
        if beyond > spilled:
            spilled = beyond
            how = f"written beyond {format_si(outputs, 'B')} of " + (
                "outputs" if counters.input_bytes is not None else "inputs and outputs together"
            )
    total = (counters.hbm_read_bytes or 0.0) + (written or 0.0)
    if not spilled or not total or 2 * spilled < _MATTERS * total:
        return
    cost = 2 * spilled / scene.dma_rate
    at_stake, on_path, pace = cost, False, ""
    busy = counters.active_s.get("dma")
    if busy is not None:
        share = min(1.0, 2 * spilled / total)
        pace = f", at the pace of this run's DMA {format_time(busy * share)}"
        at_stake = scene.gain_s("dma", busy * (1 - share))
        if scene.events is not None:
            path = scene.events.path_s("dma")
            if path is not None:
                at_stake, on_path = min(busy, path) * share, True
    yield Finding(
        id="spills",
        what=(
            f"{format_si(spilled, 'B')} of intermediates go to HBM and come back, "
            f"{format_percent(min(1.0, 2 * spilled / total))} of all HBM traffic"
        ),
        evidence=(
            f"{format_si(written or 0.0, 'B')} written: {format_si(spilled, 'B')} {how}; both ways "
            f"at the full rate that is {format_time(cost)}{pace}"
        ),
        remedy=(
            "fuse the steps so that the intermediate stays in SBUF, or shrink the tile until it "
            "fits; between separate kernels every result crosses HBM"
        ),
        at_stake_s=at_stake,
        on_critical_path=on_path,
        confidence="high",
        share=scene.share(busy * min(1.0, 2 * spilled / total) if busy else cost),
    )
