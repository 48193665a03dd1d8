"""Decoded rows of an NTFF file: instructions, events, DMA packets and throttling as arrays."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.header import Header, Ring
from roofline.captures.ntff.metadata import parse_header
from roofline.captures.ntff.pairing import Columns, Pairer
from roofline.captures.ntff.program import PC_MASK, Program
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
from roofline.errors import CaptureError

__all__ = ["RING_KEYS", "Counts", "Trace", "open_trace"]

INSTRUCTIONS: Final = 0
EVENTS: Final = 1
DMA: Final = 4
THROTTLE: Final = 5

RING_KEYS: Final = 512
"""Keys of the rings of a core: DMA engine modulo 32, times 16, plus ring number."""

_PACKET_START: Final = 1
_PACKET_WRITTEN: Final = 5
_NOTIFY: Final = 0xA6
_HINT_START: Final = 2

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


@dataclass(frozen=True)
class Trace:
    """An open NTFF file. Nothing is decoded before it is asked for.

    Times are int64 picoseconds from time zero: the start of the execution where the file names it
    (version 6), else the end of the last start marker of the first core, else the first start.
    """

    path: Path
    buffer: memoryview
    header: Header
    compat: str | None = None
    counts: dict[str, Counts] = field(default_factory=dict)

    @property
    def vendor(self) -> bool:
        """Whether the vendor's rows are wanted, with their defects."""
        return self.compat == "vendor"

    @cached_property
    def program(self) -> Program:
        """Instruction words by slot."""
        return Program(self.buffer, self.header)

    @cached_property
    def _zero(self) -> tuple[int, bool]:
        if self.header.window_ps is not None:
            return self.header.window_ps[0], True
        latest = self._marker(0, _HINT_START)
        if latest is not None:
            return latest, True
        return self._earliest(), False

    @property
    def zero_ps(self) -> int:
        """Time zero on the clock of the file."""
        return self._zero[0]

    @property
    def zero_is_known(self) -> bool:
        """Whether the file marks time zero; without a mark it is the first instruction's start."""
        return self._zero[1]

    def _earliest(self) -> int:
        found: list[int] = []
        for core in range(len(self.header.cores)):
            for section in self.header.find(core, INSTRUCTIONS):
                for records in chunks(self.buffer, section):
                    what = np.ascontiguousarray(records["what"])
                    where = np.flatnonzero(kind_of(what) == INSTRUCTION_START)
                    if len(where):
                        engine = engine_of(what[where])
                        ps = self._engine_ps(core, engine, records["time"][where], zero=0)
                        found.append(int(ps.min()))
        return min(found, default=0)

    @property
    def end_ps(self) -> int | None:
        """End of the execution from time zero, where the file names it."""
        window = self.header.window_ps
        return None if window is None else window[1] - window[0]

    def start_marker_ps(self, core: int) -> int | None:
        """Return when the last engine of a core passed its start marker, from time zero."""
        marker = self._marker(core, _HINT_START)
        return None if marker is None else marker - self.zero_ps

    def _marker(self, core: int, hint: int) -> int | None:
        """Return the latest end of the NOTIFY instructions with ``hint`` of a core."""
        words = self.program.words
        hints = words[:, 36].astype(np.int64) | words[:, 37].astype(np.int64) << 8
        is_marker = (words[:, 0] == _NOTIFY) & (hints == hint) & (self.program.core == core)
        wanted = np.flatnonzero(is_marker)
        if not len(wanted):
            return None
        address, _, _ = self.program.tables(core)
        engine = self.program.engine[wanted].astype(np.uint32) + np.uint32(1)
        word = (self.program.pc[wanted].astype(np.uint32) + address[engine]) & np.uint32(PC_MASK)
        pattern = np.unique(word | engine << np.uint32(26) | np.uint32(1 << 24))
        mask = np.uint32(PC_MASK | 7 << 26 | 3 << 24)
        latest: int | None = None
        for section in self.header.find(core, INSTRUCTIONS):
            for records in chunks(self.buffer, section):
                what = np.ascontiguousarray(records["what"]) & mask
                found = np.flatnonzero(np.isin(what, pattern))
                for number in np.unique(engine_of(what[found])):
                    of_engine = found[engine_of(what[found]) == number]
                    clock = self.header.cores[core].engine_clocks[int(number) - 1]
                    last = int(to_ps(records["time"][of_engine], clock).max())
                    latest = last if latest is None else max(latest, last)
        return latest

    # Instructions -----------------------------------------------------------------------------

    def stream_instructions(self, core: int, counts: Counts) -> Iterator[Columns]:
        """Yield paired instruction rows of a core, a chunk of records at a time.

        Columns: ``start_ps`` and ``end_ps`` (int64), ``slot`` (int32; slots beyond the program
        carry the engine and word of an unknown program counter), ``wait`` (uint16 ticks),
        ``crc`` (uint32: in, out), ``lost`` and ``branch`` flags in ``flags`` (uint8).
        """
        slots = self.program.slots
        inside = Pairer(keys=max(slots, 1), in_order=not self.vendor)
        outside = Pairer(keys=1 << 24, in_order=not self.vendor)
        position = 0
        for section in self.header.find(core, INSTRUCTIONS):
            for records in chunks(self.buffer, section):
                starts, ends = self._instruction_sides(core, records, position, counts)
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
                    yield self._instruction_rows(rows, slots if pick else 0, counts)
        for pairer in (inside, outside):
            counts.open_ends += pairer.open_ends
            if pairer.starts:
                keys, number = np.unique(pairer.starts["key"], return_counts=True)
                shift = slots if pairer is outside else 0
                for key, count in zip((keys + shift).tolist(), number.tolist(), strict=True):
                    counts.open_starts[key] = counts.open_starts.get(key, 0) + count

    def _instruction_sides(
        self,
        core: int,
        records: npt.NDArray[np.void],
        position: int,
        counts: Counts,
    ) -> tuple[Columns, Columns]:
        what = np.ascontiguousarray(records["what"])
        kind = kind_of(what)
        counts.records += len(what)
        sides = []
        address, words, first = self.program.tables(core)
        slots = np.uint32(self.program.slots)
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
                "ps": self._engine_ps(core, engine, records["time"][where]),
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

    def _engine_ps(
        self,
        core: int,
        engine: npt.NDArray[np.uint32],
        raw: npt.NDArray[np.uint64],
        zero: int | None = None,
    ) -> npt.NDArray[np.int64]:
        clocks = self.header.cores[core].engine_clocks
        if len(set(clocks)) == 1:
            ps = to_ps(raw, clocks[0])
        else:
            ps = np.zeros(len(raw), dtype=np.int64)
            for number, clock in enumerate(clocks, start=1):
                chosen = np.flatnonzero(engine == number)
                if len(chosen):
                    ps[chosen] = to_ps(raw[chosen], clock)
        ps -= self.zero_ps if zero is None else zero
        return ps

    def _instruction_rows(self, rows: Columns, shift: int, counts: Counts) -> Columns:
        start, end = rows["start_ps"], rows["end_ps"]
        keep = start >= 0
        counts.before += int(np.count_nonzero(~keep))
        if self.end_ps is not None:
            late = keep & (end > self.end_ps)
            counts.after += int(np.count_nonzero(late))
            keep &= ~late
        key = rows["key"]
        if shift:
            counts.outside += int(np.count_nonzero(keep))
            if self.vendor:
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

    # Events -----------------------------------------------------------------------------------

    def stream_events(self, core: int, counts: Counts) -> Iterator[Columns]:
        """Yield event and semaphore updates of a core: ``ps``, ``what`` and ``value`` (uint32)."""
        clock = self.header.cores[core].event_clock
        for section in self.header.find(core, EVENTS):
            for records in chunks(self.buffer, section):
                what = np.ascontiguousarray(records["what"])
                counts.records += len(what)
                is_event = kind_of(what) == EVENT
                counts.foreign += int(np.count_nonzero(~is_event))
                ps = to_ps(records["time"], clock) - self.zero_ps
                counts.count_lost(what, ps)
                keep = is_event & (ps >= 0)
                counts.before += int(np.count_nonzero(is_event & ~keep))
                chosen = np.flatnonzero(keep)
                yield {"ps": ps[chosen], "what": what[chosen], "value": records["args"][chosen]}

    # DMA --------------------------------------------------------------------------------------

    def rings(self, core: int) -> dict[tuple[int, int], Ring]:
        """Rings of a core by DMA engine and ring number."""
        return {(ring.engine, ring.number): ring for ring in self.header.cores[core].rings}

    def dma_base(self, core: int) -> int:
        """Number that records' DMA engines (modulo 32) count from."""
        rings = self.header.cores[core].rings
        return rings[0].engine & ~31 if rings else 0

    def stream_dma(self, core: int, counts: Counts) -> Iterator[Columns]:
        """Yield paired DMA packets of a core.

        Columns: ``start_ps`` and ``end_ps`` (data written), ``key`` (uint32: engine modulo 32
        times 16, plus ring), ``size`` (uint32 bytes), ``crc`` (uint32).
        """
        pairer = Pairer(keys=RING_KEYS, in_order=not self.vendor)
        position = 0
        for section in self.header.find(core, DMA):
            for records in chunks(self.buffer, section):
                what = np.ascontiguousarray(records["what"])
                args = np.ascontiguousarray(records["args"])
                counts.records += len(what)
                step = args & np.uint32(15)
                ring = (args >> np.uint32(4)) & np.uint32(15)
                engine = (what >> np.uint32(24)) & np.uint32(31)
                ps = self._dma_ps(core, engine, records["time"])
                # the vendor drops records before time zero one by one, which breaks the pairs of
                # packets that are in flight at that moment
                valid = ps >= 0 if self.vendor else np.ones(len(ps), dtype=bool)
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
                yield self._dma_rows(rows, counts)
        counts.open_ends += pairer.open_ends
        if pairer.starts:
            keys, number = np.unique(pairer.starts["key"], return_counts=True)
            counts.open_starts.update(zip(keys.tolist(), number.tolist(), strict=True))

    def _dma_ps(
        self, core: int, engine: npt.NDArray[np.uint32], raw: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        clocks = self.header.cores[core].dma_clocks
        if len(set(clocks)) == 1:
            return to_ps(raw, clocks[0]) - self.zero_ps
        number = engine % np.uint32(len(clocks))
        if len({(clock.den, clock.num) for clock in clocks}) == 1:
            bases = np.array([clock.base for clock in clocks], dtype=np.uint64).view(np.int64)
            return to_ps(raw, clocks[0], bases[number]) - self.zero_ps
        ps = np.zeros(len(raw), dtype=np.int64)
        for index, clock in enumerate(clocks):
            chosen = np.flatnonzero(number == index)
            if len(chosen):
                ps[chosen] = to_ps(raw[chosen], clock)
        return ps - self.zero_ps

    def _dma_rows(self, rows: Columns, counts: Counts) -> Columns:
        start, end = rows["start_ps"], rows["end_ps"]
        before = start < 0
        across = before & (end >= 0)
        counts.before += int(np.count_nonzero(before))
        counts.across += int(np.count_nonzero(across))
        counts.negative += int(np.count_nonzero(end < start))
        # starts and ends that the vendor pairs crosswise come out negative, and it drops them
        drop = before | (end < start) if self.vendor else before
        chosen = np.flatnonzero(~drop) if drop.any() else slice(None)
        return {name: rows[name][chosen] for name in ("start_ps", "end_ps", "key", "size", "crc")}

    # Throttling -------------------------------------------------------------------------------

    def throttle_records(self, core: int, counts: Counts) -> Columns:
        """Return throttle records of a core: ``ps``, ``n``, ``k``, ``reason`` (uint32)."""
        clock = self.header.cores[core].throttle_clock
        parts = []
        for section in self.header.find(core, THROTTLE):
            for records in chunks(self.buffer, section):
                what, args = records["what"], records["args"]
                counts.records += len(what)
                parts.append(
                    {
                        "ps": to_ps(records["time"], clock) - self.zero_ps,
                        "n": (what >> np.uint32(16)) & np.uint32(0xFF),
                        "k": args & np.uint32(0xFF),
                        "reason": (args & _LOW16) >> np.uint32(8),
                    }
                )
        return concatenate(
            parts, {"ps": np.int64, "n": np.uint32, "k": np.uint32, "reason": np.uint32}
        )


def concatenate(parts: list[Columns], empty: Mapping[str, Any]) -> Columns:
    """Join column dictionaries; ``empty`` names the columns of none at all."""
    if not parts:
        return {name: np.zeros(0, dtype=kind) for name, kind in empty.items()}
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def open_trace(path: Path, compat: str | None = None) -> Trace:
    """Map an NTFF file and parse its header."""
    with path.open("rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise CaptureError(
                f"{path}: the file is empty", offset=0, section="prologue"
            ) from error
    buffer = memoryview(mapped)
    try:
        header = parse_header(buffer)
    except CaptureError as error:
        raise CaptureError(
            f"{path}: {error.reason}", offset=error.offset, section=error.section
        ) from error
    return Trace(path=path, buffer=buffer, header=header, compat=compat)
