"""``start-up-dominates-total``: most of the run is before or behind the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.units import format_time

__all__: list[str] = []

_MOST = 0.5


@finding("start-up-dominates-total")
def check(scene: Scene) -> Iterator[Finding]:
    """Start-up and tail over the total time of the execution."""
    counters = scene.counters
    events = scene.events
    silent = 0.0
    if events is not None:
        phases = events.found.phases
        outside = (phases.start_up_ps + phases.tail_ps) / 1e12
        silent = phases.silent_ps / 1e12
        body = phases.body_ps / 1e12
    else:
        outside, body = counters.total_s - counters.window_s, counters.window_s
    if outside < _MOST * counters.total_s:
        return
    first_run = silent > _MOST * outside
    yield Finding(
        id="start-up-dominates-total",
        what=(
            f"{format_time(outside)} of {format_time(counters.total_s)} are start-up and tail; the "
            f"kernel's body is {format_time(body)}"
        ),
        evidence=(
            f"the device is silent for {format_time(silent)} before the body, as in a first "
            "execution that loads a library"
            if first_run
            else "the fixed cost of an execution, whatever the kernel does"
        ),
        remedy=(
            "profile the second execution; judge the kernel by its body"
            if first_run
            else "give one launch more work: fuse kernels or batch calls; judge the kernel by its "
            "body and the launch by the total"
        ),
        at_stake_s=outside,
        confidence="high" if first_run or events is not None else "medium",
        share=outside / counters.window_s if counters.window_s >= counters.total_s else None,
    )
