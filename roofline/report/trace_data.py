"""What report.json says of a framework trace beyond the placed rows."""

from __future__ import annotations

from typing import Any

from roofline.analysis.launches import NO_VALUE
from roofline.report.launches import launches_record
from roofline.study.traced import Operator, TraceView

__all__ = ["trace_json"]


def trace_json(trace: TraceView) -> dict[str, Any]:
    """Return operators, steps and totals of a trace; times in s, null where not known.

    Single launches are left out: ``roofline launches --json`` gives them.
    """
    record = launches_record(trace.launches, ())
    gaps = trace.launches["launch_gap_ns"].values[trace.launches["launch_counted"].values]
    gaps = gaps[gaps != NO_VALUE]
    return {
        "hardware_assumed": trace.assumed,
        "summary": record["summary"],
        "gaps": {
            "count": len(gaps),
            "total_s": float(gaps.sum()) * 1e-9,
            "longest_s": float(gaps.max()) * 1e-9 if len(gaps) else None,
        },
        "steps": record["steps"],
        "operators": [_operator(one) for one in trace.operators],
    }


def _operator(one: Operator) -> dict[str, Any]:
    return {
        "name": one.name,
        "shapes": one.shapes,
        "is_operator": one.is_operator,
        "calls": one.calls,
        "launches": one.launches,
        "host_s": one.host_s,
        "window_s": one.window_s,
        "device_s": one.device_s,
        "not_counted": one.problem,
        "window_verdict": one.window.label if one.window else None,
        "device_verdict": one.device.label if one.device else None,
    }
