"""The numpy core of a sweep: constants of one hardware, dtype and variant, and arrays of sizes.

Arrays go in as one axis each and are never blown up to the whole grid before the arithmetic needs
it; the grid is worked through in blocks that stay in cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.model.bounds import bound_codes
from roofline.model.demand import Demand
from roofline.model.estimate import interval
from roofline.model.grid import Condition
from roofline.model.rates import Rates
from roofline.model.source import Counts
from roofline.model.terms import lower_seconds, schedule_seconds, times

__all__ = [
    "SIDES",
    "STATUS",
    "TERMS",
    "VARIABLES",
    "Combination",
    "Variable",
    "evaluate",
    "status_words",
]

_BLOCK: Final = 32_768  # points: a dozen float64 temporaries of this size stay in the L2 cache

STATUS: Final = {
    "extrapolated": 1,
    "inferred": 2,
    "larger-than-hbm": 4,
    "unsupported": 8,
    "excluded": 16,
    "partial": 32,
}
"""Bits of ``status``; 0 is a point inside the calibration."""

SIDES: Final = ("memory", "compute")
TERMS: Final = ("floor", "stages", "fill", "dma", "vector", "scalar", "gpsimd", "tensor")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the result: its unit, dtype, and what it is."""

    units: str
    dtype: str
    long_name: str


VARIABLES: Final = {
    "flops": Variable("FLOP", "f8", "operations of all classes"),
    "minimal_bytes": Variable("B", "f8", "each input read once, each output written once"),
    "intensity": Variable("FLOP/B", "f8", "operations per minimal byte"),
    "lower_bound": Variable("s", "f8", "schedule-free lower bound"),
    "schedule_bound": Variable("s", "f8", "bound of the given schedule"),
    "estimate": Variable("s", "f8", "modelled time"),
    "estimate_low": Variable("s", "f8", "low end of the modelled time"),
    "estimate_high": Variable("s", "f8", "high end of the modelled time"),
    "side": Variable("1", "i1", "side of the ridge"),
    "bound": Variable("1", "i1", "what bounds the modelled time, resource:reason"),
    "percent_of_roof": Variable("%", "f8", "lower bound over estimate"),
    "status": Variable("1", "i1", "what to know about a point, as bits"),
    **{
        f"term_{name}": Variable("s", "f8", f"time of {name}, beside or before the others")
        for name in TERMS
    },
}
"""Every variable a sweep can give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """One hardware, dtype and variant. ``rates`` is ``None`` where the chip lacks the dtype."""

    hardware: str
    dtype: str
    variant: str
    counts: Counts | None
    rates: Rates | None
    problem: str = ""


def status_words(status: int) -> str:
    """Return what the bits of ``status`` say of a point: how its figures are known.

    >>> status_words(0), status_words(3)
    ('calibrated', 'inferred, extrapolated')
    """
    names = [name for name, bit in STATUS.items() if status & bit]
    if "inferred" in names:  # said first: nothing measured stands behind the figure at all
        names.sort(key=lambda name: name != "inferred")
    return ", ".join(names) or "calibrated"


def evaluate(
    combination: Combination,
    sizes: Mapping[str, npt.NDArray[Any]],
    variables: Sequence[str],
    conditions: Sequence[Condition] = (),
    out: Mapping[str, npt.NDArray[Any]] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return ``variables`` over the grid of ``sizes``, one array axis per dimension in order.

    ``out`` receives them in place. Floats are NaN where ``status`` says unsupported or excluded.
    """
    names = list(sizes)
    shape = tuple(len(sizes[name]) for name in names)
    found = dict(out) if out is not None else {
        name: np.empty(shape, dtype=VARIABLES[name].dtype) for name in variables
    }  # fmt: skip
    for block in _blocks(shape):
        axes = {
            name: np.asarray(sizes[name][window], dtype=np.float64).reshape(
                [-1 if axis == at else 1 for axis in range(len(names))]
            )
            for at, (name, window) in enumerate(zip(names, block, strict=True))
        }
        values = _values(combination, axes, variables)
        if conditions:
            _exclude(values, axes, conditions)
        for name in variables:
            found[name][block] = values[name]
    return found


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield blocks of about ``_BLOCK`` points; the last axes stay whole as long as they fit."""
    steps, points = [], 1
    for length in reversed(shape):
        step = max(1, min(length, _BLOCK // points))
        steps.append(step)
        points *= step
    steps.reverse()
    ranges = [range(0, length, step) for length, step in zip(shape, steps, strict=True)]
    for starts in itertools.product(*ranges):
        yield tuple(slice(at, at + step) for at, step in zip(starts, steps, strict=True))


def _values(
    combination: Combination, sizes: Mapping[str, Any], variables: Sequence[str]
) -> dict[str, Any]:
    counts, rates = combination.counts, combination.rates
    if counts is None or rates is None:
        return {name: _missing(name, STATUS["unsupported"]) for name in variables}
    wanted, found = set(variables), {}
    demand = counts(sizes, without=_unused(counts, rates, wanted))
    needs_time = wanted - {"flops", "minimal_bytes", "intensity", "lower_bound", "side"}
    lower = None
    if wanted & {"lower_bound", "schedule_bound", "side", "percent_of_roof"} or (
        wanted & {"estimate_low", "estimate_high"}
    ):
        tensor, elements, memory = lower_seconds(demand, rates)
        compute = np.maximum(tensor, elements)
        lower = np.maximum(compute, memory)
        found["lower_bound"] = lower
        if "side" in wanted:
            found["side"] = np.where(memory >= compute, np.int8(0), np.int8(1))
    if wanted & {"schedule_bound", "estimate_low", "estimate_high"}:
        found["schedule_bound"] = schedule_seconds(demand, rates, lower)
    if "intensity" in wanted:
        found["intensity"] = demand.flops / demand.minimal_bytes
    found["flops"], found["minimal_bytes"] = demand.flops, demand.minimal_bytes
    if needs_time:
        _timed(found, demand, rates, wanted)
    return found


def _unused(counts: Counts, rates: Rates, wanted: set[str]) -> set[str]:
    """Return the figures that no wanted variable depends on."""
    unused = set()
    bounds = {"lower_bound", "schedule_bound", "side", "percent_of_roof"}
    sized = {"minimal_bytes", "intensity", "status", "estimate_low", "estimate_high"} | bounds
    if not wanted & sized:
        unused.add("minimal_bytes")
    if not wanted & (bounds | {"estimate_low", "estimate_high"}):
        unused |= {"minimal_passes"}
    if not wanted & {"flops", "intensity"}:
        unused.add("flops")
    for at, region in enumerate(counts.template.regions):
        for number, part in enumerate(region.parts):
            if rates.passes_of(part) is not None:  # the schedule knows better
                unused |= {f"{at}.{number}.passes.{engine}" for engine in part.passes}
    return unused


def _timed(found: dict[str, Any], demand: Demand, rates: Rates, wanted: set[str]) -> None:
    modelled = times(demand, rates)
    found["estimate"] = modelled.estimate
    if wanted & {"estimate_low", "estimate_high", "status"}:
        scheduled = found.get("schedule_bound", 0.0)
        low, high, outside = interval(modelled.estimate, scheduled, demand, rates)
        found["estimate_low"], found["estimate_high"] = low, high
        if "status" in wanted:
            found["status"] = _status(demand, rates, outside)
    if "bound" in wanted:
        found["bound"] = bound_codes(demand, rates, modelled)
    if "percent_of_roof" in wanted:
        found["percent_of_roof"] = found["lower_bound"] / modelled.estimate * 100.0
    for name in TERMS:
        if f"term_{name}" in wanted:
            found[f"term_{name}"] = modelled.terms.get(name, 0.0)


def _status(demand: Demand, rates: Rates, outside: Any) -> Any:
    status = np.where(outside, np.int8(STATUS["extrapolated"]), np.int8(0))
    too_large = np.asarray(demand.minimal_bytes > rates.capacity_bytes)
    status = status | np.where(too_large, np.int8(STATUS["larger-than-hbm"]), np.int8(0))
    fixed = STATUS["inferred"] * (rates.quality == "inferred") + STATUS["partial"] * demand.partial
    return (status | np.int8(fixed)).astype(np.int8)


def _missing(name: str, status: int) -> Any:
    if name == "status":
        return np.int8(status)
    return np.nan if VARIABLES[name].dtype == "f8" else np.int8(-1)


def _exclude(
    values: dict[str, Any], sizes: Mapping[str, Any], conditions: Sequence[Condition]
) -> None:
    kept: Any = True
    for condition in conditions:
        kept = np.logical_and(kept, condition(sizes))
    for name, value in values.items():
        left_out = _missing(name, 0)
        if name == "status":
            left_out = np.asarray(value, dtype=np.int8) | np.int8(STATUS["excluded"])
        values[name] = np.where(kept, value, left_out)
