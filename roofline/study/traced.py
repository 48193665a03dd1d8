"""A framework trace without a study file: every operator it can count, placed and judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from roofline.analysis.finding import rank
from roofline.analysis.from_time import evidence_from_time
from roofline.analysis.launches import NO_VALUE, launches
from roofline.analysis.placement import place
from roofline.analysis.trace_findings import trace_findings
from roofline.analysis.verdict import Verdict, decide
from roofline.captures.hardware import hardware_of, named_hardware
from roofline.clocks import Clock
from roofline.errors import WorkError
from roofline.hardware.assumed import ASSUMED
from roofline.hardware.model import Hardware
from roofline.study.evaluate import StudyResult, rungs_of
from roofline.study.rows import Row
from roofline.study.study import Config, Measurement, Source, Study, Variant
from roofline.work.dispatched import Inputs, together, work_of_calls
from roofline.work.work import Work

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray as xr

    from roofline.captures.capture import Capture

__all__ = ["ALL", "DEVICE", "Operator", "TraceView", "evaluate_trace", "is_trace"]

ALL: Final = "all launches"
"""The name of the row of all launches together."""

DEVICE: Final = "on the device"
"""The label of a row on the device's clock beside one on a dispatch window."""

_NS: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class Operator:
    """An operator by name and input shapes over the counted steps; times in s, ``None`` unknown.

    ``problem`` says why a launched operator is not placed; ``executed`` whether each of its
    launches has an execution, so that ``device_s`` is all of them. ``window`` and ``device`` are
    the verdicts on its dispatch windows and on its executions.
    """

    name: str
    shapes: str
    is_operator: bool
    calls: int
    launches: int
    host_s: float | None
    window_s: float | None
    device_s: float | None
    work: Work | None = None
    problem: str = ""
    executed: bool = False
    window: Verdict | None = None
    device: Verdict | None = None

    @property
    def key(self) -> str:
        """Name and shapes."""
        return f"{self.name} {self.shapes}".strip()

    @property
    def time_s(self) -> float:
        """What it is ordered by: dispatch window, else device time; 0 where nothing launched."""
        return self.window_s or self.device_s or 0.0


@dataclass(frozen=True, kw_only=True)
class TraceView:
    """What a trace shows beyond placed rows.

    ``operators`` are all of them, longest first; ``launches`` is the dataset they come from.
    ``assumed`` says that the trace names no chip and none was given.
    """

    operators: tuple[Operator, ...]
    launches: xr.Dataset
    assumed: bool

    @property
    def uncounted(self) -> tuple[Operator, ...]:
        """Operators that launched and cannot be counted."""
        return tuple(one for one in self.operators if one.problem)


def is_trace(capture: Capture) -> bool:
    """Whether a capture is a framework's trace: operators on a host, and no engine events."""
    return capture.has("cpu_ops") and not capture.has("instructions")


def evaluate_trace(
    capture: Capture,
    *,
    hardware: str | None = None,
    lnc: int | None = None,
    preset: str = "vendor",
) -> StudyResult:
    """Return the operators of a trace on the hardware named, else on the one the trace names.

    A row is an operator by name and input shapes on one clock: its dispatch windows, and its
    executions where every launch has one. All launches together come first, then the longest
    operator. Times and work are sums over the steps that are no warm-up, durations that overlap
    counted once. Where no chip is named trn2 is assumed and ``trace.assumed`` set. Raises
    ``MissingTableError`` for a capture that is no trace.
    """
    named = hardware or named_hardware(capture)
    machine = hardware_of(capture, named or ASSUMED)
    if lnc is not None and lnc != machine.lnc:
        from roofline.hardware.load import load_hardware

        machine = load_hardware(machine.name, lnc=lnc)
    found = launches(capture)
    operators = _operators(found, _calls(capture, found), _keys(found))
    rows: list[Row] = []
    judged = []
    for one in operators:
        mine = _rows(one.key, one, machine, preset, one.launches)
        rows += mine
        verdicts = {row.placement.clock: row.verdict for row in mine}
        judged.append(
            replace(
                one,
                window=verdicts.get("framework_window"),
                device=verdicts.get("device_execution"),
            )
        )
    findings = rank(trace_findings(capture, found))
    study = Study(
        name=capture.path.name.removesuffix(".gz").removesuffix(".json"),
        title=capture.path.name,
        op="",
        hardware=(machine.name,),
        lnc=machine.lnc,
        working_cores=machine.working_cores,
        configs=(),
        variants=(),
        measurements=(),
        sources={"trace": Source(key="trace", title=capture.path.name, note="framework trace")},
        notes=tuple(f"{one.severity}: {one.what}" for one in capture.quality),
    )
    rows = [*_rows(ALL, _all(found, operators), machine, preset, None), *rows]
    return StudyResult(
        kind="trace",
        study=replace(
            study,
            configs=tuple(dict.fromkeys(row.measurement.config for row in rows)),
            variants=tuple(dict.fromkeys(row.variant for row in rows)),
            measurements=tuple(row.measurement for row in rows),
        ),
        hardware=machine,
        preset=preset,
        rows=tuple(rows),
        others={},
        findings=findings,
        onset=(),
        trace=TraceView(operators=tuple(judged), launches=found, assumed=named is None),
    )


def _calls(capture: Capture, found: xr.Dataset) -> list[Counter[Inputs]]:
    """Return how often each operator was called with which inputs."""
    ops = capture.table("cpu_ops", ["input_dims", "input_type", "concrete_inputs"])
    of, rows = found["call_op"].values, found["call_row"].values
    columns = [_column(ops, name) for name in ("input_dims", "input_type", "concrete_inputs")]
    calls: list[Counter[Inputs]] = [Counter() for _ in range(found.sizes["op"])]
    marks = np.stack([of, *(codes[rows] for codes, _ in columns)])
    distinct, number = np.unique(marks, axis=1, return_counts=True)
    for (op, *at), count in zip(distinct.T.tolist(), number.tolist(), strict=True):
        dims, types, concrete = (
            texts[code] if code >= 0 else "" for code, (_, texts) in zip(at, columns, strict=True)
        )
        calls[op][dims, types, concrete] += count
    return calls


def _column(ops: pa.Table, name: str) -> tuple[np.ndarray, list[str]]:
    from roofline.analysis.columns import codes

    found, texts = codes(ops, name)
    return np.asarray(found, np.int64), [str(text) for text in texts]


def _keys(found: xr.Dataset) -> list[Counter[str]]:
    """Return how many launches of each operator have which NEFF cache key; empty ones are none."""
    keys: list[Counter[str]] = [Counter() for _ in range(found.sizes["op"])]
    pairs = zip(
        found["launch_group"].values.tolist(), found["launch_key"].values.tolist(), strict=True
    )
    for (group, key), count in Counter(pairs).items():
        if group >= 0 and key:
            keys[group][key] += count
    return keys


def _operators(
    found: xr.Dataset, calls: Sequence[Counter[Inputs]], keys: Sequence[Counter[str]]
) -> list[Operator]:
    """Return every operator, counted where it launched, longest first."""
    columns = {
        name: found[f"op_{name}"].values.tolist()
        for name in ("name", "shapes", "is_operator", "calls", "launches",
                     "host_ns", "window_ns", "device_ns")
    }  # fmt: skip
    placed = found.attrs["basis"] != "dispatch"
    group, ran = found["launch_group"].values, found["launch_executions"].values > 0
    lacking = set(group[(group >= 0) & ~ran].tolist())
    operators = []
    for index, values in enumerate(zip(*columns.values(), strict=True)):
        name, shapes, is_operator, called, launched, *times = values
        work, problem = None, ""
        if launched and placed:
            try:
                work = work_of_calls(name, calls[index], keys[index], launches=launched)
            except WorkError as error:
                problem = str(error)
        if work is not None and not (work.minimal_bytes or work.total_flops):
            work, problem = None, "it computes nothing and moves nothing"
        operators.append(
            Operator(
                name=name or "(no name)",
                shapes=shapes,
                is_operator=is_operator,
                calls=called,
                launches=launched if placed else 0,
                host_s=_seconds(times[0]),
                window_s=_seconds(times[1]),
                device_s=_seconds(times[2]),
                work=work,
                problem=problem,
                executed=placed and index not in lacking,
            )
        )
    return sorted(operators, key=lambda one: (-one.time_s, -(one.host_s or 0.0)))


def _all(found: xr.Dataset, operators: Sequence[Operator]) -> Operator:
    """Return all launches as one operator; no work where none of them could be counted."""
    attrs, works = found.attrs, [one.work for one in operators if one.work is not None]
    device = found["op_device_ns"].values
    work = None
    if len(works) > 1:
        unknown = [one.name for one in operators if one.problem]
        work = together(ALL, works, unknown, launches=attrs["launches"])
    window = attrs["launch_union_ns"] if attrs["basis"] == "driver" else NO_VALUE
    return Operator(
        name=ALL,
        shapes="",
        is_operator=False,
        calls=1,
        launches=attrs["launches"],
        host_s=None,
        window_s=_seconds(window),
        device_s=float(device[device > 0].sum()) * _NS or None,
        work=work,
        executed=all(one.executed for one in operators if one.launches),
    )


def _rows(
    name: str, one: Operator, machine: Hardware, preset: str, repeats: int | None
) -> list[Row]:
    """Return a row on the dispatch windows and one on the executions, as far as known."""
    if one.work is None:
        return []
    device_s = one.device_s if one.executed else None
    times = (("framework_window", one.window_s), ("device_execution", device_s))
    known = [(clock, time_s) for clock, time_s in times if time_s]
    return [
        _row(
            name,
            one,
            machine,
            preset,
            repeats,
            clock,
            time_s,
            label=DEVICE if clock == "device_execution" and len(known) > 1 else "",
        )
        for clock, time_s in known
    ]


def _row(
    name: str, one: Operator, machine: Hardware, preset: str, repeats: int | None,
    clock: str, time_s: float, *, label: str,
) -> Row:  # fmt: skip
    work = one.work
    if work is None:
        raise WorkError(f"{name}: not counted")
    placement = place(work, machine, time_s=time_s, clock=clock)
    evidence = evidence_from_time(placement, one.device_s if one.executed else None)
    return Row(
        variant=Variant(name=name, title=name, mode=work.mode),
        measurement=Measurement(
            variant=name,
            config=Config(params=(), dtype=work.dtype),
            time_s=time_s,
            clock=Clock(key=clock, profiled=True),
            source="trace",
            label=label,
            n=repeats,
            cpu_s=one.host_s,
        ),
        work=work,
        placement=placement,
        rungs=rungs_of(placement, evidence),
        evidence=evidence,
        verdict=decide(evidence, preset),
    )


def _seconds(ns: int) -> float | None:
    return None if ns == NO_VALUE else ns * _NS
