"""The vectorised core of the time model: a demand and its rates in, seconds out.

Numbers or arrays alike. A launch takes its floor, the time to fill its pipeline, and the slowest
of the resources that then work side by side:

    launch = floor + stages + fill + max(DMA, Vector, Scalar, GpSimd, Tensor)
    stages = dependent stages x time of a stage
    fill = (sum - max of the resources) / tiles

The first tile and the last overlap with nothing: that is the fill. Launches follow one another.
The schedule bound keeps the maximum alone, at theoretical rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from roofline.analysis.lower_bound import bound_terms, tensor_seconds
from roofline.engines import ELEMENT_ENGINES
from roofline.errors import HardwareModelError
from roofline.model.demand import Demand, Part, Region
from roofline.model.rates import Rates

__all__ = [
    "RESOURCES",
    "Times",
    "filled",
    "lower_seconds",
    "region_terms",
    "row_columns",
    "schedule_seconds",
    "short_rows",
    "times",
]

RESOURCES: Final = ("dma", "vector", "scalar", "gpsimd", "tensor")
"""Resources of a launch that work side by side, in the order ties are broken."""

_LEAST_MOVING: Final = 64.0  # columns: a shorter product takes as long as this one


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds of a demand, numbers or arrays.

    ``terms`` holds floor, stages, fill and the busy time of each resource, summed over launches;
    ``body`` is the estimate without ``floor``.
    """

    estimate: Any
    body: Any
    floor: Any
    terms: dict[str, Any]


def lower_seconds(demand: Demand, rates: Rates) -> tuple[Any, Any, Any]:
    """Return the seconds of Tensor, elements and memory of the schedule-free lower bound."""
    return bound_terms(
        tensor_s=tensor_seconds(demand.tensor_flops, _peaks(rates, demand.tensor_flops)),
        passes=demand.minimal_passes,
        bytes=demand.minimal_bytes,
        passes_per_s=rates.passes_per_s,
        bytes_per_s=rates.memory_bytes_per_s,
    )


def schedule_seconds(demand: Demand, rates: Rates, lower: Any) -> Any:
    """Return the schedule bound: its passes and bytes at theoretical rates.

    Never below ``lower``, the schedule-free bound.
    """
    total: Any = 0.0
    for region in demand.regions:
        slowest = _moved(region, rates) * (1.0 / rates.memory_bytes_per_s)
        for engine in ELEMENT_ENGINES:
            seconds = _element_seconds(region, rates, engine, ideal=True)
            if seconds is not None:
                slowest = np.maximum(slowest, seconds)
        seconds = _tensor_seconds(region, rates, ideal=True)
        if seconds is not None:
            slowest = np.maximum(slowest, seconds)
        total = total + slowest
    return np.maximum(total, lower)


def region_terms(region: Region, rates: Rates) -> dict[str, Any]:
    """Return the seconds each resource of one launch is busy; resources without work are absent."""
    terms: dict[str, Any] = {"dma": _dma_seconds(region, rates)}
    for engine in ELEMENT_ENGINES:
        seconds = _element_seconds(region, rates, engine, ideal=False)
        if seconds is not None:
            terms[engine] = seconds
    seconds = _tensor_seconds(region, rates, ideal=False)
    if seconds is not None:
        terms["tensor"] = seconds
    return terms


def times(demand: Demand, rates: Rates) -> Times:
    """Return the estimate of a demand, and its terms."""
    body: Any = 0.0
    total: dict[str, Any] = {"stages": 0.0, "fill": 0.0}
    for region in demand.regions:
        terms = region_terms(region, rates)
        slowest: Any = None
        busy: Any = 0.0
        for name, seconds in terms.items():
            slowest = seconds if slowest is None else np.maximum(slowest, seconds)
            busy = busy + seconds
            total[name] = total[name] + seconds if name in total else seconds
        stages = region.stages * rates.stage_s
        fill = (busy - slowest) / _tiles(region, rates)
        total["stages"] = total["stages"] + stages
        total["fill"] = total["fill"] + fill
        body = body + (slowest + fill + stages)
    floor = len(demand.regions) * rates.floor_s[1]
    return Times(estimate=body + floor, body=body, floor=floor, terms={"floor": floor, **total})


def _tiles(region: Region, rates: Rates) -> Any:
    """Return how many tiles follow one another: the first and the last overlap with nothing."""
    if not region.parts:
        return 1.0
    if any(schedule.serial for schedule in region.schedules):
        return 1.0
    part = region.parts[0]
    schedule = part.schedule
    if part.rows_on_partitions:
        return np.ceil(part.rows / rates.lanes)
    return np.maximum(1.0, part.rows * (part.columns / (rates.lanes * schedule.free_elements)))


def _moved(region: Region, rates: Rates) -> Any:
    """Return the bytes of one launch as its schedule moves them."""
    reads = _reads(region.parts[0], rates) if region.parts else 1.0
    return (region.read_bytes * reads if reads != 1.0 else region.read_bytes) + region.write_bytes


def _reads(part: Part, rates: Rates) -> float:
    """Return how often the inputs are read; a declared schedule states the bytes themselves."""
    return 1.0 if part.declared is not None else rates.reads_of(part.family)


def _dma_seconds(region: Region, rates: Rates) -> Any:
    """Bytes at the rate streams reach, or short rows at a fixed cost each, whichever is longer."""
    size = _moved(region, rates)
    stream = 1.0 / rates.achieved_bytes_per_s
    columns = row_columns(region)
    if columns is None:
        return size * stream
    # the cost of a byte depends on the row alone: a small array, multiplied once
    return size * np.maximum(stream, _row_cost(columns, rates))


def row_columns(region: Region) -> Any:
    """Return the elements of a contiguous row where rows set the size of transfers, or ``None``."""
    for part in region.parts:
        if part.rows_on_partitions:
            return part.columns
    return None


def short_rows(columns: Any, rates: Rates) -> Any:
    """Return whether rows of ``columns`` elements are too short to fill the memory path."""
    return _row_cost(columns, rates) > 1.0 / rates.achieved_bytes_per_s


def _row_cost(columns: Any, rates: Rates) -> Any:
    """Return seconds a byte when every row is a descriptor element of its own."""
    row_bytes = columns * rates.item_bytes
    each = np.maximum(
        rates.element_floor_s, row_bytes / rates.link_bytes_per_s + rates.packet_interval_s
    )
    return each / (row_bytes * rates.transfer_engines)


def _element_seconds(region: Region, rates: Rates, engine: str, *, ideal: bool) -> Any:
    total: Any = None
    for part in region.parts:
        seconds = _part_seconds(part, rates, engine, ideal=ideal)
        if seconds is not None:
            total = seconds if total is None else total + seconds
    return total


def _part_seconds(part: Part, rates: Rates, engine: str, *, ideal: bool) -> Any:
    """Return the busy time of one engine on one part, ``None`` if it takes none of its passes."""
    per_element = rates.passes_of(part)
    schedule = part.schedule
    rate = rates.engines[engine]
    cycles = rate.best_cycles if ideal else rate.cycles
    overhead = 0.0 if ideal else rate.overhead_cycles
    if per_element is None:
        if engine not in part.passes:
            return None
        lane = part.passes[engine] * (1.0 / rates.lanes)
        passes = 1.0
    else:
        passes = per_element.get(engine, 0.0)
        if not passes:
            return None
        if part.rows_on_partitions:
            waves = np.ceil(part.rows / rates.lanes)
            row = part.columns * (passes * cycles / rate.clock_hz)
            if overhead:
                pieces = np.maximum(1.0, part.columns * (1.0 / schedule.free_elements))
                row = row + pieces * (passes * overhead / rate.clock_hz)
            return waves * row
        lane = part.rows * (part.columns * (1.0 / rates.lanes))
    seconds = lane * (passes * cycles / rate.clock_hz)
    if overhead:
        pieces = np.maximum(1.0, lane * (1.0 / schedule.free_elements))
        seconds = seconds + pieces * (passes * overhead / rate.clock_hz)
    return seconds


def _tensor_seconds(region: Region, rates: Rates, *, ideal: bool) -> Any:
    total: Any = None
    for part in region.parts:
        if not part.tensor_flops:
            continue
        seconds: Any = 0.0
        for dtype, flops in part.tensor_flops.items():
            peak = _peaks(rates, {dtype: flops})[dtype]
            efficiency = 1.0 if ideal else rates.tensor_efficiency[dtype]
            seconds = seconds + flops * (1.0 / (peak * efficiency))
        if part.tile is not None:
            seconds = seconds / filled(part.tile, rates)
        total = seconds if total is None else total + seconds
    if total is None or ideal:
        return total
    # a burst starts at half rate: while limited it does half of what it would
    return total + np.minimum(total, rates.limited_s / 2)


def filled(tile: tuple[Any, Any, Any], rates: Rates) -> Any:
    """Return the part of the array that a product (m, k, n) fills: whole tiles run.

    One of m and n is stationary (the columns of the array), the other moves.
    """
    m, k, n = (np.asarray(size, dtype=np.float64) for size in tile)
    rows, columns = rates.tensor_rows, rates.tensor_columns
    depth = k / (rows * np.ceil(k / rows))

    def pair(stationary: Any, moving: Any) -> Any:
        share = stationary / (columns * np.ceil(stationary / columns))
        return share * np.minimum(1.0, moving / _LEAST_MOVING)

    return depth * np.maximum(pair(m, n), pair(n, m))


def _peaks(rates: Rates, flops: Any) -> dict[str, float]:
    peaks = {}
    for dtype in flops:
        if dtype not in rates.tensor_peak:
            known = ", ".join(rates.tensor_peak)
            raise HardwareModelError(
                f"{rates.hardware}: no Tensor rate for {dtype!r}; known: {known}"
            )
        peaks[dtype] = rates.tensor_peak[dtype]
    return peaks
