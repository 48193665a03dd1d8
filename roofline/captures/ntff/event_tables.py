"""The tables of semaphore updates, engine activity and throttling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline import intervals
from roofline.captures.ntff.columns import CORE, Column, array, time_columns
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.header import ENGINES
from roofline.captures.ntff.records import engine_of, floor_ns
from roofline.captures.ntff.strings import categories

__all__ = ["EventTables", "ThrottleSpan", "throttle_spans"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleSpan:
    """A limit of the Tensor engine's utilisation to ``k`` of ``n``, in ns from time zero."""

    core: int
    timestamp_ns: int
    duration_ns: int
    k: int
    n: int
    cause: str


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
        spans = throttle_spans(self.decoded)
        causes = sorted({span.cause for span in spans})

        def column(name: str, kind: type) -> Any:
            return array(np.array([getattr(span, name) for span in spans], dtype=kind))

        limit = "utilisation is limited to k of n; 1 of 1 where the type is unknown"
        return [
            Column(
                name="timestamp",
                make=lambda: column("timestamp_ns", np.int64),
                meaning="begin",
                unit="ns",
            ),
            Column(
                name="duration",
                make=lambda: column("duration_ns", np.int64),
                meaning="time until the next limit, or to the last instruction",
                unit="ns",
            ),
            Column(name="k", make=lambda: column("k", np.int32), meaning=limit),
            Column(name="n", make=lambda: column("n", np.int32), meaning=limit),
            Column(
                name="type",
                make=lambda: categories(
                    np.array([causes.index(span.cause) for span in spans], dtype=np.int16), causes
                ),
                meaning="cause of the limit",
            ),
            Column(name="pcore_idx", make=lambda: column("core", np.int8), meaning=CORE),
        ]


def throttle_spans(decoded: Decoded) -> list[ThrottleSpan]:
    """Return the limits of each core, from each record to the next or the last instruction.

    Records are a few a millisecond at most (the hardware decides once in 4096 cycles).
    """
    rows, instructions = decoded.throttle, decoded.instructions
    spans: list[ThrottleSpan] = []
    for core in range(len(decoded.trace.header.cores)):
        chosen = np.flatnonzero(rows["core"] == core)
        if not len(chosen):
            continue
        start = rows["ps"][chosen]
        ends = instructions["end_ps"][instructions["core"] == core]
        last = max(int(ends.max()) if len(ends) else 0, int(start[-1]))
        end = np.append(start[1:], last)
        for index, row in enumerate(chosen.tolist()):
            n, k = int(rows["n"][row]), int(rows["k"][row])
            spans.append(
                ThrottleSpan(
                    core=core,
                    timestamp_ns=int(start[index]) // 1000,
                    duration_ns=int(end[index] - start[index]) // 1000,
                    k=k if n else 1,
                    n=n or 1,
                    cause=f"activity_{int(rows['reason'][row])}" if n else "unknown",
                )
            )
    return spans
