"""All rows of a trace in memory, each kind decoded when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.device import marks_transposes
from roofline.captures.ntff.header import ENGINES, Ring
from roofline.captures.ntff.operands import operand_text
from roofline.captures.ntff.pairing import Columns
from roofline.captures.ntff.program import WORD_BYTES
from roofline.captures.ntff.records import floor_ns
from roofline.captures.ntff.streams import (
    RING_KEYS,
    Counts,
    stream_dma,
    stream_events,
    stream_instructions,
    throttle_records,
)
from roofline.captures.ntff.trace import Trace
from roofline.captures.ntff.words import Words

__all__ = ["Decoded"]

_INSTRUCTIONS = {
    "start_ps": np.int64,
    "end_ps": np.int64,
    "slot": np.int32,
    "wait": np.uint16,
    "crc": np.uint32,
    "flags": np.uint8,
}
_DMA = {
    "start_ps": np.int64,
    "end_ps": np.int64,
    "key": np.uint32,
    "size": np.uint32,
    "crc": np.uint32,
}
_EVENTS = {"ps": np.int64, "what": np.uint32, "value": np.uint32}
_DIRECT2D = 0xB8

_THROTTLE = {"ps": np.int64, "n": np.uint32, "k": np.uint32, "reason": np.uint32}

Stream = Callable[[Trace, int, Counts], Iterator[Columns]]


@dataclass(frozen=True)
class Decoded:
    """Rows by kind as column dictionaries; each has ``core`` (int8) beside its own columns.

    Rows are ordered by core, then by start.
    """

    trace: Trace

    @cached_property
    def words(self) -> Words:
        """What the instruction words say, by slot."""
        return Words(self.trace.program.words)

    @cached_property
    def _instructions(self) -> tuple[Columns, list[Counts]]:
        return self._gather(stream_instructions, _INSTRUCTIONS, "start_ps")

    @property
    def instructions(self) -> Columns:
        """Instruction rows of the window."""
        return self._instructions[0]

    @cached_property
    def _dma(self) -> tuple[Columns, list[Counts]]:
        return self._gather(stream_dma, _DMA, "start_ps")

    @property
    def dma(self) -> Columns:
        """DMA packets from time zero on."""
        return self._dma[0]

    @cached_property
    def _by_ring(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        key = self.dma["core"].astype(np.int64) * RING_KEYS + self.dma["key"]
        order = np.argsort(key, kind="stable")
        bounds = np.arange(len(self.trace.header.cores) * RING_KEYS + 1)
        return order, np.searchsorted(key[order], bounds)

    def packets_of(self, core: int, ring: Ring) -> npt.NDArray[np.intp]:
        """Return the packets of a ring in the order of their starts."""
        order, bounds = self._by_ring
        key = (ring.engine - self.trace.dma_base(core)) * 16 + ring.number
        if not 0 <= key < RING_KEYS:
            return order[:0]
        at = core * RING_KEYS + key
        return order[bounds[at] : bounds[at + 1]]

    @cached_property
    def _events(self) -> tuple[Columns, list[Counts]]:
        return self._gather(stream_events, _EVENTS, "ps")

    @property
    def events(self) -> Columns:
        """Updates of events and semaphores from time zero on."""
        return self._events[0]

    @cached_property
    def throttle(self) -> Columns:
        """Throttle records, those before time zero included."""

        def stream(trace: Trace, core: int, counts: Counts) -> Iterator[Columns]:
            yield throttle_records(trace, core, counts)

        return self._gather(stream, _THROTTLE, "ps")[0]

    def counts(self, table: str) -> list[Counts]:
        """Return what was seen beside good rows, one element a core."""
        held: tuple[Columns, list[Counts]] = getattr(self, f"_{table}")
        return held[1]

    def _gather(
        self, stream: Stream, empty: Mapping[str, Any], order: str
    ) -> tuple[Columns, list[Counts]]:
        per_core: list[Columns] = []
        counts = []
        for core in range(len(self.trace.header.cores)):
            counts.append(Counts())
            rows = _concatenate(list(stream(self.trace, core, counts[-1])), empty)
            _sort(rows, order)
            rows["core"] = np.full(len(rows[order]), core, dtype=np.int8)
            per_core.append(rows)
        return _concatenate(per_core, {**empty, "core": np.int8}), counts

    @cached_property
    def overwritten(self) -> npt.NDArray[np.intp]:
        """Instruction rows that are missing from the vendor's output.

        It keeps one row for each engine and ns of start, so a later core's row hides an earlier
        core's; its counts, times and activity still include them.
        """
        rows = self.instructions
        core = rows["core"]
        if len(self.trace.header.cores) < 2:
            return np.zeros(0, dtype=np.intp)
        key = floor_ns(rows["start_ps"]) * 8 + self.engine_of(rows["slot"])
        hidden = np.zeros(len(key), dtype=bool)
        for index in range(1, len(self.trace.header.cores)):
            hidden |= (core < index) & np.isin(key, key[core == index])
        return np.flatnonzero(hidden)

    def by_slot(
        self, slot: npt.NDArray[Any], values: npt.NDArray[Any], absent: float = -1
    ) -> npt.NDArray[Any]:
        """Look up a value a slot for rows; ``absent`` where the word is not in the file."""
        slots = self.trace.program.slots
        inside = slot < slots
        if inside.all():
            return np.take(values, slot)
        wide = values.dtype if values.dtype.kind != "u" else np.result_type(values.dtype, np.int8)
        found = np.full(len(slot), absent, dtype=wide)
        found[inside] = values[slot[inside]]
        return found

    def operand_texts(self, slots: npt.NDArray[Any]) -> list[str]:
        """Return the operand text of each of some slots; equal words of a core are done once."""
        program, words = self.trace.program, self.words
        transposes = marks_transposes(self.trace.header)
        issues = words.slots_of(_DIRECT2D)
        texts: list[str] = []
        queues: list[dict[int, str]] = []
        for core in range(len(self.trace.header.cores)):
            named: dict[int, str] = {}
            for number, engine in enumerate(ENGINES):
                chosen = (program.core[issues] == core) & (program.engine[issues] == number)
                named.update(words.queues(issues[chosen], engine))
            queues.append(named)
        done: dict[tuple[bytes, bool, int], str] = {}
        raw = np.ascontiguousarray(words.raw[slots]).tobytes()
        inserted = program.inserted[slots].tolist()
        cores = program.core[slots].tolist()
        for index, (is_inserted, core) in enumerate(zip(inserted, cores, strict=True)):
            word = raw[index * WORD_BYTES : (index + 1) * WORD_BYTES]
            key = (word, is_inserted, core)
            if key not in done:
                done[key] = operand_text(
                    word, inserted=is_inserted, queues=queues[core], transposes=transposes
                )
            texts.append(done[key])
        return texts

    def engine_of(self, slot: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """Return the engine (index of ``header.ENGINES``) of slots, unknown words included."""
        program = self.trace.program
        engine = np.zeros(len(slot), dtype=np.int8)
        inside = slot < program.slots
        if inside.all():
            return np.take(program.engine.astype(np.int8), slot)
        engine[inside] = program.engine[slot[inside]]
        engine[~inside] = ((slot[~inside] - program.slots) >> 21) - 1
        return engine


def _concatenate(parts: list[Columns], empty: Mapping[str, Any]) -> Columns:
    if not parts:
        return {name: np.zeros(0, dtype=kind) for name, kind in empty.items()}
    if len(parts) == 1:
        return parts[0]
    # column by column, so that one column is held twice and not all of them
    return {name: np.concatenate([part.pop(name) for part in parts]) for name in empty}


def _sort(rows: Columns, by: str) -> None:
    times = rows[by]
    if len(times) and (times[1:] < times[:-1]).any():
        order = np.argsort(times, kind="stable")
        for name in list(rows):
            rows[name] = rows[name][order]
