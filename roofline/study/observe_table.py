"""Observe a table of measured times: rows of one kernel and shape are repeats of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roofline.analysis.observed import Observed, Run, Timing
from roofline.captures.measured.row import Measured
from roofline.captures.measured.table import MeasuredTable

if TYPE_CHECKING:
    from roofline.study.options import Options

__all__ = ["observe_table"]


def observe_table(table: MeasuredTable, options: Options) -> Run:
    """Return the rows of a table that have a time; others are counted in a note."""
    timed = [row for row in table.rows if row.time_s is not None]
    absent = len(table.rows) - len(timed)
    return Run(
        label=table.path.name.split(".")[0],
        source=str(table.path),
        format="measured table",
        observed=tuple(_observed(row, options) for row in timed),
        notes=(f"{table.path.name}: {absent} rows without a time",) if absent else (),
    )


def _observed(row: Measured, options: Options) -> Observed:
    shape = row.shape or ", ".join(f"{name}={value}" for name, value in row.params.items())
    op = row.op or row.name
    hardware = options.hardware or row.hardware or ""
    return Observed(
        kernel=row.implementation or op or "(no name)",
        config=" ".join(filter(None, (op if row.implementation else "", shape, row.dtype))),
        timings=(_timing(row),),
        calls=row.calls,
        flops=row.flops,
        bytes={row.bytes_kind: row.bytes_moved} if row.bytes_moved and row.bytes_kind else {},
        bound_s=_floor(row, hardware, options),
        bound_what="lower bound of the minimal bytes",
        hardware=hardware,
        lnc=options.lnc if options.lnc is not None else row.lnc,
    )


def _timing(row: Measured) -> Timing:
    """Return the time with the spread its own percentiles show."""
    high = next((row.times_s[p] for p in ("p99", "p95", "p90", "max") if p in row.times_s), None)
    seconds = row.time_s or 0.0
    spread = None if high is None or high < seconds else (high - seconds) / seconds
    return Timing(
        seconds=seconds,
        clock=row.clock.key if row.clock else "",
        profiled=row.clock.profiled if row.clock else None,
        n=row.repeats,
        spread=spread,
        spread_source="" if spread is None else "from the middle to the highest percentile given",
    )


def _floor(row: Measured, hardware: str, options: Options) -> float | None:
    if not hardware or row.bytes_kind != "minimal" or not row.bytes_moved:
        return None
    from roofline.hardware.load import load_hardware

    lnc = options.lnc if options.lnc is not None else row.lnc
    ceiling = load_hardware(hardware, lnc=lnc).memory_ceiling("theoretical")
    return row.bytes_moved * row.calls / ceiling.value
