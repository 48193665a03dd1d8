"""Measured times: read a CSV file and say what work, hardware and variant each row is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from roofline.dtypes import dtype_key, dtype_of
from roofline.errors import HardwareModelError, QueryError, RooflineError, WorkError
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.model.demand import Demand, demand_of
from roofline.model.operands import Said, parse_shapes, work_from
from roofline.model.rates import CLOCKS_MODELLED
from roofline.model.schedule import VARIANTS, variant_of
from roofline.model.streams import at_most, streamed
from roofline.textfile import read_csv
from roofline.units import parse_time
from roofline.work.specs import TensorSpec
from roofline.work.work import Work

__all__ = ["Case", "hardware_of", "modelled_clock", "read_cases"]

_TIMES: Final = {
    "time_s": 1.0,
    "time_ms": 1e-3,
    "time_us": 1e-6,
    "latency_us": 1e-6,
    "latency_ms": 1e-3,
    "time_ns": 1e-9,
}
_NAMES: Final = {
    "variant": ("variant", "implementation", "impl"),
    "hardware": ("hardware", "instance", "hw"),
    "shape": ("shape", "shapes", "params"),
    "notes": ("notes", "note"),
    "params": ("params", "parameters"),
    "flops": ("flops", "flops_by_their_formula"),
    "bytes": ("min_bytes", "minimal_bytes"),
}
_CLOCK_WORDS: Final = (
    (r"total_time", "device_total"),
    (r"nki\.benchmark|nki benchmark|\bNCL?\b", "nki_benchmark"),
)
"""What notes say of the clock -> clock."""

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


def read_cases(path: str | Path, *, hardware: str = "trn2", lnc: int | None = None) -> list[Case]:
    """Return the cases of a CSV file in its order.

    Needs the columns ``op``, ``shape``, ``dtype`` and a time (``time_us``, ``latency_us``,
    ``time_s`` ... or ``time`` with its unit); ``implementation`` or ``variant``, ``hardware`` or
    ``instance``, ``lnc``, ``clock`` and ``notes`` are used where present, ``hardware`` and ``lnc``
    stand in where not. A row without a time, or whose work is not understood, is kept with its
    problem; a time that is no positive number is an error.
    """
    path = Path(path)
    columns, rows = read_csv(path, QueryError)
    if missing := [name for name in ("op", "dtype") if name not in columns]:
        raise QueryError(
            f"{path}: no column {', '.join(missing)}; found: {', '.join(columns) or 'nothing'}"
        )
    if not {"time", *_TIMES} & set(columns):
        raise QueryError(
            f"{path}: no time column; write one of {', '.join(_TIMES)}, or time with a unit"
        )
    cases = list(_cases(path, rows, hardware, lnc))
    if not cases:
        raise QueryError(f"{path}: no rows")
    return cases


def _cases(
    path: Path, rows: Iterable[Mapping[str, str]], hardware: str, lnc: int | None
) -> Iterator[Case]:
    for number, row in enumerate(rows, 2):
        found = {key: _first(row, names) for key, names in _NAMES.items()}
        calls = _calls(row, found["variant"])
        clock, time_s = _clock(row, found["notes"]), _time(path, number, row)
        active = re.search(r"total_active_us=([\d.]+)", found["notes"])
        if clock == "device_total" and active:
            # the summary's active time stands in for the body: start-up is not the kernel's
            clock, time_s = "device_body", float(active[1]) * 1e-6
        read, write = _float(row.get("hbm_read_bytes")), _float(row.get("hbm_write_bytes"))
        case = Case(
            row=number,
            op=(row.get("op") or "").strip(),
            shape=found["shape"],
            dtype=(row.get("dtype") or "").strip(),
            variant=_variant(found["variant"]),
            label=found["variant"] or "eager",
            hardware=_hardware(found["hardware"], hardware),
            lnc=int(row["lnc"]) if (row.get("lnc") or "").strip().isdecimal() else lnc,
            working_cores=_cores(row, found["notes"], clock),
            clock=clock,
            time_s=time_s / calls,
            notes=found["notes"],
            calls=calls,
            measured_bytes=None if read is None or write is None else (read + write) / calls,
        )
        if not math.isfinite(time_s):
            yield replace(case, problem="no time")
            continue
        said = Said(
            flops=_float(found["flops"]),
            bytes=_float(found["bytes"]),
            words=f"{found['params']} {found['notes']}",
        )
        yield _understood(case, found["params"], said)


def _first(row: Mapping[str, str], names: Iterable[str]) -> str:
    return next((row[name].strip() for name in names if (row.get(name) or "").strip()), "")


def _float(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _time(path: Path, number: int, row: Mapping[str, str]) -> float:
    """Return the time of a row in s, NaN where it has none."""
    if not any((row.get(name) or "").strip() for name in ("time", *_TIMES)):
        return math.nan
    for name, unit in _TIMES.items():
        text = (row.get(name) or "").strip()
        if text:
            value = _float(text)
            seconds = math.nan if value is None else value * unit
            break
    else:
        text = (row.get("time") or "").strip()
        seconds = parse_time(text) if text else math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise QueryError(f"{path}: line {number}: not a positive time: {text!r}")
    return seconds


def _calls(row: Mapping[str, str], label: str) -> int:
    """Return how many calls one time covers: column ``calls``, or ``28 chained calls``."""
    text = (row.get("calls") or "").strip()
    found = re.search(r"(\d+)\s+chained calls", label)
    count = int(text) if text.isdecimal() else int(found[1]) if found else 1
    return max(count, 1)


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


def _clock(row: Mapping[str, str], notes: str) -> str:
    given = (row.get("clock") or "").strip()
    if given:
        return given
    return next(
        (key for pattern, key in _CLOCK_WORDS if re.search(pattern, notes)), "device_execution"
    )


def _cores(row: Mapping[str, str], notes: str, clock: str) -> int | None:
    """Return how many physical cores worked, ``None`` for all of the logical core.

    A kernel under ``nki.benchmark`` runs on one core unless it is launched on a grid.
    """
    given = (row.get("working_cores") or row.get("cores") or "").strip()
    if given.isdecimal():
        return int(given)
    one = re.search(r"\bon (1|one)( physical)? core\b", notes) or clock == "nki_benchmark"
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
