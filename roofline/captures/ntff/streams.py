"""Streams of rows from trace records, a chunk at a time, so that a file may exceed memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.pairing import Columns, Pairer
from roofline.captures.ntff.program import PC_MASK
from roofline.captures.ntff.records import (
    EVENT,
    INSTRUCTION_END,
    INSTRUCTION_START,
    LOST,
    chunks,
    engine_of,
    kind_of,
    to_ps,
)
from roofline.captures.ntff.trace import DMA, EVENTS, INSTRUCTIONS, THROTTLE, Trace

__all__ = [
    "RING_KEYS",
    "Counts",
    "stream_dma",
    "stream_events",
    "stream_instructions",
    "throttle_records",
]

RING_KEYS: Final = 512
"""Keys of the rings of a core: DMA engine modulo 32, times 16, plus ring number."""

_PACKET_START: Final = 1
_PACKET_WRITTEN: Final = 5
_LOW16: Final = np.uint32(0xFFFF)


@dataclass(slots=True)
class Counts:
    """What was seen beside good rows, for ``quality``."""

    records: int = 0
    foreign: int = 0  # records of a kind that does not belong in their section
    lost: int = 0  # records from time zero on that say others were lost just before them
    lost_before: int = 0  # the same before time zero
    open_starts: dict[int, int] = field(default_factory=dict)  # by slot or ring key
    open_ends: int = 0
    outside: int = 0  # rows whose program counter is outside the captured memory
    before: int = 0  # rows that begin before time zero
    across: int = 0  # packets in flight at time zero
    after: int = 0  # rows that end after the execution
    negative: int = 0  # rows that end before they begin

    def count_lost(self, what: npt.NDArray[np.uint32], ps: npt.NDArray[np.int64]) -> None:
        """Count records that say others were lost before them."""
        lost = (what & LOST) != 0
        if lost.any():
            before = int(np.count_nonzero(lost & (ps < 0)))
            self.lost_before += before
            self.lost += int(np.count_nonzero(lost)) - before


def stream_instructions(trace: Trace, core: int, counts: Counts) -> Iterator[Columns]:
    """Yield paired instruction rows of a core, a chunk of records at a time.

    Columns: ``start_ps`` and ``end_ps`` (int64), ``slot`` (int32; slots beyond the program
    carry the engine and word of an unknown program counter), ``wait`` (uint16 ticks),
    ``crc`` (uint32: in, out), ``lost`` and ``branch`` flags in ``flags`` (uint8).
    """
    slots = trace.program.slots
    inside = Pairer(keys=max(slots, 1), in_order=not trace.vendor)
    outside = Pairer(keys=1 << 24, in_order=not trace.vendor)
    position = 0
    for section in trace.header.find(core, INSTRUCTIONS):
        for records in chunks(trace.buffer, section):
            starts, ends = _instruction_sides(trace, core, records, position, counts)
            position += len(records)
            for pairer, pick in ((inside, False), (outside, True)):
                sides = []
                for side in (starts, ends):
                    beyond = side["key"] >= slots
                    if pick or beyond.any():
                        chosen = beyond if pick else ~beyond
                        sides.append({name: col[chosen] for name, col in side.items()})
                        if pick:
                            sides[-1]["key"] = sides[-1]["key"] - np.uint32(slots)
                    else:
                        sides.append(side)
                if pick and not (len(sides[0]["key"]) or len(sides[1]["key"])):
                    continue
                rows = pairer.pair(sides[0], sides[1])
                yield _instruction_rows(trace, rows, slots if pick else 0, counts)
    for pairer in (inside, outside):
        counts.open_ends += pairer.open_ends
        if pairer.starts:
            keys, number = np.unique(pairer.starts["key"], return_counts=True)
            shift = slots if pairer is outside else 0
            for key, count in zip((keys + shift).tolist(), number.tolist(), strict=True):
                counts.open_starts[key] = counts.open_starts.get(key, 0) + count


def _instruction_sides(
    trace: Trace,
    core: int,
    records: npt.NDArray[np.void],
    position: int,
    counts: Counts,
) -> tuple[Columns, Columns]:
    what = np.ascontiguousarray(records["what"])
    kind = kind_of(what)
    counts.records += len(what)
    sides = []
    address, words, first = trace.program.tables(core)
    slots = np.uint32(trace.program.slots)
    for wanted in (INSTRUCTION_START, INSTRUCTION_END):
        where = np.flatnonzero(kind == wanted)
        chosen = what[where]
        engine = engine_of(chosen)
        word = chosen & np.uint32(PC_MASK)
        pc = (word - address[engine]) & np.uint32(PC_MASK)
        key = first[engine] + pc
        beyond = pc >= words[engine]
        if beyond.any():
            key[beyond] = slots + (engine[beyond] << np.uint32(21) | word[beyond])
        side: Columns = {
            "key": key,
            "position": where + position,
            "ps": trace.engine_ps(core, engine, records["time"][where]),
        }
        counts.count_lost(chosen, side["ps"])
        args = records["args"][where]
        if wanted == INSTRUCTION_START:
            side["wait"] = (args >> np.uint32(16)).astype(np.uint16)
            side["flags"] = ((chosen >> np.uint32(21)) & np.uint32(1)).astype(np.uint8)
            side["start_ps"] = side.pop("ps")
        else:
            side["crc"] = args
            side["end_ps"] = side.pop("ps")
        sides.append(side)
    counts.foreign += len(what) - len(sides[0]["key"]) - len(sides[1]["key"])
    return sides[0], sides[1]


def _instruction_rows(trace: Trace, rows: Columns, shift: int, counts: Counts) -> Columns:
    start, end = rows["start_ps"], rows["end_ps"]
    keep = start >= 0
    counts.before += int(np.count_nonzero(~keep))
    if trace.end_ps is not None:
        late = keep & (end > trace.end_ps)
        counts.after += int(np.count_nonzero(late))
        keep &= ~late
    key = rows["key"]
    if shift:
        counts.outside += int(np.count_nonzero(keep))
        if trace.vendor:
            keep[:] = False
    counts.negative += int(np.count_nonzero(keep & (end < start)))
    chosen = slice(None) if keep.all() else np.flatnonzero(keep)
    return {
        "start_ps": start[chosen],
        "end_ps": end[chosen],
        "slot": (key[chosen] + np.uint32(shift)).astype(np.int32),
        "wait": rows["wait"][chosen],
        "crc": rows["crc"][chosen],
        "flags": rows["flags"][chosen],
    }


def stream_events(trace: Trace, core: int, counts: Counts) -> Iterator[Columns]:
    """Yield event and semaphore updates of a core: ``ps``, ``what`` and ``value`` (uint32)."""
    clock = trace.header.cores[core].event_clock
    for section in trace.header.find(core, EVENTS):
        for records in chunks(trace.buffer, section):
            what = np.ascontiguousarray(records["what"])
            counts.records += len(what)
            is_event = kind_of(what) == EVENT
            counts.foreign += int(np.count_nonzero(~is_event))
            ps = to_ps(records["time"], clock) - trace.zero_ps
            counts.count_lost(what, ps)
            keep = is_event & (ps >= 0)
            counts.before += int(np.count_nonzero(is_event & ~keep))
            chosen = np.flatnonzero(keep)
            yield {"ps": ps[chosen], "what": what[chosen], "value": records["args"][chosen]}


def stream_dma(trace: Trace, core: int, counts: Counts) -> Iterator[Columns]:
    """Yield paired DMA packets of a core.

    Columns: ``start_ps`` and ``end_ps`` (data written), ``key`` (uint32: engine modulo 32
    times 16, plus ring), ``size`` (uint32 bytes), ``crc`` (uint32).
    """
    pairer = Pairer(keys=RING_KEYS, in_order=not trace.vendor)
    position = 0
    for section in trace.header.find(core, DMA):
        for records in chunks(trace.buffer, section):
            what = np.ascontiguousarray(records["what"])
            args = np.ascontiguousarray(records["args"])
            counts.records += len(what)
            step = args & np.uint32(15)
            ring = (args >> np.uint32(4)) & np.uint32(15)
            engine = (what >> np.uint32(24)) & np.uint32(31)
            ps = trace.dma_ps(core, engine, records["time"])
            # the vendor drops records before time zero one by one, which breaks the pairs of
            # packets that are in flight at that moment
            valid = ps >= 0 if trace.vendor else np.ones(len(ps), dtype=bool)
            sides: list[Columns] = []
            for wanted in (_PACKET_START, _PACKET_WRITTEN):
                where = np.flatnonzero(valid & (step == wanted))
                side: Columns = {
                    "key": engine[where] << np.uint32(4) | ring[where],
                    "position": where + position,
                }
                if wanted == _PACKET_START:
                    side["start_ps"] = ps[where]
                else:
                    side["end_ps"] = ps[where]
                    side["size"] = what[where] & np.uint32(0xFFFFFF)
                    side["crc"] = args[where] >> np.uint32(16)
                sides.append(side)
            counts.foreign += int(np.count_nonzero((step != 1) & (step != 5) & (step != 6)))
            position += len(what)
            rows = pairer.pair(sides[0], sides[1])
            yield _dma_rows(trace, rows, counts)
    counts.open_ends += pairer.open_ends
    if pairer.starts:
        keys, number = np.unique(pairer.starts["key"], return_counts=True)
        counts.open_starts.update(zip(keys.tolist(), number.tolist(), strict=True))


def _dma_rows(trace: Trace, rows: Columns, counts: Counts) -> Columns:
    start, end = rows["start_ps"], rows["end_ps"]
    before = start < 0
    across = before & (end >= 0)
    counts.before += int(np.count_nonzero(before))
    counts.across += int(np.count_nonzero(across))
    counts.negative += int(np.count_nonzero(end < start))
    # starts and ends that the vendor pairs crosswise come out negative, and it drops them
    drop = before | (end < start) if trace.vendor else before
    chosen = np.flatnonzero(~drop) if drop.any() else slice(None)
    return {name: rows[name][chosen] for name in ("start_ps", "end_ps", "key", "size", "crc")}


def throttle_records(trace: Trace, core: int, counts: Counts) -> Columns:
    """Return throttle records of a core: ``ps``, ``n``, ``k``, ``reason`` (uint32)."""
    clock = trace.header.cores[core].throttle_clock
    parts = []
    for section in trace.header.find(core, THROTTLE):
        for records in chunks(trace.buffer, section):
            what, args = records["what"], records["args"]
            counts.records += len(what)
            parts.append(
                {
                    "ps": to_ps(records["time"], clock) - trace.zero_ps,
                    "n": (what >> np.uint32(16)) & np.uint32(0xFF),
                    "k": args & np.uint32(0xFF),
                    "reason": (args & _LOW16) >> np.uint32(8),
                }
            )
    return _concatenate(
        parts, {"ps": np.int64, "n": np.uint32, "k": np.uint32, "reason": np.uint32}
    )


def _concatenate(parts: list[Columns], empty: Mapping[str, Any]) -> Columns:
    """Join column dictionaries; ``empty`` names the columns of none at all."""
    if not parts:
        return {name: np.zeros(0, dtype=kind) for name, kind in empty.items()}
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
