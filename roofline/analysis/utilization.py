"""What each engine and the DMA did in a window: one Dataset, exact, in any number of bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.analysis.activity import Activity, activity
from roofline.analysis.columns import has, integers
from roofline.analysis.dataset import Builder, ratio
from roofline.analysis.dma_use import add_dma
from roofline.analysis.grouping import BY, MAX_BINS, Groups, labelled
from roofline.analysis.ideal import ideal_ps, ideal_work
from roofline.analysis.throttle import mean_limit
from roofline.analysis.timeline import (
    KINDS,
    Timeline,
)
from roofline.analysis.window import Window
from roofline.captures.capture import Capture
from roofline.engines import COMPUTE_ENGINES
from roofline.errors import QueryError
from roofline.hardware.model import Hardware
from roofline.intervals import EMPTY, Int64Array, overlap_matrix

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["AMOUNTS", "utilization"]

AMOUNTS: Final = {
    "elements": ("element", "elements processed, partitions times elements a partition"),
    "element_passes": ("element", "element-passes: elements through a lane by one instruction"),
    "raw_flops": ("FLOP", "Tensor FLOP, a multiply-accumulate counted 2"),
    "adjusted_flops": ("FLOP", "Tensor FLOP in bf16 equivalents"),
    "hbm_read_bytes": ("B", "bytes read from HBM"),
    "hbm_write_bytes": ("B", "bytes written to HBM"),
    "sbuf_read_bytes": ("B", "bytes read from SBUF"),
    "sbuf_write_bytes": ("B", "bytes written to SBUF"),
    "psum_read_bytes": ("B", "bytes read from PSUM"),
    "psum_write_bytes": ("B", "bytes written to PSUM"),
}
"""Amounts of instructions that are summed where the capture has them: unit and meaning."""

RATES: Final = {
    "raw_flops": ("FLOP/s", "Tensor FLOP"),
    "adjusted_flops": ("FLOP/s", "Tensor FLOP in bf16 equivalents"),
    "element_passes": ("element/s", "element-passes"),
}
"""Amounts that are given as rates too."""

_KIND_NAMES: Final = {
    "compute": "computing",
    "weight_load": "loading weights and nothing else",
    "dma_issue": "issuing DMA and nothing else",
    "table_load": "loading a function table and nothing else",
    "control": "only in control instructions",
}


def utilization(
    capture: Capture,
    *,
    window: str | Window = "body",
    by: Sequence[str] = ("engine",),
    where: str | None = None,
    bins: int | None = None,
    hardware: Hardware | None = None,
) -> xr.Dataset:
    """Return what each engine and the DMA did in a window.

    Dims ``engine``, ``core``, and as asked the names in ``by`` (``opcode``, ``kind``, ``layer``,
    ``source`` for instructions; ``queue``, ``class``, ``dma_engine``, ``variable`` for packets)
    and ``bin``. Times are int64 ps, amounts int64; rates and shares float64, NaN where unknown.
    Bins are exact: they sum to the value without bins. ``hardware`` adds what needs clocks:
    ideal time and percent of ideal. Time a row is outside the window is not counted, and its
    amounts are spread evenly over its duration.
    """
    if bins is not None and bins < 1:
        raise QueryError(f"bins: {bins}; at least 1")
    found = activity(capture, window, where)
    first, last = found.window.start_ps, found.window.end_ps
    if bins is not None and bins > last - first:
        raise QueryError(f"bins: {bins}; the window has {last - first} ps")
    if bins is not None and bins > MAX_BINS:
        raise QueryError(f"bins: {bins}; at most {MAX_BINS}")
    edges = _edges(first, last, bins or 1)
    out = Builder()
    out.coord("core", list(found.cores), "1", "physical core in the logical core")
    if bins:
        out.coord("bin", (edges[:-1] - edges[0]) // 1, "ps", "start of the bin in the window")
        out.add("bin_ps", ("bin",), np.diff(edges), "ps", "length of the bin")
    extra = [name for name in by if name not in ("engine", "core")]
    used = _add_engines(out, capture, found, edges, extra, bins, hardware)
    used |= add_dma(out, capture, found, edges, extra, bins)
    unknown = [name for name in extra if name not in used]
    if unknown:
        raise QueryError(f"by {unknown[0]!r}: no such column; known: {', '.join(_known(capture))}")
    if not extra:
        _add_overlap(out, found, edges, bins)
    return out.build(_attrs(capture, found, where, hardware))


def _edges(first: int, last: int, bins: int) -> Int64Array:
    """Return bin edges as equal as whole ps allow, without a float."""
    return np.array([first + (last - first) * i // bins for i in range(bins + 1)], np.int64)


def _attrs(
    capture: Capture, found: Activity, where: str | None, hardware: Hardware | None
) -> dict[str, Any]:
    window, phases = found.window, found.phases
    merged = "" if len(found.cores) < 2 else "rows are per core; *_any_core merges the cores"
    return {
        "capture": str(capture.path),
        "format": capture.format,
        "compat": capture.compat or "none",
        "hardware": hardware.name if hardware else capture.metadata.get("hardware"),
        "clock": {"body": "device_body", "total": "device_total"}.get(window.name, "device_body"),
        "window": window.name,
        "window_start_ps": window.start_ps,
        "window_end_ps": window.end_ps,
        "window_ps": window.length_ps,
        "window_note": window.note,
        "start_up_ps": phases.start_up_ps,
        "body_ps": phases.body_ps,
        "tail_ps": phases.tail_ps,
        "silent_ps": phases.silent_ps,
        "total_ps": round(found.total_s * 1e12) if found.total_s else None,
        "where": where or "",
        "cores_note": merged,
        "conventions": (
            "intervals are merged per engine and core before they are summed; an engine is not "
            "active in EVENT_SEMAPHORE; overlapping kinds count once, as the first of "
            + ", ".join(KINDS)
        ),
    }


def _known(capture: Capture) -> list[str]:
    import pyarrow as pa

    names = ["engine", "core", *BY]
    for table in ("instructions", "dma"):
        if capture.has(table):
            schema = capture.table(table).schema
            names += [
                field.name
                for field in schema
                if pa.types.is_dictionary(field.type) or pa.types.is_string(field.type)
            ]
    return list(dict.fromkeys(names))


def _add_engines(
    out: Builder,
    capture: Capture,
    found: Activity,
    edges: Int64Array,
    extra: Sequence[str],
    bins: int | None,
    hardware: Hardware | None,
) -> set[str]:
    lines = found.instructions
    if lines is None:
        return set()
    more = labelled(capture.instructions, extra, lines.row)
    if extra and not more:
        return set()
    shape = (len(lines.engines), len(found.cores), *(len(names) for *_, names in more))
    core = np.searchsorted(found.cores, lines.core).astype(np.int64)
    index = (lines.engine.astype(np.int64), core, *(code for _, code, _ in more))
    groups = Groups(
        group=np.ravel_multi_index(index, shape).astype(np.int64),
        start=lines.start,
        end=lines.end,
        count=math.prod(shape),
        edges=edges,
    )
    out.coord("engine", list(lines.engines), "1", "engine of the NeuronCore")
    for name, _, names in more:
        out.coord(name, names, "1", f"{name} of the instructions")
    dims = ("engine", "core", *(name for name, *_ in more), *(("bin",) if bins else ()))

    def shaped(values: Int64Array) -> Int64Array:
        return values.reshape(*shape, bins) if bins else values.reshape(shape)

    waits = lines.waits
    moves = np.flatnonzero(~waits)
    whole, before = _active_by_kind(groups, lines, moves)
    active = shaped(whole)
    out.add("active_ps", dims, active, "ps", "merged time with an instruction, waits excluded")
    for kind, values in before.items():
        out.add(f"{kind}_ps", dims, shaped(values), "ps", f"merged time {_KIND_NAMES[kind]}")
    everything = groups.merged(np.arange(len(lines)))
    out.add("wait_ps", dims, shaped(everything - whole), "ps", "time in a wait and nothing else")
    length = np.diff(edges)
    if not bins:
        length = np.array(found.window.length_ps)
    if not more:
        out.add("idle_ps", dims, length - active, "ps", "window minus active time, waits included")
    out.add("active_share", dims, ratio(active, length), "1", "active time over the window")
    count = shaped(groups.started(np.arange(len(lines))))
    out.add("instructions", dims, count, "1", "instructions that start in the window")
    plain = shaped(groups.summed(moves))
    out.add("instruction_ps", dims, plain, "ps", "durations added up, overlaps counted each time")
    busy_count = shaped(groups.started(moves))
    out.add("mean_instruction_ps", dims, ratio(plain, busy_count), "ps", "mean duration, no waits")
    table = capture.instructions
    for name, (unit, meaning) in AMOUNTS.items():
        if has(table, name):
            amount = shaped(groups.spread(moves, integers(table, name)[lines.row]))
            out.add(name, dims, amount, unit, meaning)
            _add_rates(out, name, dims, amount, active, length)
    if hardware is not None:
        compute = shaped(before["compute"])
        _add_ideal(out, capture, lines, groups, shaped, dims, hardware, compute, active, length)
    if capture.has("throttle") and not more:
        _add_limit(out, capture, found, edges, bins, hardware)
    if len(found.cores) > 1 and not more:
        merged = Groups(
            group=lines.engine.astype(np.int64),
            start=lines.start,
            end=lines.end,
            count=shape[0],
            edges=edges,
        ).merged(moves)
        out.add(
            "active_any_core_ps",
            ("engine", "bin") if bins else ("engine",),
            merged if bins else merged[:, 0],
            "ps",
            "time with an instruction on any core: two cores at half read up to the whole",
        )
    return {name for name, *_ in more}


def _active_by_kind(
    groups: Groups, lines: Timeline, moves: Int64Array
) -> tuple[Int64Array, dict[str, Int64Array]]:
    """Return merged time, and its exclusive parts: kinds earlier in ``KINDS`` take the overlap."""
    total = np.zeros((groups.count, groups.bins), np.int64)
    parts = {}
    kind = lines.kind[moves]
    for rank, name in enumerate(KINDS):
        upto = total
        if np.any(kind == rank):
            upto = groups.merged(moves[np.flatnonzero(kind <= rank)])
        parts[name] = upto - total
        total = upto
    return total, parts


def _add_ideal(
    out: Builder,
    capture: Capture,
    lines: Timeline,
    groups: Groups,
    shaped: Any,
    dims: Sequence[str],
    hardware: Hardware,
    compute: Int64Array,
    active: Int64Array,
    length: Int64Array,
) -> None:
    work = ideal_work(capture.instructions, lines, hardware)
    whole = ideal_ps(work.cycles, lines, hardware)
    rows = np.flatnonzero(np.isfinite(work.cycles))
    if not has(capture.instructions, "element_passes"):
        passes = shaped(groups.spread(rows, np.nan_to_num(work.passes).astype(np.int64)))
        unit, meaning = AMOUNTS["element_passes"]
        out.add("element_passes", dims, passes, unit, meaning)
        _add_rates(out, "element_passes", dims, passes, active, length)
    ideal, covered = shaped(groups.spread(rows, whole)), shaped(groups.merged(rows))
    out.add(
        "ideal_ps",
        dims,
        ideal,
        "ps",
        "time for the executed work in the best mode its opcode, dtypes and operands allow",
    )
    out.add(
        "ideal_covered_ps", dims, covered, "ps", "merged time of instructions whose ideal is known"
    )
    out.add(
        "percent_of_ideal",
        dims,
        ratio(ideal, covered),
        "1",
        "ideal time over the merged time it covers, a fraction",
    )
    out.add(
        "overhead_share",
        dims,
        ratio(covered - np.minimum(ideal, covered), compute),
        "1",
        "share of compute time in which no element flows: fixed cost of instructions, waiting",
    )


def _add_rates(
    out: Builder, name: str, dims: Sequence[str], amount: Any, active: Any, length: Any
) -> None:
    """Add what FLOP and element-passes come to per second, while active and over the window."""
    if name not in RATES:
        return
    unit, meaning = RATES[name]
    for suffix, time, when in (("active", active, "active time"), ("window", length, "the window")):
        rate = ratio(amount, time) * 1e12
        out.add(f"{name}_per_{suffix}_s", dims, rate, unit, f"{meaning} over {when}")


def _add_limit(
    out: Builder,
    capture: Capture,
    found: Activity,
    edges: Int64Array,
    bins: int | None,
    hardware: Hardware | None,
) -> None:
    values = np.array([mean_limit(capture, core, edges, hardware) for core in found.cores])
    out.add(
        "tensor_limit",
        ("core", "bin") if bins else ("core",),
        values if bins else values[:, 0],
        "1",
        "mean share of its full rate that the Tensor engine was allowed",
    )


def _add_overlap(out: Builder, found: Activity, edges: Int64Array, bins: int | None) -> None:
    lines = found.instructions
    engines = () if lines is None else lines.engines
    names = [*engines, *(["dma"] if found.dma is not None else [])]
    matrix, exposed, hidden = [], [], []
    for core in found.cores:
        sets = [found.busy(name, core) for name in engines]
        moving = found.transfers(core)
        matrix.append(overlap_matrix([*sets, *([moving] if found.dma is not None else [])]))
        if lines is not None and found.dma is not None:
            working = EMPTY.union(*(found.busy(name, core, "compute") for name in COMPUTE_ENGINES))
            exposed.append(moving.subtract(working).binned(edges))
            hidden.append(moving.intersect(working).binned(edges))
    out.coord("resource", names, "1", "engine, or DMA")
    out.coord("resource_other", names, "1", "engine, or DMA")
    out.add(
        "overlap_ps",
        ("core", "resource", "resource_other"),
        np.array(matrix),
        "ps",
        "time both are active; the diagonal is each one's active time",
    )
    for name, parts, meaning in (
        ("exposed_dma_ps", exposed, "time a packet is in flight and no engine computes"),
        ("hidden_dma_ps", hidden, "time a packet is in flight while an engine computes"),
    ):
        if parts:
            values = np.array(parts)
            dims = ("core", "bin") if bins else ("core",)
            out.add(name, dims, values if bins else values[:, 0], "ps", meaning)
