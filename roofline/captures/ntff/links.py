"""Which instruction issued a dynamic DMA packet, and between which memories it moved.

Each issuer has one queue. On each ring of the queue the packets of one DMA_DIRECT2D end with its
4-byte semaphore update, so the k-th group of packets belongs to the k-th DMA_DIRECT2D. A ring
whose groups do not match the instructions is left unlinked, unless all instructions of the issuer
move between the same memories: then that much is certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.derived import SlotFacts
from roofline.captures.ntff.header import ENGINES

__all__ = ["ISSUERS", "Links"]

ISSUERS: Final = {
    "qPoolDynamic": "gpsimd",
    "qSPDynamicHW": "sync",
    "qActDynamicHW": "scalar",
}
"""Engine that issues to a dynamic queue, by the ring's name in the file."""

_DIRECT2D: Final = 0xB8
_SEMAPHORE_BYTES: Final = 4


@dataclass(frozen=True)
class Links:
    """Links of the DMA packets of a trace to instructions."""

    decoded: Decoded
    facts: SlotFacts

    @cached_property
    def _found(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8], npt.NDArray[np.int8]]:
        packets, rows = self.decoded.dma, self.decoded.instructions
        trace = self.decoded.trace
        issuer_row = np.full(len(packets["key"]), -1, dtype=np.int64)
        source = np.full(len(issuer_row), -1, dtype=np.int8)
        dest = source.copy()
        opcode = self.decoded.by_slot(rows["slot"], self.decoded.words.opcode)
        issues = np.flatnonzero(opcode == _DIRECT2D)
        engine = self.decoded.engine_of(rows["slot"][issues])
        for core, held in enumerate(trace.header.cores):
            for name, key in ISSUERS.items():
                chosen = (rows["core"][issues] == core) & (engine == ENGINES.index(key))
                issued = issues[chosen]
                if not len(issued):
                    continue
                memory = {
                    side: self.facts.dma_memory[side][rows["slot"][issued]]
                    for side in ("source", "dest")
                }
                for ring in held.rings:
                    if ring.name != name:
                        continue
                    group = self.decoded.packets_of(core, ring)
                    index = self._group_index(packets["size"][group])
                    if index is not None and index[-1] + 1 == len(issued):
                        issuer_row[group] = issued[index]
                        source[group] = memory["source"][index]
                        dest[group] = memory["dest"][index]
                        continue
                    for side, column in (("source", source), ("dest", dest)):
                        if (memory[side] == memory[side][0]).all():
                            column[group] = memory[side][0]
        return issuer_row, source, dest

    @staticmethod
    def _group_index(size: npt.NDArray[Any]) -> npt.NDArray[np.int64] | None:
        """Return the group of each packet of a ring, ``None`` where the last one is not closed."""
        last = size == _SEMAPHORE_BYTES
        if not len(size) or not last[-1]:
            return None
        index = np.cumsum(last)
        index[last] -= 1
        return index

    @property
    def issuer_row(self) -> npt.NDArray[np.int64]:
        """Row of the instruction that issued each packet; -1 where it is not known."""
        return self._found[0]

    @property
    def source(self) -> npt.NDArray[np.int8]:
        """Memory each packet was read from: index of ``MEMORIES``; -1 where it is not known."""
        return self._found[1]

    @property
    def dest(self) -> npt.NDArray[np.int8]:
        """Memory each packet was written to: index of ``MEMORIES``; -1 where it is not known."""
        return self._found[2]
