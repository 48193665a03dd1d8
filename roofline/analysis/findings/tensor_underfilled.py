"""``tensor-underfilled``: matmuls leave rows or columns of the array idle, or are too short."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.units import format_percent, format_time

__all__: list[str] = []

_FULL = 0.8
_MATTERS = 0.05
_SHORT_COLUMNS = 128
"""A weight load hides behind a matmul of at least 128 moving columns (traces of trn2)."""


@finding("tensor-underfilled")
def check(scene: Scene) -> Iterator[Finding]:
    """Array idle while it streams (K, M under 128), and matmuls too short to hide weight loads."""
    events = scene.events
    if events is None or events.operands is None:
        return
    busy = events.busy["tensor"]
    if busy.streamed is None or busy.ideal is None or not busy.actual:
        return
    lines, operands = events.lines, events.operands
    rows = np.flatnonzero(np.isfinite(events.work.filled_cycles))
    if not len(rows):
        return
    k, m, n = (operands.integers(name)[lines.row[rows]] for name in ("rows", "columns", "elements"))
    idle = busy.streamed - busy.ideal
    short = float(np.mean(n < _SHORT_COLUMNS))
    waste = busy.actual - busy.streamed
    if busy.ideal < _FULL * busy.streamed and scene.share(idle) >= _MATTERS:
        filled = format_percent(busy.ideal / busy.streamed)
        what = f"matmuls fill {filled} of the array while they stream"
        at_stake = idle
    elif short >= 0.5 and waste > busy.streamed and scene.share(waste) >= _MATTERS:
        what = (
            f"{format_percent(short)} of the matmuls have fewer than {_SHORT_COLUMNS} moving "
            "columns: weight loads do not hide behind them"
        )
        at_stake = waste
    else:
        return
    path = events.path_s("tensor", "compute", "weight_load")
    yield Finding(
        id="tensor-underfilled",
        what=what,
        evidence=(
            f"{len(rows)} matmuls, K x M x N in the middle {int(np.median(k))} x "
            f"{int(np.median(m))} x {int(np.median(n))} against 128 x 128 x 512; busy "
            f"{format_time(busy.actual)}, streaming {format_time(busy.streamed)}, "
            f"with a full array {format_time(busy.ideal)}"
        ),
        remedy=(
            "K and M cost the same whether full or not: put 128 of the contraction and 128 of the "
            "stationary side into each matmul, and up to 512 moving columns"
        ),
        at_stake_s=at_stake if path is None else min(at_stake, path),
        on_critical_path=path is not None,
        confidence="high",
        share=scene.share(busy.actual),
        table="instructions",
        rows=events.rows(rows),
    )
