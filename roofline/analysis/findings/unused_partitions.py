"""``unused-partitions``: instructions run on fewer than 128 lanes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.analysis.timeline import KINDS
from roofline.engines import ELEMENT_ENGINES, VENDOR_NAMES
from roofline.units import format_percent

__all__: list[str] = []

_MATTERS = 0.05
_USED = 0.9


@finding("unused-partitions")
def check(scene: Scene) -> Iterator[Finding]:
    """Time of element engines times the share of lanes that had no element."""
    events = scene.events
    if events is None or events.operands is None:
        return
    lines = events.lines
    lanes = scene.hardware.value("engines.vector.lanes_count").value
    partitions = events.operands.integers("partitions")[lines.row]
    for engine in ELEMENT_ENGINES:
        rows = np.flatnonzero(
            (lines.engine == lines.engines.index(engine))
            & (lines.kind == KINDS.index("compute"))
            & (partitions > 0)
        )
        lasts = (lines.end - lines.start)[rows] / 1e12
        idle = lasts * (1 - np.minimum(partitions[rows], lanes) / lanes)
        if not len(rows) or scene.share(float(idle.sum())) < _MATTERS:
            continue
        used = 1 - float(idle.sum() / lasts.sum())
        if used >= _USED:
            continue
        path = events.path_s(engine, "compute")
        lost = float(idle.sum())
        yield Finding(
            id="unused-partitions",
            what=f"{VENDOR_NAMES[engine]} uses {format_percent(used)} of its {lanes:.0f} lanes",
            evidence=(
                f"{int(np.sum(partitions[rows] < lanes))} of {len(rows)} instructions run on fewer "
                f"partitions, {int(np.median(partitions[rows]))} in the middle"
            ),
            remedy=(
                "an instruction takes as long for 1 partition as for 128: put the large dimension "
                "on partitions, fold a short one into the free dimension"
            ),
            at_stake_s=lost if path is None else min(lost, path),
            on_critical_path=path is not None,
            confidence="high",
            share=scene.share(float(lasts.sum())),
            table="instructions",
            rows=events.rows(rows[np.argsort(-idle)]),
        )
