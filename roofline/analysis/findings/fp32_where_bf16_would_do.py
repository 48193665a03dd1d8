"""``fp32-where-bf16-would-do``: matmuls multiply fp32 at a quarter of the rate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.units import format_time

__all__: list[str] = []

_MATTERS = 0.02


@finding("fp32-where-bf16-would-do")
def check(scene: Scene) -> Iterator[Finding]:
    """Matmuls of fp32 operands: two passes of two cycles a column, a quarter of the bf16 rate."""
    events = scene.events
    if events is None or events.operands is None:
        return
    lines = events.lines
    wide = np.isfinite(events.work.filled_cycles) & (
        events.operands.names("dtype_in")[lines.row] == "fp32"
    )
    rows = np.flatnonzero(wide)
    clock = scene.hardware.clock_hz("tensor")
    spent = float(events.work.cycles[rows].sum()) / clock
    slower = scene.hardware.tensor_peak("bf16").value / scene.hardware.tensor_peak("fp32").value
    # a transpose takes one pass: half of what a multiplication loses
    if scene.share(spent) < _MATTERS:
        return
    multiplies = rows[~_transposes(scene, rows)]
    takes = float(events.work.cycles[multiplies].sum()) / clock
    won = takes * (1 - 1 / slower) + (spent - takes) * 0.5
    path = events.path_s("tensor", "compute")
    yield Finding(
        id="fp32-where-bf16-would-do",
        what=f"{len(rows)} Tensor instructions work on fp32, {slower:.0f} times slower than bf16",
        evidence=(
            f"they stream {format_time(spent)}, {format_time(takes)} of it multiplications; in "
            f"bf16 {format_time(spent - won)}"
        ),
        remedy=(
            "cast the operands to bf16 (PSUM still accumulates in fp32) or use fp32r where the "
            "accuracy allows; softmax statistics can stay in fp32 on Vector and Scalar"
        ),
        at_stake_s=won if path is None else min(won, path),
        on_critical_path=path is not None,
        confidence="medium",
        share=scene.share(spent),
        table="instructions",
        rows=events.rows(rows),
    )


def _transposes(scene: Scene, rows: np.ndarray) -> np.ndarray:
    from roofline.analysis.columns import codes, has

    events = scene.events
    assert events is not None
    table = events.capture.instructions
    if not has(table, "tensor_instruction_type"):
        return np.zeros(len(rows), np.bool_)
    kind, names = codes(table, "tensor_instruction_type")
    at = names.index("TRANSPOSE") if "TRANSPOSE" in names else -2
    return np.asarray(kind[events.lines.row[rows]] == at)
