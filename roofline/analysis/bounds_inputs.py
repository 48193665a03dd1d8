"""What the bounds need, measured from event tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofline.analysis.activity import Activity, activity
from roofline.analysis.bounds import Busy, Times, bounds_of
from roofline.analysis.columns import codes, has, integers, known
from roofline.analysis.ideal import Ideal, ideal_work, operation_of
from roofline.analysis.operands import read_operands
from roofline.analysis.throttle import limited_share
from roofline.analysis.timeline import KINDS, Timeline
from roofline.analysis.window import Window
from roofline.captures.capture import Capture
from roofline.dtypes import DTYPES
from roofline.engines import COMPUTE_ENGINES, ELEMENT_ENGINES
from roofline.hardware.model import Hardware

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Measured", "bounds", "dma_rate", "measure", "working_core"]


def bounds(
    capture: Capture,
    hardware: Hardware,
    window: str | Window = "body",
    *,
    roofs: str = "theoretical",
    core: int | None = None,
    lower_bound_s: float | None = None,
    necessary_bytes: int | None = None,
) -> xr.Dataset:
    """Return the bounds of one core of a capture over a window; see ``bounds_of``.

    ``core`` is the one with the most work if not given. ``roofs`` is ``theoretical`` or
    ``vendor`` (what the vendor's own bounds divide by). ``necessary_bytes`` are those of inputs,
    outputs and weights, from the capture's tensors if not given. Raises ``MissingTableError`` for
    a capture without events: ``capture_bounds`` takes its summary.
    """
    found = activity(capture, window)
    at = working_core(found) if core is None else core
    if necessary_bytes is None:
        necessary_bytes = _necessary(capture)
    measured = measure(capture, found, at, hardware, roofs=roofs, necessary_bytes=necessary_bytes)
    source = "counted work"
    if lower_bound_s is None:
        lower_bound_s, source = measured.useful_s, "useful part of the executed work"
    phases, length = found.phases, found.window
    body = length.name == "body"
    return bounds_of(
        measured.busy,
        Times(
            window_s=length.seconds,
            start_up_s=phases.start_up_ps / 1e12 if body else 0.0,
            tail_s=phases.tail_ps / 1e12 if body else 0.0,
            window=length.name,
        ),
        hardware,
        roofs=roofs,
        lower_bound_s=lower_bound_s,
        attrs={
            "capture": str(capture.path),
            "core": at,
            "cores": len(found.cores),
            "window_note": length.note,
            "necessary_bytes": necessary_bytes,
            "lower_bound_source": source,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Times of each resource of one core, and s for the useful part of what they executed."""

    busy: dict[str, Busy]
    useful_s: float


def measure(
    capture: Capture,
    found: Activity,
    core: int,
    hardware: Hardware,
    *,
    roofs: str = "theoretical",
    necessary_bytes: int | None = None,
) -> Measured:
    """Return the times of DMA and engines of ``core`` in the window of ``found``."""
    busy = {"dma": _dma(capture, found, core, hardware, roofs, necessary_bytes)}
    lines = found.instructions
    if lines is None:
        return Measured(busy=busy, useful_s=busy["dma"].useful or 0.0)
    inside = (lines.core == core) & (lines.start >= found.window.start_ps)
    mine = lines.take(inside & (lines.start < found.window.end_ps))
    work = ideal_work(capture.instructions, mine, hardware)
    busy["tensor"] = _tensor(capture, found, mine, work, core, hardware)
    for engine in ELEMENT_ENGINES:
        busy[engine] = _elements(found, mine, work, engine, core, hardware)
    return Measured(busy=busy, useful_s=_useful_s(mine, work, busy, hardware, capture))


def dma_rate(hardware: Hardware, roofs: str) -> float:
    """Return the B/s the bounds divide bytes by: the vendor's DMA figure, or what binds."""
    if roofs != "vendor":
        return hardware.memory_ceiling(roofs).value
    path = [roof for roof in hardware.memory_roofs("vendor") if roof.resource == "dma"]
    return path[0].value if path else hardware.memory_ceiling("vendor").value


def working_core(found: Activity) -> int:
    """Return the core with the most compute time and packet time in the window."""

    def work(core: int) -> int:
        engines = sum(found.busy(name, core, "compute").total for name in COMPUTE_ENGINES)
        return engines + found.transfers(core).total

    return max(found.cores, key=work)


def _necessary(capture: Capture) -> int | None:
    """Return bytes of inputs, outputs and weights: from the tensors, else from the summary."""
    if capture.has("tensors"):
        kind, names = codes(capture.tensors, "type")
        wanted = [at for at, name in enumerate(names) if name in ("IN", "OUT", "WEIGHT")]
        size = int(integers(capture.tensors, "size")[np.isin(kind, wanted)].sum())
        return size or None
    value = capture.summary.get("inputs_outputs_weights_size_bytes")
    return int(value) if value else None


def _dma(
    capture: Capture,
    found: Activity,
    core: int,
    hardware: Hardware,
    roofs: str,
    necessary: int | None,
) -> Busy:
    dma = found.dma
    if dma is None:
        return Busy()
    rate = dma_rate(hardware, roofs)
    inside = (dma.start >= found.window.start_ps) & (dma.start < found.window.end_ps)
    rows = np.flatnonzero(inside & dma.payload & (dma.core == core))
    ideal = int(dma.size[rows].sum()) / rate
    return Busy(
        actual=found.transfers(core).total / 1e12,
        achievable=max(ideal, _achievable(capture, found, core, dma.size[rows], hardware)),
        ideal=ideal,
        useful=None if necessary is None else min(ideal, necessary / rate),
    )


def _achievable(
    capture: Capture, found: Activity, core: int, sizes: Any, hardware: Hardware
) -> float:
    """Return s for these packets on all DMA engines back to back, by packet and element cost.

    A packet takes its bytes over the link rate and a fixed interval, an element into SBUF at
    least its floor; together they are not faster than the sustained rate of the core's path.
    """
    engines = hardware.value("dma.engines_count").value
    link = hardware.value("dma.link_bytes_per_s").value
    packets = float(sizes.sum()) / link
    if "dma.packet.interval_s" in hardware.values:
        packets += len(sizes) * hardware.value("dma.packet.interval_s").value
    elements = 0.0
    operands = read_operands(capture.instructions) if found.instructions is not None else None
    if operands is not None and "dma.element.to_sbuf.floor_s" in hardware.values:
        lines = found.instructions
        assert lines is not None
        issued = (lines.core == core) & (lines.start >= found.window.start_ps)
        rows = lines.row[issued & (lines.start < found.window.end_ps)]
        element = operands.integers("dma_element")[rows]
        size = operands.integers("dma_bytes")[rows]
        each = np.flatnonzero((element > 0) & (size > 0))
        floor = hardware.value("dma.element.to_sbuf.floor_s").value
        # what the element costs beyond its bytes, which the packets already have
        extra = np.maximum(floor - element[each] / link, 0.0)
        elements = float((size[each] / element[each] * extra).sum())
    sustained = [
        roof.value
        for roof in hardware.memory_roofs()
        if roof.resource == "dma" and roof.kind in ("measured", "sustained") and not roof.direction
    ]
    at_best = float(sizes.sum()) / max(sustained) * hardware.working_cores if sustained else 0.0
    return max((packets + elements) / engines, at_best)


def _tensor(
    capture: Capture,
    found: Activity,
    mine: Timeline,
    work: Ideal,
    core: int,
    hardware: Hardware,
) -> Busy:
    actual = found.busy("tensor", core).total / 1e12
    rows = np.flatnonzero(
        (mine.engine == mine.engines.index("tensor")) & (mine.kind == KINDS.index("compute"))
    )
    known_work = np.isfinite(work.cycles[rows])
    if not np.all(known_work):
        return Busy(actual=actual)
    clock = hardware.clock_hz("tensor")
    limit = limited_share(capture, mine, rows, hardware)
    filled = work.filled_cycles[rows]
    ideal = float(filled.sum()) / clock if np.all(np.isfinite(filled)) else None
    useful = None
    table = capture.instructions
    marked = known(table, "tensor_instruction_type")[mine.row[rows]]
    if ideal is not None and np.all(marked) and has(table, "tensor_instruction_type"):
        kind, names = codes(table, "tensor_instruction_type")
        transposes = names.index("TRANSPOSE") if "TRANSPOSE" in names else -2
        useful = float(filled[kind[mine.row[rows]] != transposes].sum()) / clock
    return Busy(
        actual=actual,
        achievable=float((work.cycles[rows] / limit).sum()) / clock,
        streamed=float(work.cycles[rows].sum()) / clock,
        ideal=ideal,
        useful=useful,
    )


def _elements(
    found: Activity, mine: Timeline, work: Ideal, engine: str, core: int, hardware: Hardware
) -> Busy:
    actual = found.busy(engine, core).total / 1e12
    rows = np.flatnonzero(
        (mine.engine == mine.engines.index(engine)) & (mine.kind == KINDS.index("compute"))
    )
    if not np.all(np.isfinite(work.cycles[rows])):
        return Busy(actual=actual)
    clock = hardware.clock_hz(engine)
    overhead = np.array(
        [_interval(hardware, engine, operation_of(name)) for name in mine.opcodes] or [0.0]
    )[mine.opcode[rows]]
    floor = hardware.value("instructions.any.interval_floor_cycles").value
    apiece = np.maximum(work.cycles[rows] + overhead, floor)
    moves = np.array([operation_of(name) == "tensor_copy" for name in mine.opcodes] or [False])
    keep = ~moves[mine.opcode[rows]]
    return Busy(
        actual=actual,
        achievable=float(apiece.sum()) / clock,
        ideal=float(work.cycles[rows].sum()) / clock,
        useful=float(work.cycles[rows][keep].sum()) / clock,
    )


def _useful_s(
    mine: Timeline, work: Ideal, busy: Mapping[str, Busy], hardware: Hardware, capture: Capture
) -> float:
    """Return s for the useful part of the executed work with passes spread over all engines."""
    useful = np.array([operation_of(name) != "tensor_copy" for name in mine.opcodes] or [False])
    rows = np.flatnonzero(np.isfinite(work.passes) & useful[mine.opcode])
    passes = float(work.passes[rows].sum())
    elements = 0.0
    operands = read_operands(capture.instructions)
    if passes and operands is not None:
        dtypes = {
            name
            for at in np.unique(operands.code[mine.row[rows]])
            for name in operands.parsed[at].dtypes
        } & set(DTYPES)
        # no dtype of the mix is faster than the fastest one
        rates = [hardware.best_element_rate(name) for name in dtypes]
        elements = passes / max(rates) * hardware.working_cores if rates else 0.0
    known_s = [elements, *(busy[name].useful or 0.0 for name in ("tensor", "dma"))]
    return max(known_s)


def _interval(hardware: Hardware, engine: str, operation: str) -> float:
    """Return cycles between the starts of two instructions beyond their elements."""
    for path in (
        f"instructions.{engine}.{operation}.interval_cycles",
        f"instructions.{engine}.any.interval_cycles",
        f"instructions.{engine}.any.start_cycles",
    ):
        if path in hardware.values:
            return hardware.value(path).value
    return 0.0
