"""The DMA table: one row a packet, with the queue it came through."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.columns import CORE, Column, array, time_columns
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.derived import MEMORIES, SlotFacts
from roofline.captures.ntff.header import Ring
from roofline.captures.ntff.links import Links
from roofline.captures.ntff.streams import RING_KEYS
from roofline.captures.ntff.strings import categories, optional

__all__ = ["PacketTable", "queue_class", "queue_name"]

_SEMAPHORE_BYTES: Final = 4

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
class PacketTable:
    """Columns of the DMA packet table of decoded rows."""

    decoded: Decoded

    @cached_property
    def ring_keys(self) -> list[tuple[int, int, int]]:
        """Core, DMA engine and ring number by ``core * RING_KEYS + key``."""
        trace = self.decoded.trace
        return [
            (core, trace.dma_base(core) + (key >> 4), key & 15)
            for core in range(len(trace.header.cores))
            for key in range(RING_KEYS)
        ]

    @cached_property
    def ring_of(self) -> npt.NDArray[np.int32]:
        """Index into ``ring_keys`` of each packet."""
        rows = self.decoded.dma
        return (rows["core"].astype(np.int32) * RING_KEYS + rows["key"]).astype(np.int32)

    @cached_property
    def rings(self) -> list[Ring | None]:
        """Declared ring of each of ``ring_keys``."""
        held = [
            self.decoded.trace.rings(core) for core in range(len(self.decoded.trace.header.cores))
        ]
        return [held[core].get((engine, ring)) for core, engine, ring in self.ring_keys]

    @cached_property
    def classes(self) -> list[str]:
        """Queue type of each of ``ring_keys``."""
        return [
            queue_class(ring, key[2]) for ring, key in zip(self.rings, self.ring_keys, strict=True)
        ]

    @cached_property
    def links(self) -> Links:
        """Instructions that issued the packets."""
        return Links(self.decoded, SlotFacts(self.decoded.trace.program, self.decoded.words))

    def read_bytes(self, size: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return bytes read: records count bytes written, which a DMA that casts changes."""
        if self.decoded.trace.vendor:
            return size
        facts, issuer = self.links.facts, self.links.issuer_row
        linked = np.flatnonzero((issuer >= 0) & (size != _SEMAPHORE_BYTES))
        slot = self.decoded.instructions["slot"][issuer[linked]]
        source, dest = (facts.dma_bytes[side][slot] for side in ("source", "dest"))
        read = size.copy()
        casts = dest > 0
        read[linked[casts]] = size[linked[casts]] * source[casts] // dest[casts]
        return read

    def is_class(self, *names: str) -> npt.NDArray[np.bool_]:
        """Return which packets went through queues of some types."""
        of_key = np.isin(np.array(self.classes), names)
        return np.take(of_key, self.ring_of)

    def _queue_names(self) -> Any:
        declared = np.array([ring is not None for ring in self.rings])[self.ring_of]
        names = [queue_name(ring.name) if ring else "" for ring in self.rings]
        return categories(np.where(declared, self.ring_of, -1), names)

    def columns(self) -> list[Column]:
        """Columns of the DMA packet table."""
        rows = self.decoded.dma

        def size() -> Any:
            return array(rows["size"].astype(np.int64))

        def memory(which: npt.NDArray[np.int8]) -> Any:
            return categories(np.where(which < 0, len(MEMORIES), which), (*MEMORIES, "unknown"))

        def named(texts: list[str]) -> Any:
            return categories(self.ring_of, texts)

        return [
            *time_columns(rows["start_ps"], rows["end_ps"], end_what="data written"),
            Column(name="pcore_idx", make=lambda: array(rows["core"]), meaning=CORE),
            Column(
                name="id", make=lambda: array(np.arange(len(rows["core"]))), meaning="row number"
            ),
            Column(name="transfer_bytes", make=size, meaning="bytes moved", unit="B"),
            Column(
                name="read_bytes",
                make=lambda: array(self.read_bytes(rows["size"].astype(np.int64))),
                meaning="bytes read at the source",
                unit="B",
            ),
            Column(name="write_bytes", make=size, meaning="bytes written", unit="B"),
            Column(
                name="source_memory",
                make=lambda: memory(self.links.source),
                meaning="memory read; unknown for planned DMA and where no issuer is found",
            ),
            Column(
                name="dest_memory",
                make=lambda: memory(self.links.dest),
                meaning="memory written; unknown for planned DMA and where no issuer is found",
            ),
            Column(
                name="instruction_id",
                make=lambda: optional(self.links.issuer_row),
                meaning="id of the instruction that issued the packet",
            ),
            Column(
                name="queue_type",
                make=lambda: named(self.classes),
                meaning="who built the descriptors",
            ),
            Column(
                name="queue_name",
                make=self._queue_names,
                meaning="name of the queue; null where the file does not declare it",
            ),
            Column(
                name="queue_idx",
                make=lambda: array((rows["key"] & np.uint32(15)).astype(np.int16)),
                meaning="ring number on its DMA engine",
            ),
            Column(
                name="engine_idx",
                make=lambda: array(
                    np.array([engine for _, engine, _ in self.ring_keys], dtype=np.int16)[
                        self.ring_of
                    ]
                ),
                meaning="DMA engine number",
            ),
            Column(
                name="crc", make=lambda: array(rows["crc"].astype(np.int32)), meaning="16-bit hash"
            ),
        ]
