"""How fast instructions streamed: performance modes and streamed cycles, row by row.

A mode is not recorded. The operands say which mode the hardware can use, the duration says when
it must have used a faster one than 1x; between the two it stays unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.derived import SlotFacts
from roofline.captures.ntff.device import hardware_of, known_value
from roofline.captures.ntff.header import ENGINES
from roofline.captures.ntff.words import DTYPES, LAYOUTS, PSUM_AT, Operand
from roofline.engines import ELEMENT_ENGINES

__all__ = ["Modes"]

Ints = npt.NDArray[np.int64]

_OPERATIONS: Final = {
    0x21: "activation",
    0x41: "tensor_tensor",
    0x42: "tensor_reduce",
    0x43: "tensor_scalar",
    0x46: "tensor_copy",
    0x47: "tensor_copy",
    0x48: "reciprocal",
}
"""Names that rules of the hardware model use."""

_OPERAND_PLACES: Final = ("sbuf", "one_psum", "psum")
_PS_PER_S: Final = 10**12


@dataclass(frozen=True)
class Modes:
    """Modes of the instructions of a program, from the rules of its hardware model."""

    facts: SlotFacts

    @cached_property
    def fastest(self) -> npt.NDArray[np.float64]:
        """Elements per lane and cycle that the operands of each slot allow; NaN where unknown."""
        words, program = self.facts.words, self.facts.program
        fastest = np.full(len(words), np.nan)
        hardware = hardware_of(program.header)
        if hardware is None:
            return fastest
        for code, operation in _OPERATIONS.items():
            slots = words.slots_of(code)
            if not len(slots):
                continue
            keys = np.stack(
                [
                    program.engine[slots],
                    words.dtype_in[slots],
                    words.dtype_out[slots],
                    *self._shape(slots, code),
                ],
                axis=1,
            )
            unique, inverse = np.unique(keys, axis=0, return_inverse=True)
            rates = []
            for engine, dtype_in, dtype_out, place, contiguous, broadcast in unique.tolist():
                known = ENGINES[engine] in ELEMENT_ENGINES and {dtype_in, dtype_out} <= set(DTYPES)
                rates.append(
                    hardware.element_mode(
                        ENGINES[engine],
                        operation,
                        DTYPES[dtype_in],
                        DTYPES[dtype_out],
                        operands=_OPERAND_PLACES[place],
                        contiguous=bool(contiguous),
                        broadcast=bool(broadcast),
                    ).elements_per_lane_per_cycle
                    if known
                    else np.nan
                )
            fastest[slots] = np.array(rates)[inverse.reshape(-1)]
        return fastest

    def _shape(self, slots: npt.NDArray[np.intp], code: int) -> tuple[Ints, Ints, Ints]:
        """Return operands in PSUM (0, 1, 2 or more), contiguity and broadcast of some slots."""
        layout, words = LAYOUTS[code], self.facts.words
        in_psum = np.zeros(len(slots), dtype=np.int64)
        contiguous = np.ones(len(slots), dtype=bool)
        broadcast = np.zeros(len(slots), dtype=bool)
        operands: list[tuple[Operand, bool]] = [(operand, True) for operand in layout.sources]
        if layout.dest is not None:
            operands.append((layout.dest, False))
        for operand, is_source in operands:
            in_psum += words.field(slots, operand.address, "<u4") >= PSUM_AT
            steps = words.field(slots, operand.steps, "<i2", operand.dims)
            sizes = words.field(slots, operand.sizes, "<u2", operand.dims)
            contiguous &= (steps[:, 0] == 1) | (sizes[:, 0] == 1)
            if is_source:
                broadcast |= ((steps == 0) & (sizes > 1)).any(axis=1)
        return np.minimum(in_psum, 2), contiguous.astype(np.int64), broadcast.astype(np.int64)

    def of_rows(
        self, slot: npt.NDArray[Any], engine: npt.NDArray[Any], duration_ps: Ints
    ) -> npt.NDArray[np.int8]:
        """Return the mode of each row: 1, 2 or 4, and -1 where it is not determined.

        1 where no faster mode is possible; a faster one where the duration is shorter than 1x
        (or 2x) needs for the elements.
        """
        hardware = hardware_of(self.facts.program.header)
        mode = np.full(len(slot), -1, dtype=np.int8)
        fastest = self.fastest[slot]
        mode[fastest <= 1] = 1
        elements = self.facts.elements[slot]
        for number, key in enumerate(ENGINES):
            clock_hz = known_value(hardware, f"engines.{key}.clock_hz")
            if clock_hz is None:
                continue
            rows = np.flatnonzero((engine == number) & (fastest > 1))
            cycles = duration_ps[rows] * clock_hz / _PS_PER_S
            needed = elements[rows] / np.maximum(cycles, 1e-9)
            mode[rows[(needed > 1) & (fastest[rows] >= 2)]] = 2
            mode[rows[(needed > 2) & (fastest[rows] >= 4)]] = 4
        return mode

    def streamed_cycles(
        self, slot: npt.NDArray[Any], mode: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.float64]:
        """Return engine cycles in which an instruction streams elements; NaN where unknown.

        Without latency, waiting in the queue and throttling: columns of a MATMUL times cycles a
        column, elements over mode elsewhere.
        """
        facts = self.facts
        hardware = hardware_of(facts.program.header)
        per_column = np.full(len(facts.words), np.nan)
        matmuls = facts.words.opcode == 0x02
        base = known_value(hardware, "engines.tensor.rates.bf16.macs_per_pe_per_cycle")
        for code, key in DTYPES.items():
            rate = known_value(hardware, f"engines.tensor.rates.{key}.macs_per_pe_per_cycle")
            if base and rate and key != "fp32":
                per_column[matmuls & (facts.words.dtype_in == code)] = base / rate
        split = known_value(hardware, "instructions.tensor.matmul_fp32.streaming_cycles_per_column")
        if split:
            per_column[facts.split_fp32] = split
        streamed = np.take(per_column * np.maximum(facts.elements, 0), slot)
        rate_of_row = np.where(self.fastest[slot] < 1, self.fastest[slot], mode)
        on_lanes = (facts.element_passes[slot] >= 0) & (mode > 0)
        elements = facts.elements[slot]
        streamed[on_lanes] = elements[on_lanes] / rate_of_row[on_lanes]
        return streamed
