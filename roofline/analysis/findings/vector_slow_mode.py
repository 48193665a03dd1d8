"""``vector-slow-mode``: Vector runs one element a cycle where its layout could allow more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.analysis.ideal import operation_of
from roofline.units import format_percent, format_time

__all__: list[str] = []

_MATTERS = 0.05


@finding("vector-slow-mode")
def check(scene: Scene) -> Iterator[Finding]:
    """Vector time beyond the best mode the same instructions have with 16-bit data in SBUF."""
    events = scene.events
    if events is None or events.operands is None:
        return
    lines, work, clock = events.lines, events.work, scene.hardware.clock_hz("vector")
    vector = np.isfinite(work.mode) & (lines.engine == lines.engines.index("vector"))
    rows = np.flatnonzero(vector)
    if not len(rows):
        return
    best = np.array([_best_mode(scene, name) for name in lines.opcodes])[lines.opcode[rows]]
    slow = rows[work.mode[rows] < best]
    ratio = work.mode[slow] / best[work.mode[rows] < best]
    won = float((work.cycles[slow] * (1 - ratio)).sum()) / clock
    if scene.share(won) < _MATTERS:
        return
    reasons = _reasons(scene, slow)
    path = events.path_s("vector", "compute")
    yield Finding(
        id="vector-slow-mode",
        what=(
            f"{len(slow)} of {len(rows)} Vector instructions run below the fastest mode of their "
            "kind"
        ),
        evidence=f"because of {reasons}; in the fastest mode they need {format_time(won)} less",
        remedy=(
            "bf16 or fp16 operands, contiguous and in SBUF, run 2 or 4 elements a cycle; read PSUM "
            "once, on the Scalar engine where it has time, and keep the copy for what follows"
        ),
        at_stake_s=won if path is None else min(won, path),
        on_critical_path=path is not None,
        confidence="medium",
        share=scene.share(float(work.cycles[slow].sum()) / clock),
        table="instructions",
        rows=events.rows(slow),
    )


def _best_mode(scene: Scene, opcode: str) -> float:
    from roofline.errors import HardwareModelError

    try:
        rule = scene.hardware.element_mode(
            "vector",
            operation_of(opcode),
            "bf16",
            operands="sbuf",
            contiguous=True,
            broadcast=False,
        )
    except HardwareModelError:
        return 1.0
    return rule.elements_per_lane_per_cycle


def _reasons(scene: Scene, rows: np.ndarray) -> str:
    events = scene.events
    assert events is not None
    assert events.operands is not None
    table, operands = events.lines.row[rows], events.operands
    weight = events.work.cycles[rows]
    wide = np.array(
        [any(name not in ("bf16", "fp16") for name in one.dtypes) for one in operands.parsed]
    )[operands.code[table]]
    found = {
        "operands wider than 16 bit": wide,
        "an operand in PSUM": operands.integers("psum_operands")[table] > 0,
        "strided access": ~operands.flags("contiguous")[table],
        "a broadcast input": operands.flags("broadcast")[table],
    }
    shares = {
        name: float(weight[mask].sum() / weight.sum()) for name, mask in found.items() if mask.any()
    }
    order = sorted(shares, key=lambda name: -shares[name])
    return (
        ", ".join(f"{name} ({format_percent(shares[name])} of their time)" for name in order)
        or "their kind"
    )
