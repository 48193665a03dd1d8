"""Hold measured times against the lower bound and the estimate, and say how far off they are.

Relative error is |estimate - measured| / measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from roofline.analysis.lower_bound import LowerBound, lower_bound
from roofline.errors import QueryError, RooflineError
from roofline.hardware.model import Hardware
from roofline.model.calibrate import calibrate, split, with_calibration
from roofline.model.cases import Case, hardware_of, modelled_clock
from roofline.model.estimate import Estimate, estimate_demand
from roofline.model.rates import rates_for

__all__ = [
    "ErrorRow",
    "Validation",
    "Verdict",
    "check_rows",
    "error_table",
    "leave_one_out",
    "validate",
]

_KEYS: Final = ("op", "dtype", "implementation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One measured row: its bounds and estimate (s), and why it beats its bound if it does.

    ``error`` is signed, (estimate - measured) / measured. ``problem`` says why there is neither.
    """

    case: Case
    lower: LowerBound | None = None
    estimate: Estimate | None = None
    reason: str = ""
    problem: str = ""

    @property
    def beats_bound(self) -> bool:
        """Whether the measured time is below the lower bound."""
        return self.lower is not None and self.case.time_s < self.lower.seconds

    @property
    def error(self) -> float | None:
        """Signed relative error of the estimate."""
        if self.estimate is None:
            return None
        return self.estimate.time_s / self.case.time_s - 1

    @property
    def bound_error(self) -> float | None:
        """Signed relative error of the lower bound taken as a prediction."""
        return None if self.lower is None else self.lower.seconds / self.case.time_s - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """Errors of one group: rows, median and 90th percentile of |error|, the largest, the bias."""

    group: Mapping[str, str]
    rows: int
    median: float
    p90: float
    worst: float
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Every row, in the order of the file."""

    rows: tuple[Verdict, ...]

    @property
    def beating(self) -> tuple[Verdict, ...]:
        """Rows below their lower bound."""
        return tuple(row for row in self.rows if row.beats_bound)

    @property
    def without(self) -> tuple[Verdict, ...]:
        """Rows without an estimate, each with its problem."""
        return tuple(row for row in self.rows if row.estimate is None)

    def worst(self, count: int = 10) -> list[Verdict]:
        """Return the rows with the largest errors, largest first."""
        rows = [row for row in self.rows if row.error is not None]
        return sorted(rows, key=lambda row: -abs(row.error or 0.0))[:count]


def validate(cases: Sequence[Case], *, hardware: Hardware | None = None) -> Validation:
    """Return bounds and estimates of measured cases.

    ``hardware`` replaces the model of every case of that name (such as one with other constants).
    Raises ``QueryError`` for an empty sequence; rows that cannot be modelled keep their problem.
    """
    if not cases:
        raise QueryError("no measured times to hold against anything")
    views: dict[Any, Hardware | str] = {}
    rates: dict[Any, Any] = {}
    rows = []
    for case in cases:
        key = (case.hardware, case.lnc, case.working_cores)
        if key not in views:
            views[key] = _view(case, hardware)
        view = views[key]
        if isinstance(view, str) or case.work is None or case.demand is None:
            problem = view if isinstance(view, str) else case.problem
            rows.append(Verdict(case=case, problem=problem))
            continue
        try:
            bound = lower_bound(case.work, view)
            clock = modelled_clock(case)
            rate_key = (key, case.dtype, case.implementation, clock, case.calls)
            if rate_key not in rates:
                found = rates_for(view, case.dtype, case.implementation, clock=clock)
                low, mid, high = (floor / case.calls for floor in found.floor_s)
                rates[rate_key] = replace(
                    found, floor_s=(low, mid, high)
                )  # one start for all calls
            guess = estimate_demand(case.demand, rates[rate_key], variant=case.variant)
        except RooflineError as error:
            rows.append(Verdict(case=case, problem=str(error)))
            continue
        reason = _reason(case, bound, view) if case.time_s < bound.seconds else ""
        rows.append(Verdict(case=case, lower=bound, estimate=guess, reason=reason))
    return Validation(rows=tuple(rows))


def _view(case: Case, hardware: Hardware | None) -> Hardware | str:
    try:
        view = hardware_of(case)
        if hardware is not None and hardware.name == case.hardware:
            cores = {"lnc": view.lnc, "working_cores": view.working_cores}
            return replace(hardware, **cores)  # type: ignore[arg-type]
    except RooflineError as error:
        return str(error)
    return view


def _reason(case: Case, bound: LowerBound, hardware: Hardware) -> str:
    """Return the likely reason for a time below the lower bound, from what the row says."""
    ratio = bound.seconds / case.time_s
    if case.calls > 1:
        return (
            f"{case.calls} calls in one program: data stays on chip between them, so the bytes "
            "of one call are not moved every time"
        )
    measured = case.measured_bytes
    minimal = case.work.minimal_bytes if case.work is not None else 0
    if measured is not None and minimal and measured < 0.9 * minimal:
        return (
            f"its counters moved {measured:.3g} B where the shape needs {minimal:.3g} B: it did "
            "not do this work (an empty kernel, another shape, or data already on chip)"
        )
    if case.clock in ("host_wall", "framework_window"):
        return "a host clock without synchronisation stops before the device does"
    cores = hardware.cores_per_chip / hardware.working_cores
    if ratio <= cores:
        return (
            f"{ratio:.2f} times the limit of {hardware.working_cores} physical cores: more cores "
            "worked than stated"
        )
    if bound.binding == "tensor":
        return "fewer or cheaper multiplications than counted: another dtype, or a masked half"
    return "not explained by core count, on-chip data or dtype: check the shape and the clock"


def error_table(
    validation: Validation,
    *,
    by: Sequence[str] = _KEYS,
    error: Callable[[Verdict], float | None] = lambda row: row.error,
) -> list[ErrorRow]:
    """Return errors grouped by ``op``, ``dtype``, ``implementation``, ``hardware`` or ``clock``.

    An empty ``by`` gives one row for everything.
    """
    groups: dict[tuple[str, ...], list[float]] = {}
    for row in validation.rows:
        value = error(row)
        if value is None:
            continue
        key = tuple(_label(row.case, name) for name in by)
        groups.setdefault(key, []).append(value)
    return [_error_row(dict(zip(by, key, strict=True)), v) for key, v in groups.items()]


def _label(case: Case, name: str) -> str:
    if name not in (*_KEYS, "hardware", "clock", "variant"):
        raise QueryError(f"cannot group by {name!r}; known: {', '.join(_KEYS)}, hardware, clock")
    return str(case.label if name == "implementation" else getattr(case, name))


def _error_row(group: Mapping[str, str], values: Iterable[float]) -> ErrorRow:
    signed = np.array(list(values))
    size = np.abs(signed)
    return ErrorRow(
        group=group,
        rows=len(size),
        median=float(np.median(size)),
        p90=float(np.quantile(size, 0.9)),
        worst=float(size.max()),
        bias=float(np.median(signed)),
    )


def leave_one_out(cases: Sequence[Case], *, data: str) -> list[ErrorRow]:
    """Return the errors of each operator when it is not fitted: what an unseen operator gets.

    The constants are fitted on every other operator, with all their sizes alternating as usual.
    """
    rows = []
    usable = [case for case in cases if case.demand is not None]
    for op in dict.fromkeys(case.op for case in usable):
        rest = [case for case in usable if case.op != op]
        fitted = calibrate(rest, data=data)
        hardware = with_calibration(hardware_of(usable[0]), fitted.complete)
        own = validate([case for case in usable if case.op == op], hardware=hardware)
        rows.append(
            _error_row({"op": op}, [row.error for row in own.rows if row.error is not None])
        )
    return rows


def check_rows(validation: Validation) -> Validation:
    """Return the rows of the check half only: sizes the constants were not fitted on."""
    keep = {case.row for case in split([row.case for row in validation.rows])[1]}
    return Validation(rows=tuple(row for row in validation.rows if row.case.row in keep))
