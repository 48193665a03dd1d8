"""An open NTFF file: header, programs, and its clocks counted from time zero."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.header import Header, Ring
from roofline.captures.ntff.metadata import parse_header
from roofline.captures.ntff.program import PC_MASK, Program
from roofline.captures.ntff.records import (
    INSTRUCTION_START,
    chunks,
    engine_of,
    kind_of,
    to_ps,
)
from roofline.captures.plainfile import open_regular
from roofline.errors import CaptureError

__all__ = ["DMA", "EVENTS", "INSTRUCTIONS", "THROTTLE", "Trace", "open_trace"]

INSTRUCTIONS: Final = 0
EVENTS: Final = 1
DMA: Final = 4
THROTTLE: Final = 5
"""Kinds of sections."""

_READ_WHOLE_BYTES: Final = 64 << 20
_GZIP: Final = b"\x1f\x8b"
_NOTIFY: Final = 0xA6
_HINT_START: Final = 2


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
                        ps = self.engine_ps(core, engine, records["time"][where], zero=0)
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

    def engine_ps(
        self,
        core: int,
        engine: npt.NDArray[np.uint32],
        raw: npt.NDArray[np.uint64],
        zero: int | None = None,
    ) -> npt.NDArray[np.int64]:
        """Return times of engine records, ps from ``zero`` (default: time zero)."""
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

    def rings(self, core: int) -> dict[tuple[int, int], Ring]:
        """Rings of a core by DMA engine and ring number."""
        return {(ring.engine, ring.number): ring for ring in self.header.cores[core].rings}

    def dma_base(self, core: int) -> int:
        """Number that records' DMA engines (modulo 32) count from."""
        rings = self.header.cores[core].rings
        return rings[0].engine & ~31 if rings else 0

    def dma_ps(
        self, core: int, engine: npt.NDArray[np.uint32], raw: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Return times of DMA records (engine numbers modulo 32), ps from time zero."""
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


def open_trace(path: Path, compat: str | None = None) -> Trace:
    """Open an NTFF file and parse its header: read whole if it is small, else mapped.

    A mapped file that shrinks ends the process when a lost page is touched, which nothing in
    Python can catch. Small files are safe; of others the size is looked at before each chunk.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            raise CaptureError(f"{path}: the file is empty", offset=0, section="prologue")
        whole = size <= _READ_WHOLE_BYTES
        held = file.read() if whole else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    buffer = memoryview(held)
    if held[:2] == _GZIP:
        raise CaptureError(
            f"{path}: the trace is compressed; gunzip it first, a raw trace is read in place",
            offset=0,
            section="prologue",
        )
    try:
        header = parse_header(buffer)
    except CaptureError as error:
        raise CaptureError(
            f"{path}: {error.reason}", offset=error.offset, section=error.section
        ) from error
    return Trace(path=path, buffer=buffer, header=header, compat=compat)
