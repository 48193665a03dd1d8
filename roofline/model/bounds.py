"""What bounds a modelled launch: the labels of the decision table, for numbers and arrays.

The same order and the same marks as for a capture: fixed time first, then the busiest resource,
then its reason from the rate it reaches while busy.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from roofline.analysis.marks import PRESETS
from roofline.analysis.verdict import LABELS
from roofline.model.demand import Demand, Part
from roofline.model.rates import Rates
from roofline.model.terms import RESOURCES, Times, filled, row_columns, short_rows

__all__ = ["bound_codes"]

_MARKS: Final = PRESETS["vendor"]
_CODE: Final = {label: np.int8(code) for code, label in enumerate(LABELS)}


def bound_codes(demand: Demand, rates: Rates, found: Times) -> Any:
    """Return the index into ``LABELS`` of what takes most of the time, int8, number or array."""
    busiest: Any = None
    code: Any = None
    for name in RESOURCES:
        if name not in found.terms:
            continue
        seconds, own = found.terms[name], _label(name, demand, rates)
        if busiest is None:
            busiest, code = seconds, own
            continue
        code = np.where(seconds > busiest, own, code)
        busiest = np.maximum(busiest, seconds)
    fixed = found.terms["floor"] + found.terms["stages"]
    start = _CODE["overhead:host" if rates.clock == "framework_window" else "overhead:device-start"]
    return np.where(found.estimate * _MARKS.fixed_share <= fixed, start, code)


def _label(resource: str, demand: Demand, rates: Rates) -> Any:
    """Return the code of a resource with its reason; the reason may differ from point to point."""
    parts = [part for region in demand.regions for part in region.parts]
    if resource == "dma":
        full = _CODE[f"{rates.achieved_resource}:bandwidth"]
        columns = row_columns(demand.regions[0])
        if columns is None:
            return full
        return np.where(short_rows(columns, rates), _CODE["dma:small-transfers"], full)
    full = _CODE[f"{resource}:throughput"]
    if resource == "tensor":
        rate = _tensor_rate(parts, rates)
        return np.where(rate >= _MARKS.full_rate, full, _CODE["tensor:underfilled"])
    streaming = _streaming(parts, rates, resource)
    return np.where(streaming >= _MARKS.streaming, full, _CODE[f"{resource}:instruction-overhead"])


def _tensor_rate(parts: list[Part], rates: Rates) -> Any:
    """Return the part of its peak the Tensor engine reaches while busy, on its first product."""
    part = next(part for part in parts if part.tensor_flops)
    efficiency = min(rates.tensor_efficiency[dtype] for dtype in part.tensor_flops)
    return efficiency * (filled(part.tile, rates) if part.tile is not None else 1.0)


def _streaming(parts: list[Part], rates: Rates, engine: str) -> Any:
    """Return the share of an engine's busy time in which elements flow, on its first part."""
    rate = rates.engines[engine]
    for part in parts:
        per_element = rates.passes_of(part)
        takes = part.passes if per_element is None else per_element
        if engine not in takes:
            continue
        schedule = part.schedule
        lane = part.columns
        if not part.rows_on_partitions:
            lane = part.rows * (part.columns * (1.0 / rates.lanes))
        elements = np.minimum(lane, schedule.free_elements) * rate.cycles
        return elements / (elements + rate.overhead_cycles)
    return 1.0
