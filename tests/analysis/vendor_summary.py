"""Every field of the vendor's summary that event tables determine, by the vendor's rules.

An oracle: with ``compat="vendor"`` the times that queries find in the tables have to be those of
the vendor's summary. Names, units and denominators are the vendor's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.analysis.activity import Activity, activity
from roofline.analysis.columns import codes, has, integers, known
from roofline.analysis.timeline import PS_PER_NS, DmaTimeline, Timeline
from roofline.captures.capture import Capture
from roofline.engines import ENGINES
from roofline.hardware.model import Hardware
from roofline.intervals import merge

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["derived_summary", "ps_to_s"]

_CLASSES: Final = {
    "static": ("data", "instruction", "static"),
    "software_dynamic": ("software_dynamic",),
    "hardware_dynamic": ("hardware_dynamic",),
}
"""The vendor's classes of packets by who built the descriptors; table loads count as static."""

_BYTES: Final = tuple(
    f"{memory}_{way}_bytes" for memory in ("hbm", "sbuf", "psum") for way in ("read", "write")
)

_OPCODES: Final = {"matmul": ("MATMUL",), "activate": ("ACTIVATE", "ACTIVATE_QUANTIZE")}


def ps_to_s(ps: int) -> float:
    """Return whole ps as s."""
    return ps / 1e12


def derived_summary(capture: Capture, hardware: Hardware | None = None) -> dict[str, Any]:
    """Return the summary fields that the tables of a capture determine.

    Times in s, percentages as fractions, as the vendor writes them. A field whose table or column
    is missing is left out. ``hardware`` gives what utilization is divided by.
    """
    found = activity(capture, "total")
    total_s = found.total_s
    if total_s is None:
        total_s = (capture.metadata.get("total_time_ps") or found.window.length_ps) / 1e12
    fields: dict[str, Any] = {"total_time": total_s}
    if found.instructions is not None:
        fields |= _engines(found.instructions, total_s)
        fields |= _work(capture.instructions, found.instructions)
    if found.dma is not None:
        fields |= _dma(found.dma, total_s)
    fields["total_active_time"] = ps_to_s(_all_active(found))
    fields["total_active_time_percent"] = fields["total_active_time"] / total_s
    if capture.has("tensors"):
        fields |= _sizes(capture.tensors)
    if capture.has("transfers"):
        fields |= _transfers(capture.table("transfers"))
    if capture.has("throttle") and found.instructions is not None:
        fields |= _throttle(capture.throttle, int(found.instructions.end.max()) // PS_PER_NS)
    if hardware is not None:
        fields |= _utilization(fields, hardware, total_s)
    return fields


def _engines(lines: Timeline, total_s: float) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    moves = ~lines.waits
    for engine in ENGINES:
        mine = lines.engine == lines.engines.index(engine)
        rows = np.flatnonzero(mine & moves)
        active = ps_to_s(merge(lines.start[rows], lines.end[rows]).total)
        fields[f"{engine}_engine_instruction_count"] = int(np.count_nonzero(mine))
        fields[f"{engine}_engine_instruction_time"] = ps_to_s(
            int((lines.end[rows] - lines.start[rows]).sum())
        )
        fields[f"{engine}_engine_active_time"] = active
        fields[f"{engine}_engine_active_time_percent"] = active / total_s
    for name, opcodes in _OPCODES.items():
        codes_of = [i for i, opcode in enumerate(lines.opcodes) if opcode in opcodes]
        rows = np.flatnonzero(np.isin(lines.opcode, codes_of))
        if len(rows):
            fields[f"{name}_instruction_count"] = len(rows)
            if name == "activate":
                fields["activate_instruction_time"] = ps_to_s(
                    int((lines.end[rows] - lines.start[rows]).sum())
                )
    return fields


def _work(table: pa.Table, lines: Timeline) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if has(table, "raw_flops"):
        flops = integers(table, "raw_flops")
        fields["hardware_flops"] = int(flops[lines.row].sum())
        multiplies = known(table, "raw_flops") & (flops > 0)
        # second-generation traces do not mark transposes: then their FLOP are not known
        if has(table, "tensor_instruction_type") and np.all(
            known(table, "tensor_instruction_type")[multiplies]
        ):
            kind, names = codes(table, "tensor_instruction_type")
            transposes = kind == (names.index("TRANSPOSE") if "TRANSPOSE" in names else -2)
            fields["transpose_flops"] = int(flops[transposes].sum())
    for name in _BYTES:
        if has(table, name):
            fields[name] = int(integers(table, name)[lines.row].sum())
    if has(table, "psum_read_sbuf_write_bytes"):
        name = "psum_read_sbuf_write_bytes"
        fields[name] = int(integers(table, name)[lines.row].sum())
        fields["psum_read_sbuf_write_count"] = int(np.count_nonzero(known(table, name)))
    return fields


def _dma(dma: DmaTimeline, total_s: float) -> dict[str, Any]:
    active = ps_to_s(merge(dma.start, dma.end).total)
    size, packets = int(dma.size.sum()), len(dma)
    fields: dict[str, Any] = {
        "dma_active_time": active,
        "dma_active_time_percent": active / total_s,
        "dma_packet_time": ps_to_s(int((dma.end - dma.start).sum())),
    }
    for name, kinds in _CLASSES.items():
        rows = np.flatnonzero(
            np.isin(dma.kind, [i for i, kind in enumerate(dma.classes) if kind in kinds])
        )
        mine = ps_to_s(merge(dma.start[rows], dma.end[rows]).total)
        if not len(rows) and name != "static":
            continue  # the vendor leaves a class out that has no packet
        bytes_of = int(dma.size[rows].sum())
        fields[f"{name}_dma_active_time"] = mine
        fields[f"{name}_dma_packet_count"] = len(rows)
        fields[f"{name}_dma_size"] = bytes_of
        if active:
            fields[f"{name}_dma_active_time_percent"] = mine / active
        if packets:
            fields[f"{name}_dma_packet_percent"] = len(rows) / packets
        if size:
            fields[f"{name}_dma_size_percent"] = bytes_of / size
    # the vendor adds up shares of dynamic time and does not merge them
    for what in ("active_time", "packet", "size"):
        parts = [
            fields[f"{name}_dma_{what}_percent"]
            for name in ("software_dynamic", "hardware_dynamic")
            if f"{name}_dma_{what}_percent" in fields
        ]
        if parts:
            fields[f"dynamic_dma_{what}_percent"] = sum(parts)
    return fields


def _sizes(table: pa.Table) -> dict[str, Any]:
    kind, names = codes(table, "type")
    size = integers(table, "size")
    of = {name: int(size[kind == code].sum()) for code, name in enumerate(names)}
    inputs = of.get("IN", 0) + of.get("WEIGHT", 0)
    return {
        "inputs_and_weights_size_bytes": inputs,
        "inputs_outputs_weights_size_bytes": inputs + of.get("OUT", 0),
        **({"weight_size_bytes": of["WEIGHT"]} if "WEIGHT" in of else {}),
    }


def _transfers(table: pa.Table) -> dict[str, Any]:
    """Static transfers as the vendor sums them: moved bytes over the number of transfers."""
    if not table.num_rows:
        return {}
    size = int(integers(table, "transfer_bytes").sum())
    return {
        "dma_transfer_count": table.num_rows,
        "dma_transfer_total_bytes": size,
        "dma_transfer_average_bytes": size / table.num_rows,
    }


def _throttle(table: pa.Table, last_ns: int) -> dict[str, Any]:
    """Limits of the Tensor engine: whole ns over the ns of the last instruction, as the vendor."""
    fields: dict[str, Any] = {}
    kind, names = codes(table, "type")
    k, n, length = (integers(table, name) for name in ("k", "n", "duration"))
    for core in np.unique(integers(table, "pcore_idx")).tolist():
        mine = integers(table, "pcore_idx") == core
        limited = np.flatnonzero(mine & (k < n))
        fields[f"throttle_active_nc{core}_time_ns"] = int(length[limited].sum())
        whole = 0.0
        for code, name in enumerate(names):
            rows = np.flatnonzero(mine & (kind == code))
            if not len(rows):
                continue
            lasts = int(length[rows].sum())
            weighted = float((length[rows] * (k[rows] / n[rows])).sum())
            whole += weighted
            fields[f"throttle_{name}_active_time_nc{core}_percent"] = lasts / last_ns
            fields[f"throttle_{name}_avg_util_limit_nc{core}_percent"] = (
                weighted / lasts if lasts else float("nan")
            )
        fields[f"throttle_avg_util_limit_nc{core}_percent"] = whole / last_ns
    return fields


def _all_active(found: Activity) -> int:
    starts, ends = [], []
    if found.instructions is not None:
        rows = np.flatnonzero(~found.instructions.waits)
        starts.append(found.instructions.start[rows])
        ends.append(found.instructions.end[rows])
    if found.dma is not None:
        starts.append(found.dma.start)
        ends.append(found.dma.end)
    return merge(np.concatenate(starts), np.concatenate(ends)).total


def _utilization(fields: dict[str, Any], hardware: Hardware, total_s: float) -> dict[str, Any]:
    peak = hardware.value("engines.tensor.rows_count").value
    peak *= hardware.value("engines.tensor.columns_count").value * 2
    peak *= hardware.clock_hz("tensor")
    cores = hardware.lnc
    stack = hardware.value("memories.hbm.vendor.bandwidth_bytes_per_s").value
    clock = hardware.clock_hz("sync")  # the core's base clock
    result: dict[str, Any] = {
        "peak_flops_bandwidth_ratio": peak / stack,
        "neuroncore_cycle_count": int(total_s * clock),
    }
    if "dma_active_time" in fields:
        result["dma_active_cycles"] = int(fields["dma_active_time"] * clock)
    if "inputs_and_weights_size_bytes" in fields:
        result["mbu_min_read_util_percent"] = (
            fields["inputs_and_weights_size_bytes"] / total_s / stack
        )
    moved = None
    if "hbm_read_bytes" in fields and "hbm_write_bytes" in fields:
        moved = fields["hbm_read_bytes"] + fields["hbm_write_bytes"]
        result["mbu_estimated_percent"] = moved / total_s / stack
    if "hardware_flops" in fields:
        flops = fields["hardware_flops"]
        result["hfu_estimated_percent"] = flops / (peak * cores * total_s)
        if "transpose_flops" in fields:
            useful = flops - fields["transpose_flops"]
            result["mfu_inst_estimated_percent"] = useful / (peak * cores * total_s)
            if moved:
                intensity = useful / moved
                result["mm_arithmetic_intensity"] = intensity
                result["mfu_inst_max_achievable_estimated_percent"] = min(
                    1.0, intensity / (result["peak_flops_bandwidth_ratio"] * cores)
                )
    return result
