"""Transfers planned at compile time: which packets of the static rings belong together.

A ring lists its blocks with the packets each has per run; a block is one transfer, spread over
the rings of one queue. The last 4 bytes of a block on each ring are its semaphore update, a
packet of its own or added to the last one, and no payload. The split by packet counts is exact
where blocks of a queue have equal counts and an estimate elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy.typing as npt

from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.header import Ring
from roofline.captures.ntff.wire import Span, walk

__all__ = ["IO_RING", "WEIGHT_RING", "Transfer", "Transfers"]

_SEMAPHORE_BYTES: Final = 4
WEIGHT_RING: Final = 2
IO_RING: Final = 3
"""Kinds of the rings that move weights, and inputs and outputs, by descriptors made beforehand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One static transfer: times in ps from time zero, payload bytes, kind of its queue."""

    core: int
    queue: str
    block: int
    kind: int
    start_ps: int
    end_ps: int
    payload_bytes: int


@dataclass(frozen=True)
class Transfers:
    """Static transfers of a trace, found when first asked for."""

    decoded: Decoded

    @cached_property
    def _split(self) -> tuple[tuple[Transfer, ...], int]:
        trace = self.decoded.trace
        found: dict[tuple[int, str, int], Transfer] = {}
        left = 0
        for core, held in enumerate(trace.header.cores):
            for ring in held.rings:
                if ring.kind not in (WEIGHT_RING, IO_RING) or not ring.blocks:
                    continue
                packets = self.decoded.packets_of(core, ring)
                left += self._of_ring(core, ring, packets, found)
        return tuple(found[key] for key in sorted(found)), left

    @property
    def all(self) -> tuple[Transfer, ...]:
        """Transfers by core, queue and block."""
        return self._split[0]

    @property
    def unassigned(self) -> int:
        """Packets of static rings that belong to no block of their ring."""
        return self._split[1]

    def _of_ring(
        self,
        core: int,
        ring: Ring,
        packets: npt.NDArray[Any],
        found: dict[tuple[int, str, int], Transfer],
    ) -> int:
        rows = self.decoded.dma
        blocks = sorted(self._block(span) for span in ring.blocks)
        at = 0
        for number, count in blocks:
            part = packets[at : at + count]
            at += count
            if not len(part):
                continue
            start = int(rows["start_ps"][part].min())
            end = int(rows["end_ps"][part].max())
            size = int(rows["size"][part].sum()) - _SEMAPHORE_BYTES
            held = found.get((core, ring.name, number))
            if held is not None:
                start, end = min(start, held.start_ps), max(end, held.end_ps)
                size += held.payload_bytes
            found[core, ring.name, number] = Transfer(
                core=core,
                queue=ring.name,
                block=number,
                kind=ring.kind,
                start_ps=start,
                end_ps=end,
                payload_bytes=size,
            )
        return max(len(packets) - at, 0)

    def _block(self, span: Span) -> tuple[int, int]:
        number = count = 0
        for field, value in walk(self.decoded.trace.buffer, span, "metadata.rings"):
            if isinstance(value, int):
                if field == 1:
                    number = value
                elif field == 2:
                    count = value
        return number, count
