"""Lower bounds of the time of an execution, a family per resource, and what lies between them.

Every level of a family is a time: what the resource was busy, what it could have done with the
transfers and instructions as they are, what it needs for the executed work, and what it needs for
the useful part of that work. The difference between two levels is never a saving by itself: an
ideal is not reachable, and another resource may set the pace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.analysis.dataset import Builder
from roofline.engines import COMPUTE_ENGINES
from roofline.errors import QueryError
from roofline.hardware.model import Hardware

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["FAMILIES", "LEVELS", "TREE", "VENDOR", "Busy", "Times", "bounds_of", "vendor_bounds"]

FAMILIES: Final = ("dma", *COMPUTE_ENGINES)
"""Resources with bounds of their own; the vendor's memory family is ``dma``, compute ``tensor``."""

LEVELS: Final = ("actual", "achievable", "streamed", "ideal", "useful")
"""From what happened to what the useful work needs; see ``LEVEL_MEANING``."""

LEVEL_MEANING: Final = {
    "actual": "merged time the resource was busy",
    "achievable": "the same transfers, instructions and clock limit, back to back",
    "streamed": "Tensor: moving columns at the full rate, idle rows and columns included",
    "ideal": "the executed work at the theoretical rate, in the best mode its operands allow",
    "useful": "the same without reloads (dma), transposes (Tensor), copies and casts (others)",
}

TREE: Final = {
    "lower_bound": "useful work, spread over every engine that can take it, minimal bytes",
    "work_beyond_minimum": "reloads, transposes, copies, and work tied to one engine",
    "inefficiency": (
        "transfer and instruction sizes, idle rows and columns, limits on the clock; waiting "
        "inside too where the two cannot be told apart"
    ),
    "waiting_inside": "the busiest resource was busy without moving or computing anything",
    "serialization": "even the busiest resource stood still: resources waited for each other",
    "start_up": "before the body",
    "tail": "behind the body",
}
"""Steps from the lower bound up to the total time; they add up to it."""

VENDOR: Final = {
    "memory_bound": ("dma", "actual"),
    "memory_bound_ideal": ("dma", "ideal"),
    "memory_bound_ideal_no_reloads": ("dma", "useful"),
    "compute_bound": ("tensor", "actual"),
    "compute_bound_ideal_flops": ("tensor", "ideal"),
    "compute_bound_ideal_useful_flops": ("tensor", "useful"),
}
"""The vendor's names of the bounds it prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """What is known of one resource: a time in s a level, ``None`` where not known."""

    actual: float | None = None
    achievable: float | None = None
    streamed: float | None = None
    ideal: float | None = None
    useful: float | None = None

    def level(self, name: str) -> float | None:
        """Return one of ``LEVELS``."""
        value: float | None = getattr(self, name)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Lengths in s that the bounds hang between: the window, and what lies before and behind."""

    window_s: float
    start_up_s: float = 0.0
    tail_s: float = 0.0
    window: str = "body"


def bounds_of(
    busy: Mapping[str, Busy],
    times: Times,
    hardware: Hardware,
    *,
    roofs: str = "theoretical",
    lower_bound_s: float | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Return bounds, speed-ups and the gap tree of one execution.

    ``bound_s`` has dims ``family``, ``level``; NaN is not known. ``speedup`` is the window over the
    larger of a bound and the slowest *other* resource: what improving this family alone to that
    level can give. ``step_s`` (dim ``step``) leads from the lower bound up to the total time and
    adds up to it. ``lower_bound_s`` is the schedule-free bound of the computation where its work
    is known; else the largest useful level stands in.
    """
    if times.window_s <= 0:
        raise QueryError(f"bounds need a window of positive length, not {times.window_s} s")
    values = np.full((len(FAMILIES), len(LEVELS)), np.nan)
    for row, family in enumerate(FAMILIES):
        for column, level in enumerate(LEVELS):
            value = busy[family].level(level) if family in busy else None
            values[row, column] = np.nan if value is None else value
    out = Builder()
    out.coord("family", list(FAMILIES), "1", "resource that is bounded")
    out.coord("level", list(LEVELS), "1", "how much is taken away; see the level_* attributes")
    out.add("bound_s", ("family", "level"), values, "s", "time of a resource at a level")
    actual = values[:, LEVELS.index("actual")]
    out.add(
        "speedup",
        ("family", "level"),
        _speedups(values, actual, times.window_s),
        "1",
        "window over the larger of the bound and the slowest other resource",
    )
    pipeline = float(np.nanmax(actual)) if np.any(np.isfinite(actual)) else np.nan
    out.add("perfect_pipeline_s", (), pipeline, "s", "the busiest resource, nothing waiting")
    bottleneck = "unknown" if np.isnan(pipeline) else FAMILIES[int(np.nanargmax(actual))]
    levels = _tree_levels(values, pipeline, times, lower_bound_s)
    out.coord("step", list(TREE), "1", "what lies between the lower bound and the total time")
    out.add("step_s", ("step",), _steps(levels, times), "s", "time of a step; they add up to total")
    for name, value in zip(("lower_bound_s", "schedule_bound_s"), levels, strict=False):
        meaning = (
            "schedule-free lower bound"
            if name == "lower_bound_s"
            else "bound for the executed work on the engines it ran on, measured bytes"
        )
        out.add(name, (), value, "s", meaning)
    return out.build(
        {
            "hardware": hardware.name,
            "roofs": roofs,
            "window": times.window,
            "window_s": times.window_s,
            "total_s": times.window_s + times.start_up_s + times.tail_s,
            "bottleneck": bottleneck,
            "lower_bound_source": (
                "bytes of inputs and outputs, or products without transposes"
                if lower_bound_s is None
                else "given"
            ),
            **{f"level_{name}": text for name, text in LEVEL_MEANING.items()},
            **{f"step_{name}": text for name, text in TREE.items()},
            **(attrs or {}),
        }
    )


def _speedups(values: Any, actual: Any, window_s: float) -> Any:
    result = np.full(values.shape, np.nan)
    for row in range(len(FAMILIES)):
        others = np.delete(actual, row)
        slowest = float(np.nanmax(others)) if np.any(np.isfinite(others)) else 0.0
        bound = np.maximum(values[row], slowest)
        with np.errstate(over="ignore"):
            gain = window_s / np.where(bound > 0, bound, 1.0)
        result[row] = np.where(bound > 0, gain, np.nan)
    return result


def _tree_levels(
    values: Any, pipeline: float, times: Times, lower_bound_s: float | None
) -> tuple[float, float, float, float]:
    """Return lower bound, schedule bound, achievable and pipeline, each at least the one before."""

    def largest(*levels: str) -> float:
        """Of each family the last level that is known, then the largest of the families."""
        known = []
        for row in range(len(FAMILIES)):
            line = [values[row, LEVELS.index(name)] for name in levels]
            known += [next((one for one in reversed(line) if np.isfinite(one)), 0.0)]
        return float(max(known))

    schedule = largest("ideal")
    lower = largest("ideal", "useful") if lower_bound_s is None else lower_bound_s
    top = times.window_s if np.isnan(pipeline) else min(pipeline, times.window_s)
    achievable = largest("ideal", "streamed", "achievable")
    if not np.any(np.isfinite(values[:, LEVELS.index("achievable")])):
        achievable = top  # inefficiency and waiting inside cannot be told apart
    schedule = min(schedule, top)
    return (
        min(lower, schedule),
        schedule,
        min(max(achievable, schedule), top),
        top,
    )


def _steps(levels: tuple[float, float, float, float], times: Times) -> Any:
    lower, schedule, achievable, pipeline = levels
    return np.array(
        [
            lower,
            schedule - lower,
            achievable - schedule,
            pipeline - achievable,
            times.window_s - pipeline,
            times.start_up_s,
            times.tail_s,
        ]
    )


def vendor_bounds(found: xr.Dataset) -> dict[str, float]:
    """Return the bounds in s by the vendor's names, ``perfect_pipeline`` and ``total_time``.

    What is not known is left out.
    """
    values = {
        name: float(found.bound_s.sel(family=family, level=level))
        for name, (family, level) in VENDOR.items()
    }
    values["perfect_pipeline"] = float(found.perfect_pipeline_s)
    values["total_time"] = float(found.attrs["window_s"])
    return {name: value for name, value in values.items() if np.isfinite(value)}
