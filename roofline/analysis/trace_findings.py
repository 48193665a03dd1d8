"""Findings that a framework trace alone supports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from roofline.analysis.checks import Checks
from roofline.analysis.columns import codes, integers, known
from roofline.analysis.dispatch import HostOps, find_units
from roofline.analysis.finding import Finding
from roofline.analysis.launch_links import ids, link_by_id
from roofline.captures.chrome_trace.operands import parse_operands
from roofline.dtypes import DTYPES
from roofline.intervals import Int64Array, merge
from roofline.units import format_percent, format_time

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray as xr

    from roofline.captures.capture import Capture

__all__ = ["TRACE_CHECKS", "Trace", "trace_findings"]

_COPY_IN: Final = "dmem_buf_copyin"
_SWITCH: Final = "nc_model_switch"
_COPIES: Final = frozenset({"aten::_to_copy", "aten::copy_"})
_SHOWN: Final = 3
_NS: Final = 1e-9
_SCALAR_REMEDY: Final = "pass a Python number, or create the scalar on the device once"
_HOST_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """A framework trace as findings see it: its host operators, and the ``launches`` result."""

    capture: Capture
    result: xr.Dataset
    ops: pa.Table
    host: HostOps


TRACE_CHECKS: Final = Checks[Trace]("a trace")


def trace_findings(capture: Capture, result: xr.Dataset) -> tuple[Finding, ...]:
    """Return ranked findings of a trace and of the ``launches`` result made from it."""
    ops = capture.table(
        "cpu_ops",
        ["name", "pid", "tid", "start_ts", "duration_ns", "end_ts", "external_id", "input_dims",
         "input_type"],
    )  # fmt: skip
    return TRACE_CHECKS.run(Trace(capture=capture, result=result, ops=ops, host=find_units(ops)))


@TRACE_CHECKS.finding("no-device-events", "no-executions")
def _no_device(trace: Trace) -> Iterable[Finding]:
    capture, result = trace.capture, trace.result
    basis = result.attrs["basis"]
    if basis == "dispatch":
        runtime = capture.table("runtime").num_rows
        seen = f"; {runtime} runtime events on the host" if runtime else ""
        yield Finding(
            id="no-device-events",
            what="the trace holds no event of a device: only host times are known",
            evidence=f"{capture.table('cpu_ops').num_rows} host operators, 0 driver, kernel or "
            f"hardware events{seen}",
            remedy="record with activities CPU and PrivateUse1 and the profiler's configuration, "
            "and call torch.neuron.synchronize() before the profiler stops (before each step ends)",
        )
    elif basis == "driver" and not (result["launch_executions"].values > 0).any():
        yield Finding(
            id="no-executions",
            what="dispatch windows without executions: device time is not known",
            evidence=f"{result.attrs['launches']} launches, no nc_exec_running",
            remedy="add the RUNTIME mode to the profiler's configuration",
        )


@TRACE_CHECKS.finding("trace-cut-short", "launches-without-execution")
def _missing_tail(trace: Trace) -> Iterable[Finding]:
    """Operators after the last launch of a trace that has launches for the ones before."""
    result, host = trace.result, trace.host
    if result.attrs["basis"] == "dispatch" or not result.sizes["launch"]:
        return
    launched = set(result["launch_op"].values.tolist()) - {""}
    last = int(result["launch_start_ns"].values.max())
    units = host.units[host.is_operator[host.units]]
    late = [str(host.names[row]) for row in units.tolist() if host.starts[row] > last]
    missing = [name for name in late if name in launched]
    if missing:
        yield Finding(
            id="trace-cut-short",
            what="the last operators have no launch although the same operators had one before",
            evidence=_listed(missing) + " after the last launch",
            remedy="call torch.neuron.synchronize() before the step or the profiler ends",
            confidence="medium",
        )
    executions = result["launch_executions"].values
    counted = result["launch_counted"].values
    bare = int(((executions < 0) & counted).sum())
    if 0 < bare < int(counted.sum()):
        yield Finding(
            id="launches-without-execution",
            what="some launches have no execution in the trace: their device time is not known",
            evidence=f"{bare} of {int(counted.sum())} launches",
            remedy="synchronize before the profiler stops; events of a core may have been dropped",
            confidence="medium",
        )


@TRACE_CHECKS.finding("host-scalar", "host-scalar-copy")
def _scalar_copies(trace: Trace) -> Iterable[Finding]:
    """Tensors without dimensions that live on the CPU, and the copies they cause."""
    capture, ops, host, result = trace.capture, trace.ops, trace.host, trace.result
    scalars = _scalar_inputs(ops, host)
    copies = _copy_rows(capture)
    owner = _owners(copies, ops, host, capture)
    size = integers(copies, "bytes") if copies.num_rows else np.zeros(0, np.int64)
    sized = known(copies, "bytes") if copies.num_rows else np.zeros(0, np.bool_)
    start, end = integers(copies, "start_ts"), integers(copies, "end_ts")
    launching = (
        set(result["launch_op"].values.tolist()) if result.attrs["basis"] != "dispatch" else set()
    )
    every = np.bincount(owner[owner >= 0], minlength=len(host.names))
    taken = [row for rows, _, _ in scalars.values() for row in rows]
    plain = np.setdiff1d(host.units[host.is_operator[host.units]], np.array(taken, np.int64))
    usual = float(np.median(every[plain])) if len(plain) else 0.0
    for name, (rows, dtype, expected) in scalars.items():
        if launching and name not in launching:
            continue
        mine = np.isin(owner, rows)
        exact = mine & sized & (size == expected)
        if exact.any():
            yield Finding(
                id="host-scalar-copy",
                what=f"{name} copies a {dtype} scalar from the host to the device",
                evidence=f"{int(exact.sum())} copies of {expected} B in {len(rows)} calls: "
                f"{int(size[exact].sum())} B",
                at_stake_s=merge(start[exact], end[exact]).total * _NS,
                subject=name,
                remedy=_SCALAR_REMEDY,
            )
        elif (mine & ~sized).sum() > usual * len(rows):
            # a launch copies more than its scalars: only what exceeds other launches is the scalar
            yield Finding(
                id="host-scalar-copy",
                what=f"{name} copies more to the device than other operators, and takes a {dtype} "
                "scalar that may live on the CPU",
                evidence=f"{int(mine.sum()) / len(rows):.3g} copies a call against {usual:.3g}; "
                f"the scalar has {expected} B, the trace gives no sizes",
                confidence="medium",
                subject=name,
                remedy=_SCALAR_REMEDY,
            )
        elif not copies.num_rows:
            yield Finding(
                id="host-scalar",
                what=f"{name} takes a {dtype} tensor without dimensions, which may live on the CPU",
                evidence=f"{len(rows)} calls, {expected} B each; the trace holds no copy events",
                confidence="low",
                subject=name,
                remedy=_SCALAR_REMEDY,
            )


def _scalar_inputs(ops: pa.Table, host: HostOps) -> dict[str, tuple[list[int], str, int]]:
    """Return per operator the units with a 0-d tensor beside others: rows, dtype, bytes a call."""
    dims, dim_texts = codes(ops, "input_dims")
    types, type_texts = codes(ops, "input_type")
    found: dict[str, tuple[list[int], str, int]] = {}
    rows = host.units[host.is_operator[host.units]]
    key = np.stack([host.codes[rows], dims[rows], types[rows]], axis=1)
    _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    inverse = np.asarray(inverse).reshape(-1)
    for index, row in enumerate(rows[first].tolist()):
        operands = parse_operands(
            dim_texts[dims[row]] if dims[row] >= 0 else None,
            type_texts[types[row]] if types[row] >= 0 else None,
        )
        if not operands or all(operand.is_scalar for operand in operands):
            continue
        scalars = [each for each in operands if each.is_scalar and not each.wrapped]
        if scalars:
            size = sum(DTYPES[each.dtype].bytes_for(1) for each in scalars if each.dtype)
            dtype = scalars[0].dtype or scalars[0].written
            mine = rows[inverse == index].tolist()
            found.setdefault(str(host.names[row]), ([], dtype, size))[0].extend(mine)
    return found


def _copy_rows(capture: Capture) -> pa.Table:
    """Return the copies from host to device, of the Neuron runtime or of another device."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def chosen(table: pa.Table, pattern: str) -> pa.Table:
        return table.filter(pc.match_substring_regex(table["name"].cast(pa.string()), pattern))

    runtime = chosen(capture.table("runtime"), f"^{_COPY_IN}")
    other = chosen(capture.table("kernels"), "HtoD|Host.?to.?Device")
    return pa.concat_tables([runtime, other]).unify_dictionaries().combine_chunks()


def _owners(copies: pa.Table, ops: pa.Table, host: HostOps, capture: Capture) -> Int64Array:
    """Return the unit of each copy: by identifier, by thread and time, or by launch window."""
    owner = np.full(copies.num_rows, -1, np.int64)
    if not copies.num_rows:
        return owner
    row = link_by_id(ids(copies, "external_id"), ids(ops, "external_id"))
    owner = np.where(row >= 0, host.unit_of[np.maximum(row, 0)] if len(ops) else -1, -1)
    places = copies.select(["pid", "tid", "start_ts"]).to_pylist()
    for index in np.flatnonzero(owner < 0).tolist():
        place = places[index]
        if place["start_ts"] is not None:
            owner[index] = host.unit_at((place["pid"] or "", place["tid"] or ""), place["start_ts"])
    driver = capture.table("driver").sort_by([("start_ts", "ascending")])
    if (owner < 0).any() and driver.num_rows:
        launch = link_by_id(ids(copies, "nrt_sequence_id"), ids(driver, "nrt_sequence_id"))
        start, end = integers(driver, "start_ts"), integers(driver, "end_ts")
        at = integers(copies, "start_ts")
        held = np.searchsorted(start, at, "right") - 1
        inside = (held >= 0) & (at < end[np.maximum(held, 0)])
        launch = np.where(launch >= 0, launch, np.where(inside, held, -1))
        row = link_by_id(ids(driver, "external_id"), ids(ops, "external_id"))[launch]
        linked = (owner < 0) & (launch >= 0) & (row >= 0)
        owner[linked] = host.unit_of[row[linked]]
    return owner


@TRACE_CHECKS.finding("cpu-fallback")
def _fallbacks(trace: Trace) -> Iterable[Finding]:
    """Operators that copied their data and had no launch while others launched."""
    result, host = trace.result, trace.host
    if result.attrs["basis"] == "dispatch":
        return
    launched = set(result["launch_op"].values.tolist())
    copying = np.isin(host.names, list(_COPIES))
    around = host.unit_of[np.flatnonzero(copying)]
    has_copy = np.zeros(len(host.names), np.bool_)
    has_copy[around[around >= 0]] = True
    named = np.array(["fallback" in str(name).lower() for name in host.names], np.bool_)
    inside = host.unit_of[np.flatnonzero(named)]
    for rows, confidence, why in (
        (np.unique(inside[inside >= 0]), "high", "the trace names a fallback"),
        (
            np.array(
                [
                    row
                    for row in host.units[host.is_operator[host.units]].tolist()
                    if has_copy[row]
                    and str(host.names[row]) not in launched
                    and str(host.names[row]) not in _MOVES
                ],
                np.int64,
            ),
            "medium",
            "no launch, and its data was copied on the host",
        ),
    ):
        for name, number in Counter(str(host.names[row]) for row in rows.tolist()).items():
            mine = rows[host.names[rows] == name]
            yield Finding(
                id="cpu-fallback",
                what=f"{name} ran on the CPU",
                evidence=f"{number} calls; {why}",
                remedy="use an operator that the device supports, or keep this one out of the step",
                subject=name,
                at_stake_s=merge(host.starts[mine], host.ends[mine]).total * _NS,
                confidence=confidence,
            )


_MOVES: Final = frozenset({"aten::to", "aten::copy_", "aten::_to_copy", "aten::clone", "aten::cpu"})


@TRACE_CHECKS.finding("model-switches")
def _switches(trace: Trace) -> Iterable[Finding]:
    capture, result = trace.capture, trace.result
    import pyarrow as pa
    import pyarrow.compute as pc

    device = capture.table("device", ["name", "start_ts", "duration_ns", "end_ts"])
    rows = device.filter(pc.equal(device["name"].cast(pa.string()), _SWITCH))
    if not rows.num_rows:
        return
    launches = result.attrs["launches"] + result.attrs["launches_not_counted"]
    each = f", {rows.num_rows / launches:.2g} a launch" if launches else ""
    yield Finding(
        id="model-switches",
        what="the device switched between programs",
        evidence=f"{rows.num_rows} switches{each}",
        remedy="fuse operators or compile the step, so that fewer NEFFs take turns",
        at_stake_s=merge(integers(rows, "start_ts"), integers(rows, "end_ts")).total * _NS,
    )


@TRACE_CHECKS.finding("overlapping-durations")
def _overlap(trace: Trace) -> Iterable[Finding]:
    result = trace.result
    total, union = result.attrs["launch_sum_ns"], result.attrs["launch_union_ns"]
    if total > union:
        yield Finding(
            id="overlapping-durations",
            what="launches overlap in time: their summed durations count some time twice",
            evidence=f"sum {format_time(total * _NS)}, union {format_time(union * _NS)}",
            remedy="use the union, which every total here is",
        )


@TRACE_CHECKS.finding("launch-bound")
def _host_share(trace: Trace) -> Iterable[Finding]:
    result = trace.result
    if result.attrs["basis"] != "driver":
        return
    counted = result["launch_counted"].values
    on_device = result["launch_device_ns"].values
    both = counted & (on_device >= 0)
    window = int(result["launch_duration_ns"].values[both].sum())
    device = int(on_device[both].sum())
    if window and device / window < _HOST_SHARE:
        yield Finding(
            id="launch-bound",
            what="the dispatch windows are mostly not device time",
            evidence=f"{format_time(device * _NS)} of {format_time(window * _NS)} in "
            f"{int(both.sum())} windows on the device "
            f"({format_percent(device / window)})",
            remedy="fewer launches: fuse, compile, or put the operator into its neighbours' graph",
            at_stake_s=(window - device) * _NS,
        )


@TRACE_CHECKS.finding("warmup-excluded", "single-step")
def _few_steps(trace: Trace) -> Iterable[Finding]:
    result = trace.result
    used = result.attrs["steps_used"]
    left_out = int(result["step_warmup"].values.sum())
    if left_out:
        yield Finding(
            id="warmup-excluded",
            what=f"{left_out} of {result.sizes['step']} steps are left out as warm-up",
            evidence=result.attrs["warmup_rule"],
        )
    if used == 1:
        yield Finding(
            id="single-step",
            what="one step only: nothing is known about the spread of these times",
            evidence="n = 1",
            remedy="record more active steps, and confirm with an unprofiled time",
        )


def _listed(names: list[str]) -> str:
    counts = Counter(names).most_common()
    text = ", ".join(f"{name} x {number}" for name, number in counts[:_SHOWN])
    return text + (f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else "")
