"""Runs to compare, made by hand."""

from __future__ import annotations

from typing import Any

from roofline.analysis.observed import Observed, Run, Timing


def observed(
    kernel: str = "k", seconds: float | None = 10e-6, clock: str = "device_body", **more: Any
) -> Observed:
    timing = {name: more.pop(name) for name in list(more) if name in TIMING}
    timings = () if seconds is None else (Timing(seconds=seconds, clock=clock, **timing),)
    return Observed(kernel=kernel, timings=timings, **more)


TIMING = ("profiled", "samples", "n", "spread", "spread_source", "resolution_s", "clock_quality")


def run(label: str, *kernels: Observed) -> Run:
    return Run(label=label, source=f"{label}.json", format="test", observed=kernels)
