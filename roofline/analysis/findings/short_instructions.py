"""``short-instructions``: the fixed cost of instructions outweighs their elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.analysis.timeline import KINDS
from roofline.engines import ELEMENT_ENGINES, VENDOR_NAMES
from roofline.units import format_percent, format_time

__all__: list[str] = []

_STREAMING = 0.5
_MATTERS = 0.10


@finding("short-instructions")
def check(scene: Scene) -> Iterator[Finding]:
    """An element engine that is busy while elements flow for less than half of the time."""
    events = scene.events
    if events is None:
        return
    lines = events.lines
    for engine in ELEMENT_ENGINES:
        busy = events.busy[engine]
        working = events.found.busy(engine, events.core, "compute").total / 1e12
        if busy.ideal is None or not working or scene.share(working) < _MATTERS:
            continue
        if busy.ideal >= _STREAMING * working:
            continue
        rows = np.flatnonzero(
            (lines.engine == lines.engines.index(engine)) & (lines.kind == KINDS.index("compute"))
        )
        path = events.path_s(engine, "compute")
        lost = working - busy.ideal
        lasts = (lines.end - lines.start)[rows]
        yield Finding(
            id="short-instructions",
            what=(
                f"on {VENDOR_NAMES[engine]} elements flow for "
                f"{format_percent(busy.ideal / working)} of the {format_time(working)} it computes"
            ),
            evidence=(
                f"{len(rows)} instructions of {format_time(float(np.median(lasts)) / 1e12)} "
                f"(median); their elements need {format_time(busy.ideal)}, the rest is start-up "
                "and drain of each instruction"
            ),
            remedy=(
                "fewer, longer instructions: a larger free dimension, several tiles in one access "
                "pattern, two operations in one instruction (tensor_scalar, activation with scale, "
                "bias and accumulate)"
            ),
            at_stake_s=lost if path is None else min(lost, path),
            on_critical_path=path is not None,
            confidence="high",
            share=scene.share(working),
            table="instructions",
            rows=events.rows(rows),
        )
