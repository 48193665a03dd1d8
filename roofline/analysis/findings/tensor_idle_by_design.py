"""``tensor-idle-by-design``: no work for the Tensor engine, so its idleness is no fault."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.engines import COMPUTE_ENGINES
from roofline.units import format_percent

__all__: list[str] = []

_NONE = 0.01


@finding("tensor-idle-by-design")
def check(scene: Scene) -> Iterator[Finding]:
    """The Tensor engine does (nearly) nothing while another engine is at work."""
    shares = {name: scene.counters.share(name) for name in COMPUTE_ENGINES}
    if scene.events is not None:
        found, core = scene.events.found, scene.events.core
        shares = {
            name: scene.share(found.busy(name, core, "compute").total / 1e12)
            for name in COMPUTE_ENGINES
        }
    share = shares.pop("tensor")
    others = [value for value in shares.values() if value is not None]
    if share is None or share >= _NONE or max(others, default=0.0) < 10 * _NONE:
        return
    yield Finding(
        id="tensor-idle-by-design",
        what="the Tensor engine has next to no work in this kernel",
        evidence=f"it computes {format_percent(share)} of the window; no matmul is asked of it",
        remedy=(
            "do not read its idleness or a low MFU as a fault; only an algorithm with matmuls "
            "would use it (a sum over partitions, for example, is a matmul with ones)"
        ),
        at_stake_s=0.0,
        confidence="high",
        share=share,
    )
