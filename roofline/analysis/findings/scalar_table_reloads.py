"""``scalar-table-reloads``: the Scalar engine loads function tables again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.analysis.timeline import KINDS
from roofline.units import format_time

__all__: list[str] = []

_MATTERS = 0.02


@finding("scalar-table-reloads")
def check(scene: Scene) -> Iterator[Finding]:
    """Table loads beyond the first: two functions of different tables take turns."""
    events = scene.events
    if events is None:
        return
    lines = events.lines
    rows = np.flatnonzero(lines.kind == KINDS.index("table_load"))
    if len(rows) < 2:
        return
    first = rows[np.argmin(lines.start[rows])]
    again = rows[rows != first]
    spent = int((lines.end - lines.start)[again].sum()) / 1e12
    if scene.share(spent) < _MATTERS:
        return
    path = events.path_s("scalar", "table_load")
    yield Finding(
        id="scalar-table-reloads",
        what=f"{len(rows)} function tables are loaded, {format_time(spent)} after the first",
        evidence=f"each takes about {format_time(spent / len(again))}",
        remedy=(
            "group activations by function, or take functions of one table; move one of two "
            "alternating functions to Vector or GpSimd"
        ),
        at_stake_s=spent if path is None else min(spent, path),
        on_critical_path=path is not None,
        confidence="high",
        share=scene.share(spent),
        table="instructions",
        rows=events.rows(again),
    )
