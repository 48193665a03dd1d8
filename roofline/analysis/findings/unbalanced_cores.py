"""``unbalanced-cores``: the physical cores of the logical core do unequal work."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.engines import COMPUTE_ENGINES
from roofline.units import format_percent, format_time

__all__: list[str] = []

_EQUAL = 0.5


@finding("unbalanced-cores")
def check(scene: Scene) -> Iterator[Finding]:
    """Compute and packet time of the least against the most loaded core."""
    events = scene.events
    if events is None or len(events.found.cores) < 2:
        return
    found = events.found
    work = {
        core: sum(found.busy(name, core, "compute").total for name in COMPUTE_ENGINES)
        for core in found.cores
    }
    most, least = max(work.values()), min(work.values())
    if not most or least >= _EQUAL * most:
        return
    idle = [core for core, value in work.items() if value < _EQUAL * most]
    named = ", ".join(map(str, idle))
    # what two cores can share is work; latencies and hand-overs stay
    shared = [events.path_s(name, "compute", "dma_transfer") for name in (*COMPUTE_ENGINES, "dma")]
    could = sum(one or 0.0 for one in shared) or scene.window_s
    yield Finding(
        id="unbalanced-cores",
        what=(
            f"core {named} of {len(work)} does "
            + (
                "no work"
                if not any(work[core] for core in idle)
                else f"{format_percent(least / most)} of the most loaded core's work"
            )
        ),
        evidence=", ".join(
            f"core {core}: {format_time(value / 1e12)} of compute" for core, value in work.items()
        )
        + ", summed over engines",
        remedy=(
            "launch the kernel on both cores of the logical core (an SPMD grid of 2) and split the "
            "outermost independent dimension; a merged summary hides this"
        ),
        at_stake_s=could * (1 - (sum(work.values()) / len(work)) / most),
        confidence="low",
        share=None,
    )
