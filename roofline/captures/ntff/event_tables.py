"""The tables of semaphore updates, engine activity and throttling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline import intervals
from roofline.captures.ntff.columns import CORE, Column, array, time_columns
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.header import ENGINES
from roofline.captures.ntff.records import engine_of, floor_ns
from roofline.captures.ntff.strings import categories

__all__ = ["EventTables"]

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


@dataclass(frozen=True)
class EventTables:
    """Columns of the semaphore, activity and throttle tables of decoded rows."""

    decoded: Decoded

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
                make=lambda: array(floor_ns(events["ps"][chosen])),
                meaning="time of the update from time zero",
                unit="ns",
            ),
            Column(
                name="timestamp_ps",
                make=lambda: array(events["ps"][chosen]),
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
                make=lambda: array(events["value"][chosen].view(np.int32)),
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
            Column(name="pcore_idx", make=lambda: array(events["core"][chosen]), meaning=CORE),
        ]

    # Activity ---------------------------------------------------------------------------------

    @cached_property
    def busy(self) -> list[tuple[int, int, intervals.Intervals]]:
        """Core, engine and merged busy intervals in ps; EVENT_SEMAPHORE is waiting, not busy."""
        rows = self.decoded.instructions
        slot = rows["slot"]
        engine = self.decoded.engine_of(slot)
        is_busy = self.decoded.by_slot(slot, self.decoded.words.opcode) != _EVENT_SEMAPHORE
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
            *time_columns(start, end),
            Column(name="engine", make=lambda: categories(engine, ENGINES), meaning="engine"),
            Column(name="pcore_idx", make=lambda: array(core), meaning=CORE),
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
                name="timestamp", make=lambda: array(floor_ns(start)), meaning="begin", unit="ns"
            ),
            Column(
                name="duration",
                make=lambda: array(floor_ns(end - start)),
                meaning="time until the next limit, or to the last instruction",
                unit="ns",
            ),
            Column(
                name="k",
                make=lambda: array(np.where(unknown, 1, rows["k"]).astype(np.int32)),
                meaning="utilisation is limited to k of n; 1 of 1 where the type is unknown",
            ),
            Column(
                name="n",
                make=lambda: array(np.where(unknown, 1, rows["n"]).astype(np.int32)),
                meaning="utilisation is limited to k of n; 1 of 1 where the type is unknown",
            ),
            Column(
                name="type",
                make=lambda: categories(
                    np.where(unknown, 256, rows["reason"].astype(np.int16)), reasons
                ),
                meaning="cause of the limit",
            ),
            Column(name="pcore_idx", make=lambda: array(core), meaning=CORE),
        ]
