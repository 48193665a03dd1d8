"""Observe a framework trace: one entry an operator, and one for all launches together."""

from __future__ import annotations

from roofline.analysis.launches import NO_VALUE, launches
from roofline.analysis.observed import Observed, Timing
from roofline.analysis.trace_findings import trace_findings
from roofline.captures.capture import Capture

__all__ = ["ALL", "observe_trace"]

ALL = "(all launches)"
"""The kernel name under which a whole step stands."""

_NS = 1e-9


def observe_trace(capture: Capture) -> tuple[tuple[Observed, ...], tuple[str, ...]]:
    """Return operators by name and shapes, with times of one step, and notes.

    The clock is the one of the trace's launches; a trace of several steps gives their mean.
    """
    found = launches(capture)
    attrs = found.attrs
    steps = attrs["steps_used"] if attrs["steps_used"] > 0 else 1
    clock = str(attrs["clock"])
    column = {"framework_window": "op_window_ns", "host_wall": "op_host_ns"}.get(
        clock, "op_device_ns"
    )
    entries = [
        Observed(
            kernel=ALL,
            timings=_timings(attrs["launch_union_ns"], clock, steps),
            launches=attrs["launches"] / steps,
            findings={one.id: one.what for one in trace_findings(capture, found)},
        )
    ]
    for index in range(found.sizes["op"]):
        number = int(found["op_launches"].values[index])
        if number == 0:
            continue
        entries.append(
            Observed(
                kernel=str(found["op_name"].values[index]) or "(no name)",
                config=str(found["op_shapes"].values[index]),
                timings=_timings(int(found[column].values[index]), clock, steps),
                launches=number / steps,
            )
        )
    note = "" if steps == 1 else f"{capture.path.name}: times are the mean of {steps} steps"
    return tuple(entries), ((note,) if note else ())


def _timings(nanoseconds: int, clock: str, steps: int) -> tuple[Timing, ...]:
    if nanoseconds in (NO_VALUE, 0):
        return ()
    return (
        Timing(
            seconds=nanoseconds * _NS / steps,
            clock=clock,
            profiled=True,
            n=steps,
            resolution_s=_NS,
        ),
    )
