"""Ideal cycles of executed instructions: elements over the best rate their operands allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import floats, has
from roofline.analysis.operands import Operands, Parsed, read_operands
from roofline.analysis.timeline import KINDS, Timeline
from roofline.engines import ELEMENT_ENGINES
from roofline.errors import HardwareModelError
from roofline.hardware.model import Hardware

if TYPE_CHECKING:
    import pyarrow as pa

    from roofline.intervals import Int64Array

__all__ = ["Ideal", "ideal_ps", "ideal_work", "operation_of", "tensor_cycles_per_column"]

Floats = npt.NDArray[np.float64]

_OPERATIONS: Final = {
    "COPY": "tensor_copy",
    "CAST": "tensor_copy",
    "ACTIVATE": "activation",
    "ACTIVATE_QUANTIZE": "activation",
}
"""Opcodes whose instruction the hardware models call otherwise than by the opcode's own name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ideal:
    """Executed work of instructions, one entry a row of the timeline; NaN where not known.

    ``cycles`` at least needed for the instruction as it stands, in cycles of its engine;
    ``mode`` elements per lane and cycle its operands allow; ``passes`` element-passes;
    ``filled_cycles`` (Tensor) the cycles of a full array for the same multiplications.
    """

    cycles: Floats
    mode: Floats
    passes: Floats
    filled_cycles: Floats


def ideal_work(table: pa.Table, lines: Timeline, hardware: Hardware) -> Ideal:
    """Return what the instructions of ``lines`` did and what it needs at least.

    Tensor: one cycle a moving column, more for wide dtypes (``tensor_cycles_per_column``), idle
    rows and columns of the array included. Vector, Scalar, GpSimd: elements of one partition over
    the elements a lane takes in a cycle. Shapes come from the operand text, else from the
    reader's ``streamed_cycles`` and ``elements_per_partition``.
    """
    operands = read_operands(table)
    if operands is not None:
        return _from_operands(operands, lines, hardware)
    none = np.full(len(lines), np.nan)
    computes = lines.kind == KINDS.index("compute")
    cycles, passes, mode = none.copy(), none.copy(), none.copy()
    if has(table, "streamed_cycles"):
        tensor = computes & (lines.engine == lines.engines.index("tensor"))
        cycles = np.where(tensor, floats(table, "streamed_cycles")[lines.row], cycles)
    if has(table, "elements_per_partition"):
        elements = floats(table, "elements_per_partition")[lines.row]
        allowed = floats(table, "mode")[lines.row] if has(table, "mode") else np.ones(len(lines))
        flows = computes & np.isin(
            lines.engine, [lines.engines.index(name) for name in ELEMENT_ENGINES]
        )
        mode = np.where(flows, np.where(np.isnan(allowed), 1.0, allowed), np.nan)
        cycles = np.where(flows, elements / mode, cycles)
        if has(table, "partitions"):
            passes = np.where(flows, elements * floats(table, "partitions")[lines.row], passes)
    return Ideal(cycles=cycles, mode=mode, passes=passes, filled_cycles=none)


def _from_operands(operands: Operands, lines: Timeline, hardware: Hardware) -> Ideal:
    code = operands.code[lines.row].astype(np.int64)
    key = (code * len(lines.engines) + lines.engine) * len(lines.opcodes) + lines.opcode
    used, place = np.unique(key, return_inverse=True)
    columns = np.full((4, len(used)), np.nan)
    for index, value in enumerate(used.tolist()):
        rest, opcode = divmod(value, len(lines.opcodes))
        text, engine = divmod(rest, len(lines.engines))
        columns[:, index] = _work_of(
            operands.parsed[text],
            lines.opcodes[opcode],
            lines.engines[engine],
            hardware,
        )
    columns = np.where(lines.kind == KINDS.index("compute"), columns[:, place], np.nan)
    cycles, mode, passes, filled = columns
    return Ideal(cycles=cycles, mode=mode, passes=passes, filled_cycles=filled)


def _work_of(
    text: Parsed, opcode: str, engine: str, hardware: Hardware
) -> tuple[float, float, float, float]:
    nothing = (np.nan, np.nan, np.nan, np.nan)
    if text.elements < 0:
        return nothing
    if engine == "tensor":
        if text.rows < 0 or not text.dtype_in:
            return nothing
        cycles = text.elements * tensor_cycles_per_column(text.dtype_in, hardware)
        array = hardware.value("engines.tensor.rows_count").value
        array *= hardware.value("engines.tensor.columns_count").value
        return cycles, np.nan, np.nan, cycles * min(1.0, text.rows * text.columns / array)
    if engine not in ELEMENT_ENGINES or not text.dtypes:
        return nothing
    try:
        rule = hardware.element_mode(
            engine,
            operation_of(opcode),
            *text.dtypes,
            operands=("sbuf", "one_psum", "psum")[min(2, text.psum_operands)],
            contiguous=text.contiguous,
            broadcast=text.broadcast,
        )
        mode = rule.elements_per_lane_per_cycle
    except HardwareModelError:  # a dtype or an operation that no rule covers: mode unknown
        return nothing
    passes = text.elements * text.partitions if text.partitions >= 0 else np.nan
    return text.elements / mode, mode, passes, np.nan


def operation_of(opcode: str) -> str:
    """Return the instruction name of the hardware models for an opcode.

    >>> operation_of("CAST"), operation_of("TENSOR_REDUCE")
    ('tensor_copy', 'tensor_reduce')
    """
    return _OPERATIONS.get(opcode, opcode.lower())


def tensor_cycles_per_column(dtype: str, hardware: Hardware) -> float:
    """Return the Tensor cycles one moving column of one instruction takes at the full rate.

    A matmul of a dtype that takes several passes is as many instructions, each with its share.
    """
    known = hardware.value(f"engines.tensor.rates.{dtype}.macs_per_pe_per_cycle").value
    passes = 1.0
    if dtype == "fp32":
        passes = hardware.value("instructions.tensor.matmul_fp32.passes_count").value
    return max(1.0, 1.0 / known / passes)


def ideal_ps(cycles: Floats, lines: Timeline, hardware: Hardware) -> Int64Array:
    """Return cycles of each row's own engine in whole ps; 0 where they are not known."""
    hertz = np.array(
        [
            hardware.clock_hz(name) if name in (*ELEMENT_ENGINES, "tensor") else np.nan
            for name in lines.engines
        ]
    )
    exact = cycles * (1e12 / hertz[lines.engine])
    return np.where(np.isfinite(exact), np.rint(np.nan_to_num(exact)), 0).astype(np.int64)
