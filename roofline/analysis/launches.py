"""What each operator of a framework trace cost: on the host, dispatched, and on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import codes, integers, known
from roofline.analysis.dataset import Builder
from roofline.analysis.dispatch import HostOps, find_units
from roofline.analysis.executions import Executions, merge_cores, own, running_rows
from roofline.analysis.launch_links import LINKS, link_launches
from roofline.analysis.steps import WARMUP_RULE, Steps, find_steps
from roofline.captures.chrome_trace.cache_key import parse_cache_key
from roofline.intervals import Int64Array, grouped_totals, merge

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray as xr

    from roofline.captures.capture import Capture

__all__ = ["BASES", "NO_VALUE", "launches"]

NO_VALUE: Final = -1
"""Stands for an unknown count or time in integer variables; attribute ``missing_value``."""

BASES: Final = {
    "driver": "events of the device's driver track: submit to completion",
    "kernels": "kernels that the device reports",
    "device": "executions that the hardware reports, cores merged",
    "dispatch": "operators the program called; the trace holds no device event",
}
"""What a launch is, by what the trace holds."""


def launches(capture: Capture, *, warmup: int | None = None) -> xr.Dataset:
    """Return host time, dispatch windows, device executions and launches of a framework trace.

    Dimensions: ``op`` (operators with the same name and input shapes), ``launch`` (one row each,
    by start), ``call`` (one call of an operator, as its row in ``cpu_ops``) and ``step``
    (``ProfilerStep#`` ranges). Times are int64 ns; -1 is not known. Durations that overlap are
    counted once. Launches outside the steps and in warm-up steps are rows of ``launch`` but not
    part of ``op``, and their calls are no rows of ``call``; ``warmup`` is the number of leading
    steps to leave out (``None``: by ``WARMUP_RULE``). Raises ``MissingTableError`` for a capture
    that is no trace.
    """
    trace = _Trace.of(capture, warmup)
    build = Builder()
    _add_ops(build, trace)
    _add_launches(build, trace)
    _add_steps(build, trace)
    return build.build(_attrs(capture, trace))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trace:
    """Columns of a trace, joined. Per launch: times, operator row, link, unit row, step."""

    basis: str
    ops: pa.Table
    host: HostOps
    steps: Steps
    names: list[str]
    starts: Int64Array
    ends: Int64Array
    queues: Int64Array
    op_row: Int64Array
    link: Int64Array
    unit: Int64Array
    step: Int64Array
    keys: list[str]
    executions: Executions

    @classmethod
    def of(cls, capture: Capture, warmup: int | None) -> _Trace:
        ops = capture.table(
            "cpu_ops",
            ["name", "pid", "tid", "start_ts", "duration_ns", "end_ts", "external_id",
             "input_dims", "input_type"],
        )  # fmt: skip
        host = find_units(ops)
        steps = find_steps(capture.table("annotations"), capture.table("runtime"), warmup)
        merged = merge_cores(running_rows(capture.table("device")))
        basis, rows = _launch_rows(capture, merged)
        if basis == "dispatch":
            unit = host.units[host.is_operator[host.units]]
            op_row, link = unit, np.zeros(len(unit), np.int64)
            names = [str(text) for text in host.names[unit]]
            starts, ends = host.starts[unit], host.ends[unit]
            queues, keys = np.zeros(len(unit), np.int64), [""] * len(unit)
        else:
            rows = rows.sort_by([("start_ts", "ascending")])
            op_row, link = link_launches(rows, ops, host, capture.table("flows"))
            unit = np.where(op_row >= 0, host.unit_of[op_row] if len(ops) else -1, -1)
            names = [text or "" for text in rows["name"].to_pylist()]
            starts, ends = integers(rows, "start_ts"), integers(rows, "end_ts")
            queues = _queues(rows)
            keys = [text or "" for text in rows["neff_cache_key"].to_pylist()]
        at = starts.copy()
        at[unit >= 0] = host.starts[unit[unit >= 0]]
        if basis in ("kernels", "device"):  # the launch is what ran
            every = np.arange(len(starts), dtype=np.int64)
            executions = Executions(starts=starts, ends=ends, owner=every)
        else:
            executions = own(merged, rows, starts, ends)
        return cls(
            basis=basis, ops=ops, host=host, steps=steps, names=names, starts=starts, ends=ends,
            queues=queues, op_row=op_row, link=link, unit=unit, step=steps.of(at), keys=keys,
            executions=executions,
        )  # fmt: skip

    @property
    def kept(self) -> npt.NDArray[np.bool_]:
        """Return which launches count: those in steps that are no warm-up, or all without steps."""
        return self.kept_at(self.step)

    def kept_at(self, step: Int64Array) -> npt.NDArray[np.bool_]:
        if not len(self.steps):
            return np.ones(len(step), np.bool_)
        return (step >= 0) & ~self.steps.warmup[np.maximum(step, 0)]

    def device_times(self, group: Int64Array, count: int) -> tuple[Int64Array, Int64Array]:
        """Return executions and device time per group of launches (-1: in no group)."""
        owner = self.executions.owner
        mine = np.where(owner >= 0, group[owner] if len(group) else -1, -1)
        held = np.flatnonzero(mine >= 0)
        number = np.bincount(mine[held], minlength=count).astype(np.int64)
        time = grouped_totals(
            mine[held], self.executions.starts[held], self.executions.ends[held], count
        )
        return np.where(number > 0, number, NO_VALUE), np.where(number > 0, time, NO_VALUE)


def _launch_rows(capture: Capture, merged: pa.Table) -> tuple[str, pa.Table]:
    driver = capture.table("driver")
    if driver.num_rows:
        return "driver", driver
    kernels = capture.table("kernels")
    if kernels.num_rows:
        import pyarrow.compute as pc

        return "kernels", kernels.filter(pc.equal(kernels["category"].cast("string"), "kernel"))
    if merged.num_rows:
        return "device", merged
    return "dispatch", driver


def _queues(rows: pa.Table) -> Int64Array:
    pid, _ = codes(rows, "pid")
    tid, tids = codes(rows, "tid")
    return (pid.astype(np.int64) + 1) * (len(tids) + 1) + tid + 1


def _groups(trace: _Trace, units: Int64Array) -> tuple[list[tuple[str, str]], Int64Array]:
    """Return operators (name, shapes) in order of their first call, and the one of each unit."""
    host = trace.host
    dims, texts = codes(trace.ops, "input_dims")
    key = host.codes[units].astype(np.int64) * (len(texts) + 1) + dims[units] + 1
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    labels = [
        (str(host.names[row]), "".join(texts[dims[row]].split()) if dims[row] >= 0 else "")
        for row in units[first[order]].tolist()
    ]
    # the two writers of one release space lists differently: equal labels are one operator
    number = {label: index for index, label in enumerate(dict.fromkeys(labels))}
    same = np.array([number[label] for label in labels], np.int64)
    return list(number), same[rank[inverse]] if len(units) else np.zeros(0, np.int64)


def _key_shapes(key: str) -> str:
    """Return the shapes in a NEFF cache key, or the key where its form is not known."""
    parsed = parse_cache_key(key)
    if parsed is None or not parsed.inputs:
        return key
    shapes = [",".join(map(str, shape)) for shape, _ in parsed.inputs]
    return f"[{','.join(f'[{shape}]' for shape in shapes)}]"


def _add_ops(build: Builder, trace: _Trace) -> None:
    host = trace.host
    unit_step = trace.steps.of(host.starts[host.units])
    units = host.units[trace.kept_at(unit_step)]
    names, group_of = _groups(trace, units)
    labels = {label: index for index, label in enumerate(names)}
    group_of_unit = np.full(len(host.starts) + 1, -1, np.int64)  # the last one is for row -1
    group_of_unit[units] = group_of
    counted = np.flatnonzero(trace.kept)
    group = group_of_unit[trace.unit[counted]]
    for index in np.flatnonzero(group < 0).tolist():
        row = int(counted[index])
        label = (trace.names[row], _key_shapes(trace.keys[row]))
        group[index] = labels.setdefault(label, len(labels))
    count = len(labels)
    operators = np.zeros(count, np.bool_)
    operators[group_of_unit[units[host.is_operator[units]]]] = True
    of_launch = np.full(len(trace.starts), -1, np.int64)
    of_launch[counted] = group
    window = grouped_totals(group, trace.starts[counted], trace.ends[counted], count)
    dims = ("op",)
    build.add("op_name", dims, _texts([name for name, _ in labels]), "1", "operator")
    build.add("op_shapes", dims, _texts([text for _, text in labels]), "1", "shapes of the inputs")
    build.add("op_is_operator", dims, operators, "1", "an operator, not a range of host time")
    build.add("op_calls", dims, np.bincount(group_of_unit[units], minlength=count).astype(np.int64),
              "1", "calls on the host")  # fmt: skip
    build.add("op_host_ns", dims,
              grouped_totals(group_of_unit[units], host.starts[units], host.ends[units], count),
              "ns", "time on the host, overlaps once")  # fmt: skip
    build.add("op_launches", dims, np.bincount(group, minlength=count).astype(np.int64), "1",
              "launches")  # fmt: skip
    build.add("op_window_ns", dims, window if trace.basis == "driver" else np.full(count, NO_VALUE),
              "ns", "time in dispatch windows, overlaps once")  # fmt: skip
    build.add("op_device_ns", dims, trace.device_times(of_launch, count)[1], "ns",
              "time with an execution on the device")  # fmt: skip
    build.add("call_row", ("call",), units.astype(np.int64), "1", "row in cpu_ops")
    build.add("call_op", ("call",), group_of_unit[units], "1", "index of the operator")
    build.add("launch_group", ("launch",), of_launch, "1",
              "index of the operator, -1 where it is not counted")  # fmt: skip


def _add_launches(build: Builder, trace: _Trace) -> None:
    dims = ("launch",)
    gap = _gaps(trace)
    window = trace.ends - trace.starts
    executions, device_ns = trace.device_times(np.arange(len(window)), len(window))
    build.add("launch_name", dims, _texts(trace.names), "1", "name of the launch")
    build.add("launch_op", dims, _texts([
        str(trace.host.names[row]) if row >= 0 else "" for row in trace.unit.tolist()
    ]), "1", "operator that asked for it")  # fmt: skip
    build.add("launch_key", dims, _texts(trace.keys), "1", "NEFF cache key")
    build.add("launch_step", dims, trace.step, "1", "index of the step, -1 outside all")
    build.add("launch_counted", dims, trace.kept, "1", "in a step that is not warm-up")
    build.add("launch_start_ns", dims, trace.starts, "ns", "start after the trace's base")
    build.add("launch_duration_ns", dims, window, "ns", BASES[trace.basis])
    build.add("launch_device_ns", dims, device_ns, "ns", "time of its executions")
    build.add("launch_executions", dims, executions, "1", "executions on the device")
    build.add("launch_gap_ns", dims, gap, "ns", "idle time of its queue before it")
    build.add("launch_link", dims, _texts([LINKS[how] for how in trace.link.tolist()]), "1",
              "how the operator was found")  # fmt: skip


def _gaps(trace: _Trace) -> Int64Array:
    """Return idle time of the queue before each launch; unknown for the first one of a step."""
    gap = np.full(len(trace.starts), NO_VALUE, np.int64)
    for queue in np.unique(trace.queues).tolist():
        mine = np.flatnonzero(trace.queues == queue)
        mine = mine[np.argsort(trace.starts[mine], kind="stable")]
        reach = np.maximum.accumulate(trace.ends[mine])
        same = trace.step[mine][1:] == trace.step[mine][:-1]
        idle = np.maximum(trace.starts[mine][1:] - reach[:-1], 0)
        gap[mine[1:]] = np.where(same, idle, NO_VALUE)
    return gap


def _add_steps(build: Builder, trace: _Trace) -> None:
    steps, count = trace.steps, len(trace.steps)
    dims = ("step",)
    inside = trace.step >= 0
    group = trace.step[inside]
    starts, ends = trace.starts[inside], trace.ends[inside]
    running = trace.executions.running
    on_device = np.array(
        [
            running.clip(start, end).total if len(running) else NO_VALUE
            for start, end in zip(steps.starts.tolist(), steps.ends.tolist(), strict=True)
        ],
        np.int64,
    )
    build.coord("step", steps.numbers, "1", "number of the profiler step")
    build.add("step_start_ns", dims, steps.starts, "ns", "start after the trace's base")
    build.add("step_duration_ns", dims, steps.ends - steps.starts, "ns", "duration on the host")
    build.add("step_warmup", dims, steps.warmup, "1", "left out as warm-up")
    build.add("step_launches", dims, np.bincount(group, minlength=count).astype(np.int64), "1",
              "launches")  # fmt: skip
    build.add("step_busy_ns", dims, grouped_totals(group, starts, ends, count), "ns",
              "time with a launch in flight, overlaps once")  # fmt: skip
    build.add("step_device_ns", dims, on_device, "ns", "time with an execution on the device")


def _attrs(capture: Capture, trace: _Trace) -> dict[str, Any]:
    counted = trace.kept
    running = trace.executions.running
    busy = merge(trace.starts[counted], trace.ends[counted])
    used = int((~trace.steps.warmup).sum())
    return {
        "capture": capture.path.name,
        "basis": trace.basis,
        "basis_meaning": BASES[trace.basis],
        "clock": {"driver": "framework_window", "dispatch": "host_wall"}.get(
            trace.basis, "device_execution"
        ),
        "profiled": 1,
        "missing_value": NO_VALUE,
        "steps_used": used if len(trace.steps) else NO_VALUE,
        "warmup_rule": WARMUP_RULE,
        "launches": int(counted.sum()),
        "launches_not_counted": int((~counted).sum()),
        "launches_without_operator": int((trace.unit[counted] < 0).sum()),
        "executions_without_launch": int((trace.executions.owner < 0).sum()),
        "launch_sum_ns": int((trace.ends - trace.starts)[counted].sum()),
        "launch_union_ns": busy.total,
        "device_union_ns": running.total if len(running) else NO_VALUE,
        "host_rows_without_start": int((~known(trace.ops, "start_ts")).sum()),
    }


def _texts(values: list[str]) -> npt.NDArray[Any]:
    return np.array(values, np.str_) if values else np.zeros(0, "<U1")
