"""Measured times: what work, hardware and variant each row of a table is."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from roofline.captures.measured.row import Measured
from roofline.captures.measured.table import load_measured
from roofline.dtypes import dtype_key, dtype_of
from roofline.errors import CaptureError, HardwareModelError, QueryError, RooflineError, WorkError
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.model.demand import Demand, demand_of
from roofline.model.operands import Said, parse_shapes, work_from
from roofline.model.rates import CLOCKS_MODELLED
from roofline.model.schedule import VARIANTS, variant_of
from roofline.model.streams import at_most, streamed
from roofline.work.specs import TensorSpec
from roofline.work.work import Work

__all__ = ["Case", "hardware_of", "modelled_clock", "read_cases"]

_MOST_CALLS: Final = 10**9

_ONE_LAUNCH: Final = {"eager": "fused"}  # one framework operator is one launch


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One measured time.

    ``time_s`` is of one call, of ``calls`` in one program. ``measured_bytes`` is what counters
    saw over HBM. ``work`` and ``demand`` are ``None`` where ``problem`` says why.
    """

    row: int
    op: str
    shape: str
    dtype: str
    variant: str
    label: str
    hardware: str
    lnc: int | None
    working_cores: int | None
    clock: str
    time_s: float
    notes: str = ""
    calls: int = 1
    measured_bytes: float | None = None
    work: Work | None = None
    demand: Demand | None = None
    problem: str = ""

    @property
    def implementation(self) -> str:
        """Whose constants the estimate takes."""
        return VARIANTS[self.variant][1]


def read_cases(path: str | Path, *, hardware: str, lnc: int | None = None) -> list[Case]:
    """Return the cases of a table of measured times in its order; see ``load_measured``.

    A row needs an operator, a shape, a dtype and a time; ``hardware`` (``""``: not known) and
    ``lnc`` stand in where it names none. A row without a time, or whose work is not understood, is
    kept with its problem. Raises ``CaptureError`` or ``UnitError`` for a table or a time that
    cannot be read.
    """
    rows = load_measured(path, strict=False).rows
    for name in ("op", "dtype"):
        if not any(getattr(row, name) or row.extra.get(name) for row in rows):
            raise CaptureError(f"{path}: no column {name}")
    return [_case(row, hardware, lnc) for row in rows]


def _case(row: Measured, hardware: str, lnc: int | None) -> Case:
    calls = _calls(row)
    if calls > _MOST_CALLS:
        raise QueryError(f"line {row.line}: more than {_MOST_CALLS} calls in one time")
    clock, time_s = row.clock.key if row.clock else "device_execution", row.time_s
    active = re.search(r"total_active_us=(\d+(?:\.\d+)?)(?![\d.])", row.notes)
    if clock == "device_total" and active and float(active[1]) > 0:
        # the summary's active time stands in for the body: start-up is not the kernel's
        clock, time_s = "device_body", float(active[1]) * 1e-6
    moved = row.bytes_moved if row.bytes_kind == "measured" else None
    case = Case(
        row=row.line,
        op=row.op,
        shape=row.shape or " ".join(f"{name}={value}" for name, value in row.params.items()),
        dtype=row.dtype or row.extra.get("dtype", ""),
        variant=_variant(row.implementation),
        label=row.implementation or "eager",
        hardware=_hardware(row.hardware or "", hardware),
        lnc=lnc if row.lnc is None else row.lnc,
        working_cores=_cores(row, clock),
        clock=clock,
        time_s=math.nan if time_s is None else time_s / calls,
        notes=row.notes,
        calls=calls,
        measured_bytes=None if moved is None else moved / calls,
    )
    if time_s is None:
        return replace(case, problem="no time")
    words = f"{row.params_text} {row.notes}"
    said = Said(flops=row.flops, bytes=row.minimal_bytes, words=words)
    return _understood(case, row.params_text, said)


def _calls(row: Measured) -> int:
    """Return how many calls one time covers: as stated, or ``28 chained calls`` by name."""
    found = re.search(r"(\d+)\s+chained calls", row.implementation)
    return max(row.calls if row.calls > 1 or not found else int(found[1]), 1)


def _variant(label: str) -> str:
    try:
        name = variant_of(label or "eager")
    except QueryError:
        return "fused"
    return _ONE_LAUNCH.get(name, name)


@lru_cache(maxsize=256)
def _known(name: str) -> str | None:
    try:
        return load_hardware(name).name
    except HardwareModelError:
        return None


def _hardware(text: str, default: str) -> str:
    """Return the model name of what a row calls its hardware (``trn2.3xlarge, 1 core`` ...)."""
    for word in (text, *re.split(r"[\s,;()/]+", text)):
        if word and (name := _known(word)):
            return name
    return text or default


def _cores(row: Measured, clock: str) -> int | None:
    """Return how many physical cores worked, ``None`` for all of the logical core.

    A kernel under ``nki.benchmark`` runs on one core unless it is launched on a grid.
    """
    if row.cores is not None:
        return row.cores
    one = re.search(r"\bon (1|one)( physical)? core\b", row.notes) or clock == "nki_benchmark"
    return 1 if one else None


def _understood(case: Case, params: str, said: Said) -> Case:
    try:
        dtype = dtype_key(case.dtype)
        work = _work_of(case, params, dtype, said)
    except RooflineError as error:
        return replace(case, problem=str(error))
    return replace(case, dtype=dtype, work=work, demand=demand_of(work, separate=False))


def _work_of(case: Case, params: str, dtype: str, said: Said) -> Work:
    """Return the work of a row: from its shape, else its parameters, else its bytes alone."""
    problem: WorkError | None = None
    for text in dict.fromkeys((case.shape, params)):
        try:
            return work_from(case.op, parse_shapes(text, dtype), dtype, said=said)
        except WorkError as error:
            problem = problem or error
    half = int((said.bytes or 0) / 2 // (dtype_of(dtype).bits / 8))
    if half < 1:
        raise problem or WorkError(f"no shape in {case.shape!r}")
    side = (TensorSpec((half,), dtype),)
    return at_most(streamed(case.op, side, side, dtype, flops=said.flops), said.bytes)


def modelled_clock(case: Case) -> str:
    """Return the clock an estimate of a case is given on: its own, or the nearest modelled one."""
    return case.clock if case.clock in CLOCKS_MODELLED else "device_execution"


def hardware_of(case: Case) -> Hardware:
    """Return the hardware a case ran on; raises ``HardwareModelError`` for an unknown one."""
    return load_hardware(case.hardware, lnc=case.lnc, working_cores=case.working_cores)
