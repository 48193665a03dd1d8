"""The instruction table: recorded columns, and what words and durations tell beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.columns import CORE, Column, array, time_columns
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.derived import KINDS, MEMORIES, SlotFacts
from roofline.captures.ntff.device import core_clock_hz
from roofline.captures.ntff.header import ENGINES
from roofline.captures.ntff.modes import Modes
from roofline.captures.ntff.operands import FUNCTIONS
from roofline.captures.ntff.strings import categories, optional
from roofline.captures.ntff.words import DTYPES
from roofline.engines import VENDOR_NAMES

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["InstructionTable"]

_MATMUL: Final = 0x02
_ACTIVATE: Final = 0x21

_TRACKS: Final = (*(VENDOR_NAMES[key] for key in ENGINES), "TensorMatrix")
_TENSOR_TYPES: Final = ("REGULAR", "TRANSPOSE")
_MODES: Final = ("", "1x", "2x", "", "4x")
_SCOPE: Final = "one partition for engine instructions, all partitions for DMA_DIRECT2D"


@dataclass(frozen=True)
class InstructionTable:
    """Columns of the instruction table of decoded rows."""

    decoded: Decoded

    @cached_property
    def slot(self) -> npt.NDArray[np.int32]:
        """Slot of each instruction row."""
        return self.decoded.instructions["slot"]

    def by_slot(self, values: npt.NDArray[Any], absent: float = -1) -> npt.NDArray[Any]:
        """Look up a value a slot for each row; ``absent`` where the word is not in the file."""
        return self.decoded.by_slot(self.slot, values, absent)

    @cached_property
    def facts(self) -> SlotFacts:
        """What the words tell, by slot."""
        return SlotFacts(self.decoded.trace.program, self.decoded.words)

    @cached_property
    def modes(self) -> Modes:
        """Performance modes of the words."""
        return Modes(self.facts)

    @cached_property
    def mode(self) -> npt.NDArray[np.int8]:
        """Performance mode of each row; -1 where it is not determined."""
        inside = np.flatnonzero(self.slot < self.decoded.trace.program.slots)
        rows = self.decoded.instructions
        duration = (rows["end_ps"] - rows["start_ps"])[inside]
        engine = self.decoded.engine_of(self.slot[inside])
        mode = np.full(len(self.slot), -1, dtype=np.int8)
        mode[inside] = self.modes.of_rows(self.slot[inside], engine, duration)
        return mode

    def columns(self) -> list[Column]:
        """Columns of the instruction table."""
        rows = self.decoded.instructions
        start, end = rows["start_ps"], rows["end_ps"]
        return [
            *time_columns(start, end),
            Column(
                name="engine",
                make=lambda: categories(self.decoded.engine_of(self.slot), ENGINES),
                meaning="engine that executed the instruction",
            ),
            Column(name="pcore_idx", make=lambda: array(rows["core"]), meaning=CORE),
            Column(name="opcode", make=self._opcode, meaning="opcode name; null: word not held"),
            Column(
                name="operands",
                make=self._operands,
                meaning="operand text as the vendor prints it; null: word not held",
            ),
            Column(name="pc", make=self._pc, meaning="program counter", unit="64 B"),
            Column(name="id", make=lambda: array(np.arange(len(start))), meaning="row number"),
            Column(name="crc_in", make=lambda: _crc(rows["crc"], 0), meaning="16-bit input hash"),
            Column(
                name="crc_out", make=lambda: _crc(rows["crc"], 16), meaning="16-bit output hash"
            ),
            Column(
                name="evt_wait_time_ns",
                make=self._wait,
                meaning="wait for semaphores before the start, modulo 65536 core cycles; "
                "null where the word does not wait",
                unit="ns",
            ),
            Column(
                name="evt_wait_time_raw_ns",
                make=lambda: self._wait(stale=True),
                meaning="the same as recorded: where the word does not wait, an old value",
                unit="ns",
            ),
            Column(
                name="timeline_track",
                make=lambda: categories(self.by_slot(self._track), _TRACKS),
                meaning="row of the vendor's timeline",
            ),
            *self._word_columns(),
            *self._byte_columns(),
            *self._work_columns(),
        ]

    @cached_property
    def _track(self) -> npt.NDArray[np.int64]:
        matmuls = self.decoded.words.opcode == _MATMUL
        return np.where(matmuls, len(ENGINES), self.decoded.trace.program.engine)

    def _word_columns(self) -> list[Column]:
        words, facts = self.decoded.words, self.facts
        dtypes = [DTYPES.get(code, "") for code in range(256)]

        def dtype(codes: npt.NDArray[Any]) -> Any:
            known = np.isin(codes, list(DTYPES))
            return categories(self.by_slot(np.where(known, codes, -1)), dtypes)

        return [
            Column(
                name="kind",
                make=lambda: categories(self.by_slot(facts.kind), KINDS),
                meaning="what the time goes to; null: unknown opcode",
            ),
            Column(
                name="dtype_in",
                make=lambda: dtype(words.dtype_in),
                meaning="element type of the first source; null: none, or an unknown code",
            ),
            Column(
                name="dtype_out",
                make=lambda: dtype(words.dtype_out),
                meaning="element type of the destination; null: none, unknown, or a MATMUL",
            ),
            Column(
                name="tensor_instruction_type",
                make=lambda: categories(self.by_slot(facts.is_transpose), _TENSOR_TYPES),
                meaning="product or transpose; null: no Tensor work, or words do not tell "
                "(NeuronCore-v2)",
            ),
            Column(
                name="scalar_activation_fn",
                make=lambda: categories(
                    self.by_slot(
                        np.where(words.opcode == _ACTIVATE, words.raw[:, 35].astype(np.int16), -1)
                    ),
                    [FUNCTIONS.get(code, f"function({code})") for code in range(256)],
                ),
                meaning="function of an ACTIVATE",
            ),
            Column(
                name="branch_taken",
                make=lambda: array(self.decoded.instructions["flags"].astype(bool)),
                meaning="whether the record carries the flag of a taken branch",
            ),
        ]

    def _byte_columns(self) -> list[Column]:
        facts = self.facts
        columns = [
            Column(
                name=f"{memory}_{way}_bytes",
                make=partial(self._looked_up, "traffic", f"{memory}_{way}"),
                meaning=f"bytes {verb} {memory.upper()}: {_SCOPE}",
                unit="B",
            )
            for memory in MEMORIES
            for way, verb in (("read", "read from"), ("write", "written to"))
        ]
        columns.append(
            Column(
                name="psum_read_sbuf_write_bytes",
                make=partial(self._optional, lambda: facts.psum_to_sbuf),
                meaning=f"bytes written to SBUF by instructions that read PSUM: {_SCOPE}",
                unit="B",
            )
        )
        return columns

    def _work_columns(self) -> list[Column]:
        words, facts = self.decoded.words, self.facts
        vendor = self.decoded.trace.vendor
        columns = [
            Column(
                name="raw_flops",
                make=partial(self._optional, lambda: facts.raw_flops(vendor=vendor)),
                meaning="FLOP of a MATMUL over all partitions, 2 a multiply-accumulate; each of "
                "the two instructions of an fp32 product counts half (in full with the vendor's "
                "rules)",
                unit="FLOP",
            ),
            Column(
                name="adjusted_flops",
                make=partial(self._optional, facts.adjusted_flops),
                meaning="raw_flops times what the element type costs against bf16",
                unit="FLOP",
            ),
            Column(
                name="elements_per_partition",
                make=partial(self._optional, lambda: facts.elements),
                meaning="elements streamed, per partition",
                unit="1",
            ),
            Column(
                name="partitions",
                make=partial(self._optional, lambda: words.partitions),
                meaning="partitions an instruction covers; rows of the array for Tensor",
                unit="1",
            ),
            Column(
                name="tensor_columns",
                make=partial(self._optional, lambda: words.columns),
                meaning="columns of the array that a Tensor instruction uses",
                unit="1",
            ),
            Column(
                name="element_passes",
                make=partial(self._optional, lambda: facts.element_passes),
                meaning="elements times partitions on Vector, Scalar and GpSimd, all partitions",
                unit="1",
            ),
        ]
        columns.extend(
            Column(
                name=f"{name}_ops",
                make=partial(self._looked_up, "operations", name),
                meaning=f"{name} operations over all partitions; null where no rule is known",
                unit="FLOP",
            )
            for name in ("elementwise", "reduction", "special")
        )
        return [
            *columns,
            Column(
                name="mode",
                make=lambda: optional(self.mode),
                meaning="elements per lane and cycle: 1, 2 or 4 times; null: not determined by "
                "operands and duration",
                unit="1",
            ),
            Column(
                name="performance_mode",
                make=lambda: categories(np.where(self.mode > 1, self.mode, -1), _MODES),
                meaning="mode as the vendor names it; null: 1x or not determined",
            ),
            Column(
                name="streamed_cycles",
                make=self._streamed,
                meaning="engine cycles in which elements stream, without latency, waiting in the "
                "queue and throttling; null where mode or element type is not known",
                unit="cycle",
            ),
        ]

    def _optional(self, make: Callable[[], npt.NDArray[np.int64]]) -> Any:
        return optional(self.by_slot(make()))

    def _looked_up(self, facts: str, key: str) -> Any:
        return optional(self.by_slot(getattr(self.facts, facts)[key]))

    def _streamed(self) -> Any:
        inside = self.slot < self.decoded.trace.program.slots
        cycles = np.full(len(self.slot), np.nan)
        cycles[inside] = self.modes.streamed_cycles(self.slot[inside], self.mode[inside])
        return optional(cycles, ~np.isnan(cycles))

    def _opcode(self) -> pa.Array:
        words = self.decoded.words
        return categories(self.by_slot(words.opcode.astype(np.int16)), words.names)

    def _operands(self) -> pa.Array:
        program = self.decoded.trace.program
        used = np.unique(self.slot)
        used = used[used < program.slots]
        place = np.full(program.slots, -1, dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        return categories(self.by_slot(place), self.decoded.operand_texts(used))

    def _pc(self) -> pa.Array:
        pc = self.by_slot(self.decoded.trace.program.pc.astype(np.int32))
        return optional(pc)

    def _wait(self, *, stale: bool = False) -> pa.Array | None:
        clock_hz = core_clock_hz(self.decoded.trace.header)
        if clock_hz is None:
            return None
        ticks = self.decoded.instructions["wait"].astype(np.int64)
        wait = ticks * (10**9 // 10**5) // (clock_hz // 10**5)
        if stale or self.decoded.trace.vendor:
            return array(wait)
        return optional(wait, self.by_slot(self.decoded.words.waits.astype(np.int8)) > 0)


def _crc(crc: npt.NDArray[Any], shift: int) -> Any:
    return array(((crc >> np.uint32(shift)) & np.uint32(0xFFFF)).astype(np.int32))
