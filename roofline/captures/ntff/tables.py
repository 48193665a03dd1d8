"""Tables of an NTFF capture: the columns of instructions, DMA, semaphores, activity, throttling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from roofline import intervals
from roofline.captures.ntff.columns import Column, build_table
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.device import core_clock_hz
from roofline.captures.ntff.header import ENGINES, Ring
from roofline.captures.ntff.records import engine_of, floor_ns
from roofline.captures.ntff.strings import categories, optional

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Tables", "queue_class", "queue_name"]

Ints = npt.NDArray[np.int64]

_SOURCES: Final = ("host", "tensor", "scalar", "gpsimd", "vector", "sync", "dma", "chip")

_OPERATIONS: Final = {
    0x00: "host",
    0x07: "evt_clr",
    0x11: "evt_set",
    0x13: "sem_inc",
    0x14: "sem_dec",
    0x15: "sem_add_imm",
    0x19: "sem_wr_imm",
}
"""Update operations by code, with the vendor's names."""

_SEMAPHORE: Final = np.uint32(0x100)
_EVENT_SEMAPHORE: Final = 0xA0

_FETCH_RING: Final = 14
"""Ring that fetches instructions and tables; the file declares it for table loads only."""

_QUEUE_PREFIXES: Final = (("qPool", "qGpSimd"), ("qAct", "qScalar"), ("qSP", "qSync"))


def queue_name(name: str) -> str:
    """Return a ring's name with the engine names the vendor prints."""
    for prefix, spelling in _QUEUE_PREFIXES:
        if name.startswith(prefix):
            return spelling + name.removeprefix(prefix)
    return name


def queue_class(ring: Ring | None, number: int) -> str:
    """Return who built the descriptors of a ring: the vendor's queue type."""
    if ring is None:
        return "instruction" if number == _FETCH_RING else "unknown"
    if "DynamicHW" in ring.name:
        return "hardware_dynamic"
    if "Dynamic" in ring.name:
        return "software_dynamic"
    return "data" if ring.kind else "instruction"


@dataclass(frozen=True)
class Tables:
    """Builds Arrow tables from decoded rows."""

    decoded: Decoded

    def build(self, name: str, wanted: Sequence[str] | None = None) -> pa.Table:
        """Build table ``name`` with the ``wanted`` columns."""
        table = build_table(name, getattr(self, f"{name}_columns")(), wanted)
        if name == "instructions" and self.decoded.trace.vendor:
            keep = np.ones(table.num_rows, dtype=bool)
            keep[self.decoded.overwritten] = False
            return table if keep.all() else table.filter(_array(keep))
        return table

    # Instructions -----------------------------------------------------------------------------

    @cached_property
    def slot(self) -> npt.NDArray[np.int32]:
        """Slot of each instruction row."""
        return self.decoded.instructions["slot"]

    @cached_property
    def known(self) -> npt.NDArray[np.bool_] | None:
        """Where a row's word is in the file; ``None`` where all are."""
        inside = self.slot < self.decoded.trace.program.slots
        return None if inside.all() else inside

    def by_slot(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Look up a value a slot for each row; -1 where the word is not in the file."""
        if self.known is None:
            return values[self.slot]
        found = np.full(len(self.slot), -1, dtype=np.result_type(values.dtype, np.int8))
        found[self.known] = values[self.slot[self.known]]
        return found

    def instructions_columns(self) -> list[Column]:
        """Columns of the instruction table."""
        rows = self.decoded.instructions
        start, end = rows["start_ps"], rows["end_ps"]
        return [
            *_times(start, end),
            Column(
                name="engine",
                make=lambda: categories(self.decoded.engine_of(self.slot), ENGINES),
                meaning="engine that executed the instruction",
            ),
            Column(name="pcore_idx", make=lambda: _array(rows["core"]), meaning=_CORE),
            Column(name="opcode", make=self._opcode, meaning="opcode name; null: word not held"),
            Column(
                name="operands",
                make=self._operands,
                meaning="operand text as the vendor prints it; null: word not held",
            ),
            Column(name="pc", make=self._pc, meaning="program counter", unit="64 B"),
            Column(name="id", make=lambda: _array(np.arange(len(start))), meaning="row number"),
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
        ]

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
        return optional(pc) if self.known is not None else _array(pc)

    def _wait(self) -> pa.Array | None:
        clock_hz = core_clock_hz(self.decoded.trace.header)
        if clock_hz is None:
            return None
        ticks = self.decoded.instructions["wait"].astype(np.int64)
        wait = ticks * (10**9 // 10**5) // (clock_hz // 10**5)
        if self.decoded.trace.vendor:
            return _array(wait)
        return optional(wait, self.by_slot(self.decoded.words.waits.astype(np.int8)) > 0)

    # DMA --------------------------------------------------------------------------------------

    @cached_property
    def ring_keys(self) -> list[tuple[int, int, int]]:
        """Core, DMA engine and ring number by ``core * 512 + key``."""
        trace = self.decoded.trace
        return [
            (core, trace.dma_base(core) + (key >> 4), key & 15)
            for core in range(len(trace.header.cores))
            for key in range(512)
        ]

    @cached_property
    def ring_of(self) -> npt.NDArray[np.int32]:
        """Index into ``ring_keys`` of each packet."""
        rows = self.decoded.dma
        return (rows["core"].astype(np.int32) * 512 + rows["key"]).astype(np.int32)

    @cached_property
    def rings(self) -> list[Ring | None]:
        """Declared ring of each of ``ring_keys``."""
        held = [
            self.decoded.trace.rings(core) for core in range(len(self.decoded.trace.header.cores))
        ]
        return [held[core].get((engine, ring)) for core, engine, ring in self.ring_keys]

    def dma_columns(self) -> list[Column]:
        """Columns of the DMA packet table."""
        rows = self.decoded.dma

        def size() -> Any:
            return _array(rows["size"].astype(np.int64))

        def named(texts: list[str]) -> Any:
            return categories(self.ring_of, texts)

        return [
            *_times(rows["start_ps"], rows["end_ps"], end_what="data written"),
            Column(name="pcore_idx", make=lambda: _array(rows["core"]), meaning=_CORE),
            Column(
                name="id", make=lambda: _array(np.arange(len(rows["core"]))), meaning="row number"
            ),
            Column(name="transfer_bytes", make=size, meaning="bytes moved", unit="B"),
            Column(name="read_bytes", make=size, meaning="bytes read at the source", unit="B"),
            Column(name="write_bytes", make=size, meaning="bytes written", unit="B"),
            Column(
                name="queue_type",
                make=lambda: named(
                    [
                        queue_class(ring, key[2])
                        for ring, key in zip(self.rings, self.ring_keys, strict=True)
                    ]
                ),
                meaning="who built the descriptors",
            ),
            Column(
                name="queue_name",
                make=lambda: named([queue_name(ring.name) if ring else "" for ring in self.rings]),
                meaning="name of the queue; empty where the file does not declare it",
            ),
            Column(
                name="queue_idx",
                make=lambda: _array((rows["key"] & np.uint32(15)).astype(np.int16)),
                meaning="ring number on its DMA engine",
            ),
            Column(
                name="engine_idx",
                make=lambda: _array(
                    np.array([engine for _, engine, _ in self.ring_keys], dtype=np.int16)[
                        self.ring_of
                    ]
                ),
                meaning="DMA engine number",
            ),
            Column(
                name="crc", make=lambda: _array(rows["crc"].astype(np.int32)), meaning="16-bit hash"
            ),
        ]

    # Semaphores -------------------------------------------------------------------------------

    def semaphores_columns(self) -> list[Column]:
        """Columns of the semaphore update table (events left out)."""
        events = self.decoded.events
        chosen = np.flatnonzero(events["what"] & _SEMAPHORE)
        what = events["what"][chosen]
        operations = [_OPERATIONS.get(code, "unknown") for code in range(32)]
        numbers = [str(number) for number in range(256)]
        return [
            Column(
                name="timestamp",
                make=lambda: _array(floor_ns(events["ps"][chosen])),
                meaning="time of the update from time zero",
                unit="ns",
            ),
            Column(
                name="timestamp_ps",
                make=lambda: _array(events["ps"][chosen]),
                meaning="time of the update from time zero",
                unit="ps",
            ),
            Column(
                name="id",
                make=lambda: categories((what & np.uint32(0xFF)).astype(np.int16), numbers),
                meaning="semaphore number",
            ),
            Column(
                name="value",
                make=lambda: _array(events["value"][chosen].view(np.int32)),
                meaning="value after the update",
            ),
            Column(
                name="update_source",
                make=lambda: categories(engine_of(what).astype(np.int8), _SOURCES),
                meaning="engine, DMA ring or host that updated",
            ),
            Column(
                name="update_operation_type",
                make=lambda: categories(
                    ((what >> np.uint32(16)) & np.uint32(31)).astype(np.int8),
                    operations,
                ),
                meaning="operation of the update",
            ),
            Column(name="pcore_idx", make=lambda: _array(events["core"][chosen]), meaning=_CORE),
        ]

    # Activity ---------------------------------------------------------------------------------

    @cached_property
    def busy(self) -> list[tuple[int, int, intervals.Intervals]]:
        """Core, engine and merged busy intervals in ps; EVENT_SEMAPHORE is waiting, not busy."""
        rows = self.decoded.instructions
        engine = self.decoded.engine_of(self.slot)
        is_busy = self.by_slot(self.decoded.words.opcode.astype(np.int16)) != _EVENT_SEMAPHORE
        is_busy &= rows["end_ps"] >= rows["start_ps"]
        found = []
        for core in range(len(self.decoded.trace.header.cores)):
            for number in range(len(ENGINES)):
                chosen = np.flatnonzero(is_busy & (rows["core"] == core) & (engine == number))
                merged = intervals.merge(rows["start_ps"][chosen], rows["end_ps"][chosen])
                found.append((core, number, merged))
        return found

    def active_columns(self) -> list[Column]:
        """Columns of the merged busy spans."""
        spans = self.busy
        lengths = [len(merged) for _, _, merged in spans]
        start = np.concatenate([merged.starts for _, _, merged in spans])
        end = np.concatenate([merged.ends for _, _, merged in spans])
        engine = np.repeat(np.array([number for _, number, _ in spans], dtype=np.int8), lengths)
        core = np.repeat(np.array([index for index, _, _ in spans], dtype=np.int8), lengths)
        return [
            *_times(start, end),
            Column(name="engine", make=lambda: categories(engine, ENGINES), meaning="engine"),
            Column(name="pcore_idx", make=lambda: _array(core), meaning=_CORE),
        ]

    # Throttling -------------------------------------------------------------------------------

    def throttle_columns(self) -> list[Column]:
        """Columns of the Tensor engine's limits: one row from each record to the next."""
        rows = self.decoded.throttle
        start: Ints = rows["ps"]
        core = rows["core"]
        end = np.empty_like(start)
        end[:-1] = start[1:]
        last = np.flatnonzero(np.diff(core, append=-1) != 0)
        ends = self.decoded.instructions["end_ps"]
        of_core = self.decoded.instructions["core"]
        for row in last.tolist():
            chosen = ends[of_core == core[row]]
            end[row] = chosen.max() if len(chosen) else start[row]
        end = np.maximum(end, start)
        unknown = rows["n"] == 0
        reasons = [f"activity_{code}" for code in range(256)] + ["unknown"]
        return [
            Column(
                name="timestamp", make=lambda: _array(floor_ns(start)), meaning="begin", unit="ns"
            ),
            Column(
                name="duration",
                make=lambda: _array(floor_ns(end - start)),
                meaning="time until the next limit, or to the last instruction",
                unit="ns",
            ),
            Column(
                name="k",
                make=lambda: _array(np.where(unknown, 1, rows["k"]).astype(np.int32)),
                meaning="utilisation is limited to k of n; 1 of 1 where the type is unknown",
            ),
            Column(
                name="n",
                make=lambda: _array(np.where(unknown, 1, rows["n"]).astype(np.int32)),
                meaning="utilisation is limited to k of n; 1 of 1 where the type is unknown",
            ),
            Column(
                name="type",
                make=lambda: categories(
                    np.where(unknown, 256, rows["reason"].astype(np.int16)), reasons
                ),
                meaning="cause of the limit",
            ),
            Column(name="pcore_idx", make=lambda: _array(core), meaning=_CORE),
        ]


_CORE: Final = "physical core inside the logical core, in the order of the file"


def _times(
    start: npt.NDArray[Any], end: npt.NDArray[Any], *, end_what: str = "end"
) -> list[Column]:
    return [
        Column(
            name="start_ts",
            make=lambda: _array(floor_ns(start)),
            meaning="start",
            unit="ns",
        ),
        Column(name="end_ts", make=lambda: _array(floor_ns(end)), meaning=end_what, unit="ns"),
        Column(
            name="duration_ns",
            make=lambda: _array(floor_ns(end - start)),
            meaning="whole ns of the difference in ps, which may exceed end_ts - start_ts",
            unit="ns",
        ),
        Column(name="start_ps", make=lambda: _array(start), meaning="start", unit="ps"),
        Column(name="end_ps", make=lambda: _array(end), meaning=end_what, unit="ps"),
    ]


def _crc(crc: npt.NDArray[Any], shift: int) -> Any:
    return _array(((crc >> np.uint32(shift)) & np.uint32(0xFFFF)).astype(np.int32))


def _array(values: npt.NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.array(values)
