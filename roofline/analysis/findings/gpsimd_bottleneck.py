"""``gpsimd-bottleneck``: the slowest general engine sets the pace."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.units import format_percent, format_time

__all__: list[str] = []

_MATTERS = 0.5


@finding("gpsimd-bottleneck")
def check(scene: Scene) -> Iterator[Finding]:
    """GpSimd is the busiest resource and busy for at least half of the window."""
    counters = scene.counters
    share = counters.share("gpsimd")
    if share is None or share < _MATTERS or scene.busiest != "gpsimd":
        return
    busy = counters.active_s["gpsimd"]
    path = scene.events.path_s("gpsimd", "compute") if scene.events is not None else None
    gain = scene.gain_s("gpsimd", 0.0)
    yield Finding(
        id="gpsimd-bottleneck",
        what=f"GpSimd is the busiest resource, active {format_percent(share)} of the window",
        evidence=f"{format_time(busy)} active, more than any other engine and DMA",
        remedy=(
            "move elementwise work to Vector or Scalar, which take the same instructions; keep "
            "GpSimd for gather, scatter and custom operators"
        ),
        at_stake_s=gain if path is None else min(gain, path),
        on_critical_path=path is not None,
        confidence="medium",
        share=share,
    )
