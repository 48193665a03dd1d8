"""``tensor-transposes``: the Tensor engine spends its time on transposes."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.units import format_percent, format_time

__all__: list[str] = []

_MARK = 0.10
"""The vendor's mark: transposes over a tenth of the executed FLOP."""

_MATTERS = 0.02


@finding("tensor-transposes")
def check(scene: Scene) -> Iterator[Finding]:
    """Transposes as a share of the executed Tensor work, from events or from counters."""
    ideal, useful, path = None, None, None
    if scene.events is not None:
        busy = scene.events.busy["tensor"]
        ideal, useful = busy.ideal, busy.useful
        path = scene.events.path_s("tensor", "compute")
    elif scene.counters.flops and scene.counters.transpose_flops is not None:
        peak = scene.hardware.tensor_peak("bf16").value
        ideal = scene.counters.flops / peak
        useful = (scene.counters.flops - scene.counters.transpose_flops) / peak
    if not ideal or useful is None or ideal - useful < _MARK * ideal:
        return
    spent = ideal - useful
    busy_s = scene.counters.active_s.get("tensor")
    # transposes take their share of the busy time too, not only of the ideal one
    takes = spent if busy_s is None else busy_s * spent / ideal
    if scene.share(takes) < _MATTERS:
        return
    yield Finding(
        id="tensor-transposes",
        what=f"transposes are {format_percent(spent / ideal)} of what the Tensor engine executes",
        evidence=(
            f"at the full rate they take {format_time(spent)} of {format_time(ideal)}, of its busy "
            f"time about {format_time(takes)}"
        ),
        remedy=(
            "choose the layout in which an operand is already stationary, transpose while loading "
            "(DMA transpose), or swap the operands of the matmul"
        ),
        at_stake_s=takes if path is None else min(takes, path),
        on_critical_path=path is not None,
        confidence="high",
        share=scene.share(takes),
    )
