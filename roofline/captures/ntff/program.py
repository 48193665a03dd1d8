"""The instruction words of every core and engine, and the slot each program counter has.

All words of a file are numbered through: a *slot* is the index of a word in that numbering.
Rows carry slots, so what a word says is decoded once per word and looked up once per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.header import Header, Memory

__all__ = ["PC_MASK", "WORD_BYTES", "Program"]

WORD_BYTES: Final = 64

PC_MASK: Final = (1 << 21) - 1
"""Records hold the low 21 bits of device address / 64."""

_ENGINE_NUMBERS: Final = 8
_INSERTED: Final = 0


@dataclass(frozen=True)
class Program:
    """Instruction memories of a file, one after another, as slots."""

    buffer: memoryview
    header: Header

    @cached_property
    def _layout(self) -> tuple[dict[tuple[int, int], tuple[int, Memory]], int]:
        placed: dict[tuple[int, int], tuple[int, Memory]] = {}
        total = 0
        for core, held in enumerate(self.header.cores):
            for memory in held.memories:
                if (core, memory.engine) not in placed:
                    placed[core, memory.engine] = (total, memory)
                    total += len(memory.span) // WORD_BYTES
        return placed, total

    @property
    def slots(self) -> int:
        """Number of words in all memories."""
        return self._layout[1]

    def tables(
        self, core: int
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Return address word, word count and first slot by engine number of records (0 to 7)."""
        address, words, first = (np.zeros(_ENGINE_NUMBERS, dtype=np.uint32) for _ in range(3))
        for (held_core, engine), (start, memory) in self._layout[0].items():
            if held_core == core:
                address[engine + 1] = (memory.address >> 6) & PC_MASK
                words[engine + 1] = len(memory.span) // WORD_BYTES
                first[engine + 1] = start
        return address, words, first

    @cached_property
    def words(self) -> npt.NDArray[np.uint8]:
        """All words, uint8 of shape (slots, 64)."""
        parts = [
            np.frombuffer(
                self.buffer,
                np.uint8,
                len(memory.span) // WORD_BYTES * WORD_BYTES,
                memory.span.start,
            )
            for _, memory in self._layout[0].values()
        ]
        if not parts:
            return np.zeros((0, WORD_BYTES), dtype=np.uint8)
        return np.concatenate(parts).reshape(-1, WORD_BYTES)

    def _of_slot(self, what: int) -> npt.NDArray[np.int64]:
        parts = [
            np.full(len(memory.span) // WORD_BYTES, (core, engine)[what], dtype=np.int64)
            for (core, engine), (_, memory) in self._layout[0].items()
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    @cached_property
    def core(self) -> npt.NDArray[np.int64]:
        """Core index of each slot."""
        return self._of_slot(0)

    @cached_property
    def engine(self) -> npt.NDArray[np.int64]:
        """Engine of each slot, an index of ``header.ENGINES``."""
        return self._of_slot(1)

    @cached_property
    def pc(self) -> npt.NDArray[np.int64]:
        """Program counter of each slot within its memory."""
        parts = [
            np.arange(len(memory.span) // WORD_BYTES) for _, memory in self._layout[0].values()
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    @cached_property
    def inserted(self) -> npt.NDArray[np.bool_]:
        """Whether the runtime put the word into the program: it is not in the compiled one."""
        inserted = np.zeros(self.slots, dtype=bool)
        for (core, engine), (first, memory) in self._layout[0].items():
            words = len(memory.span) // WORD_BYTES
            for edit in self.header.cores[core].edits:
                if edit.engine == engine and edit.kind == _INSERTED:
                    at = min(edit.offset_bytes // WORD_BYTES, words)
                    inserted[first + at : first + min(at + edit.count, words)] = True
        return inserted
