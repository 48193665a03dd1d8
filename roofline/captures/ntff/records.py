"""Trace records as numpy views over the mapped file, chunk by chunk, and their clocks.

A record is 16 bytes: ``what`` holds a 16-bit id, 8 bits of flags and the type in its top byte,
``args`` two 16-bit arguments, ``time`` the raw clock.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.header import RECORD_BYTES, Clock, Section
from roofline.errors import CaptureError

__all__ = [
    "CHUNK_RECORDS",
    "EVENT",
    "INSTRUCTION_END",
    "INSTRUCTION_START",
    "LOST",
    "RECORD",
    "chunks",
    "engine_of",
    "floor_ns",
    "kind_of",
    "to_ps",
]

RECORD: Final = np.dtype([("what", "<u4"), ("args", "<u4"), ("time", "<u8")])

CHUNK_RECORDS: Final = 1 << 18
"""4 MiB a chunk: large enough to hide the cost of a numpy call, small enough for the cache."""

INSTRUCTION_START: Final = 0
INSTRUCTION_END: Final = 1
EVENT: Final = 3

LOST: Final = np.uint32(1 << 30)
"""Bit of ``what``: at least one record of this ring was lost just before."""

Ints = npt.NDArray[np.int64]


def chunks(
    buffer: memoryview, section: Section, size: int | None = None
) -> Iterator[npt.NDArray[np.void]]:
    """Yield the records of ``section``, at most ``size`` (``CHUNK_RECORDS``) at a time.

    The pages of a chunk are given back to the system once the next one is asked for, so a file
    may be larger than memory.
    """
    size = CHUNK_RECORDS if size is None else size
    mapped = buffer.obj if isinstance(buffer.obj, mmap.mmap) else None
    for first in range(0, section.records, size):
        count = min(size, section.records - first)
        start = section.offset + first * RECORD_BYTES
        if mapped is not None and mapped.size() < start + count * RECORD_BYTES:
            raise CaptureError(
                "the file shrank while it was read", offset=start, section=section.name
            )
        try:
            yield np.frombuffer(buffer, RECORD, count, start)
        except ValueError as error:  # the file shrank since its header was read
            raise CaptureError("records are missing", offset=start, section=section.name) from error
        if mapped is not None and section.records > size:
            page = start // mmap.PAGESIZE * mmap.PAGESIZE
            length = count * RECORD_BYTES // mmap.PAGESIZE * mmap.PAGESIZE
            if length:
                mapped.madvise(mmap.MADV_DONTNEED, page, length)


def kind_of(what: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return the kind of engine records: start, end, 2 throttle, event."""
    return (what >> np.uint32(24)) & np.uint32(3)


def engine_of(what: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return the engine number of engine records: 1 Tensor to 5 Sync, 6 DMA, 0 host, 7 chip."""
    return (what >> np.uint32(26)) & np.uint32(7)


def to_ps(raw: npt.NDArray[np.uint64], clock: Clock, base: Ints | None = None) -> Ints:
    """Return ``floor((raw - base) * num / den)`` picoseconds, exactly.

    ``base`` replaces the clock's own by one per record. The product would not fit 64 bits, so
    whole periods of ``den`` ticks and the rest are scaled apart.
    """
    offset = np.uint64(clock.base) if base is None else base.view(np.uint64)
    ticks: Ints = (raw - offset).view(np.int64)
    if clock.num == clock.den:
        return ticks
    den, num = np.int64(clock.den), np.int64(clock.num)
    whole = ticks // den
    ticks -= whole * den
    ticks *= num
    ticks //= den
    whole *= num
    whole += ticks
    return whole


def floor_ns(ps: Ints) -> Ints:
    """Return whole nanoseconds, rounded down as the vendor prints them."""
    return ps // np.int64(1000)
