"""One estimate: a time with its interval, its terms, its bounds, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from roofline.analysis.verdict import LABELS
from roofline.errors import WorkError
from roofline.hardware.model import Hardware
from roofline.model.bounds import bound_codes
from roofline.model.demand import Demand, demand_of
from roofline.model.kernel import KernelSchedule, as_declared
from roofline.model.rates import Rates, rates_for
from roofline.model.schedule import VARIANTS, variant_of
from roofline.model.terms import lower_seconds, schedule_seconds, times
from roofline.quantity import Quantity
from roofline.work.work import Work

__all__ = ["Estimate", "estimate", "estimate_demand", "interval"]

_WIDENING: Final = 0.15  # of the interval, for each factor of two outside the calibrated sizes
_INFERRED: Final = 0.35  # of the interval, where no constant was measured on this chip
_UNMEASURED: Final = 0.35  # where no operator of the family was
_PARTIAL: Final = 1.0  # where an operator without a formula is counted as a stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A modelled time in seconds.

    ``low`` and ``high`` hold 90 % of the measured times the constants were checked on; outside
    the calibrated sizes (``extrapolated``) and on chips without measurements (``inferred``) they
    are wider. ``terms_s`` are the floor, the stages, the pipeline fill and the busy time of each
    resource; ``lower_bound_s <= schedule_bound_s <= time_s``. ``notes`` says what was assumed.
    """

    work: str
    hardware: str
    dtype: str
    variant: str
    clock: str
    time_s: float
    low_s: float
    high_s: float
    lower_bound_s: float
    schedule_bound_s: float
    floor_range_s: tuple[float, float]
    bound: str
    side: str
    terms_s: Mapping[str, float] = field(default_factory=dict)
    extrapolated: bool = False
    partial: bool = False
    quality: str = "calibrated"
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """How the time is known: ``calibrated``, or ``inferred``, ``extrapolated``, ``partial``."""
        flags = {"inferred": self.quality == "inferred", "extrapolated": self.extrapolated,
                 "partial": self.partial}  # fmt: skip
        return ", ".join(name for name, raised in flags.items() if raised) or "calibrated"

    @property
    def quantity(self) -> Quantity:
        """The time with unit, source and quality."""
        return Quantity(
            value=self.time_s,
            unit="s",
            source=f"time model, {self.hardware}, {self.variant}, clock {self.clock}",
            quality=self.quality,
            low=self.low_s,
            high=self.high_s,
        )


def estimate(
    work: Work,
    hardware: Hardware,
    *,
    variant: str = "fused",
    clock: str = "device_execution",
    schedule: Mapping[str, float] | None = None,
    kernel: KernelSchedule | None = None,
) -> Estimate:
    """Return the modelled time of ``work`` on ``hardware``.

    ``variant`` is one of ``VARIANTS``: ``eager`` runs every operator as a launch of its own, the
    others all of them in one. ``schedule`` overrides passes per element on Vector by operator or
    family, such as ``{"norm": 2.0}``; ``kernel`` is what a kernel declares of itself, and takes the
    place of the usual schedule. Raises ``WorkError`` for a work that does nothing, ``QueryError``
    for a kernel that does not fit into SBUF.
    """
    name = variant_of(variant)
    demand = demand_of(work, separate=name == "eager" and kernel is None)
    if kernel is not None:
        if not demand.regions[0].parts:
            raise WorkError(f"work {work.name!r} has no operator for the declared schedule")
        kernel.check_fits(hardware)
        demand, hardware = as_declared(demand, kernel), kernel.on(hardware)
    rates = rates_for(hardware, work.dtype, VARIANTS[name][1], clock=clock)
    if schedule:
        rates = replace(rates, passes={**rates.passes, **schedule})
    return estimate_demand(demand, rates, variant=name)


def estimate_demand(demand: Demand, rates: Rates, *, variant: str) -> Estimate:
    """Return the modelled time of one demand (numbers, not arrays)."""
    size = float(demand.minimal_bytes)
    if not demand.regions or not (size or demand.flops):
        raise WorkError(f"work {demand.name!r} has no FLOP, passes or bytes: nothing to estimate")
    tensor, elements, memory = (float(term) for term in lower_seconds(demand, rates))
    lower = max(tensor, elements, memory)
    scheduled = float(schedule_seconds(demand, rates, lower))
    found = times(demand, rates)
    time_s = max(float(found.estimate), scheduled)
    low, high, outside = interval(time_s, scheduled, demand, rates)
    inferred = rates.quality == "inferred"
    notes = []
    if bool(outside):
        notes.append(
            f"extrapolated: {size:.3g} B is outside the calibrated "
            f"{rates.span_bytes[0]:.3g} to {rates.span_bytes[1]:.3g} B"
        )
    if inferred:
        notes.append(f"inferred: no measured time of {rates.hardware} stands behind the constants")
    if size > rates.capacity_bytes:
        notes.append(f"{size:.3g} B do not fit in {rates.capacity_bytes:.3g} B of HBM")
    if demand.partial:
        notes.append("inferred: operators without a formula count their operands and few passes")
    elif not demand.measured:
        notes.append("no operator of its family is among the measured ones: the interval is wider")
    values = (time_s, float(low), float(high), scheduled, lower)
    if not all(math.isfinite(value) for value in values):
        raise WorkError(f"work {demand.name!r} is too large to estimate: {size:.3g} B")
    code = int(bound_codes(demand, rates, found)[()])
    return Estimate(
        work=demand.name,
        hardware=rates.hardware,
        dtype=demand.dtype,
        variant=variant,
        clock=rates.clock,
        time_s=time_s,
        low_s=float(low),
        high_s=float(high),
        lower_bound_s=lower,
        schedule_bound_s=scheduled,
        floor_range_s=(
            len(demand.regions) * rates.floor_s[0],
            len(demand.regions) * rates.floor_s[2],
        ),
        bound=LABELS[code],
        side="memory" if memory >= max(tensor, elements) else "compute",
        terms_s={name: float(value) for name, value in found.terms.items()},
        extrapolated=bool(outside),
        partial=demand.partial,
        quality=rates.quality,
        notes=tuple(notes),
    )


def interval(time_s: Any, scheduled: Any, demand: Demand, rates: Rates) -> tuple[Any, Any, Any]:
    """Return low and high (s) of an estimate, and whether its size is outside the calibration.

    The residual range of the check, widened for each factor of two outside the calibrated sizes,
    where the constants are carried over from another chip, where no operator of the family was
    measured, and where one has no formula. Never below the schedule bound.
    """
    smallest, largest = rates.span_bytes
    size = demand.minimal_bytes
    factor = np.maximum(np.maximum(smallest / np.maximum(size, 1.0), size / largest), 1.0)
    wider = 1.0 + _WIDENING * np.log2(factor)
    if rates.quality == "inferred":
        wider = wider + _INFERRED
    if demand.partial:
        wider = wider + _PARTIAL
    elif not demand.measured:
        wider = wider + _UNMEASURED
    low = np.maximum(time_s * rates.residual[0] / wider, scheduled)
    return low, time_s * rates.residual[1] * wider, factor > 1.0
