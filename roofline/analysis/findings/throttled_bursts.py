"""``throttled-bursts``: the Tensor engine computes below its full clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.analysis.throttle import limited_share
from roofline.units import format_percent, format_time

__all__: list[str] = []

_MATTERS = 0.05


@finding("throttled-bursts")
def check(scene: Scene) -> Iterator[Finding]:
    """Time the limit on the clock cost while matmuls ran; a limit while idle costs nothing."""
    events = scene.events
    if events is None:
        return
    busy = events.busy["tensor"]
    if busy.achievable is None or busy.streamed is None or not busy.streamed:
        return
    lost = busy.achievable - busy.streamed
    if scene.share(lost) < _MATTERS:
        return
    rows = np.flatnonzero(np.isfinite(events.work.filled_cycles))
    limit = limited_share(events.capture, events.lines, rows, scene.hardware)
    told = events.capture.has("throttle") and events.capture.throttle.num_rows > 0
    path = events.path_s("tensor", "compute")
    yield Finding(
        id="throttled-bursts",
        what=f"the limit on the Tensor clock costs {format_time(lost)} while it computes",
        evidence=(
            f"{format_percent(float(np.mean(limit < 0.999)))} of its instructions ran limited, "
            f"on average at {format_percent(float(np.mean(limit)))} of the full rate"
            + ("" if told else "; inferred: every run starts limited and no record lifts it")
        ),
        remedy=(
            "keep the array occupied: the limit is lifted after a window of about 3.4 µs in which "
            "it is busy 75 %, and comes back when it falls under 35 %; run matmuls in one dense "
            "burst rather than in many short ones"
        ),
        at_stake_s=lost if path is None else min(lost, path),
        on_critical_path=path is not None,
        confidence="high" if told else "medium",
        share=scene.share(busy.actual or lost),
        table="instructions",
        rows=events.rows(rows[limit < 0.999]),
    )
