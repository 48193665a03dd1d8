"""Join a trace to the program it ran: which word of the NEFF each captured word is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline.captures.neff.program import Neff, Subgraph
from roofline.captures.ntff.header import ENGINES, Header
from roofline.captures.ntff.program import WORD_BYTES, Program
from roofline.errors import CaptureError

__all__ = ["Join", "Match", "check_pair", "choose_neff", "match"]

_DROPPED: Final = 2
_PSEUDO: Final = 0xC0
"""Opcodes from here on are resolved by the runtime, so those words differ in a right pair."""

_ALIKE: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How well a NEFF fits a trace.

    ``uuid``: ``True`` whole or prefix agrees, ``False`` it does not, ``None`` the trace has none.
    ``words`` of ``compared`` instruction words agree; ``fits`` says that all lengths fit.
    """

    uuid: bool | None
    words: int
    compared: int
    fits: bool

    @property
    def score(self) -> float:
        """Share of instruction words that agree; the right program has 1.0."""
        return self.words / self.compared if self.compared and self.fits else 0.0

    @property
    def is_program(self) -> bool:
        """Whether the NEFF is the program of the trace."""
        return self.score == 1.0 or (self.uuid is True and self.score >= _ALIKE)


@dataclass(frozen=True)
class Join:
    """Word numbers of the NEFF for the slots of a trace's program."""

    neff: Neff
    program: Program

    @property
    def header(self) -> Header:
        """Header of the trace."""
        return self.program.header

    @cached_property
    def subgraphs(self) -> tuple[Subgraph | None, ...]:
        """Subgraph of each core of the trace, by name."""
        return tuple(self.neff.subgraphs.get(core.name) for core in self.header.cores)

    @cached_property
    def index(self) -> npt.NDArray[np.int64]:
        """Word number in the NEFF of each slot; -1 for words that the runtime inserted.

        The runtime's program counter, less the words inserted before it, plus those dropped at or
        before it. Numbers beyond the NEFF's program show that the pair is wrong.
        """
        program = self.program
        index = np.full(program.slots, -1, np.int64)
        for core, held in enumerate(self.header.cores):
            for engine in range(len(ENGINES)):
                slots = self.slots(core, engine)
                if not len(slots):
                    continue
                pc = program.pc[slots]
                inserted = program.inserted[slots]
                before: npt.NDArray[np.int64] = np.cumsum(inserted) - inserted
                dropped = np.zeros(len(slots), np.int64)
                for edit in held.edits:
                    if edit.engine == engine and edit.kind == _DROPPED:
                        dropped[pc >= edit.offset_bytes // WORD_BYTES] += edit.count
                index[slots] = np.where(inserted, -1, pc - before + dropped)
        return index

    def slots(self, core: int, engine: int) -> npt.NDArray[np.intp]:
        """Return the slots of one engine of one core, in program order."""
        return np.flatnonzero((self.program.core == core) & (self.program.engine == engine))

    def compiled(self, core: int, engine: int) -> npt.NDArray[np.uint8]:
        """Return the NEFF's words of one engine of one core."""
        subgraph = self.subgraphs[core]
        if subgraph is None:
            return np.zeros((0, WORD_BYTES), np.uint8)
        return subgraph.words(ENGINES[engine])

    def word(self, slot: int) -> bytes:
        """Return the NEFF's word of a slot that has one."""
        words = self.compiled(int(self.program.core[slot]), int(self.program.engine[slot]))
        return bytes(words[int(self.index[slot])])

    @cached_property
    def opcode(self) -> npt.NDArray[np.int16]:
        """Opcode in the NEFF of each slot; -1 where there is none."""
        opcode = np.full(self.program.slots, -1, np.int16)
        for core, engine, slots, words in self._programs():
            del core, engine
            inside = (self.index[slots] >= 0) & (self.index[slots] < len(words))
            opcode[slots[inside]] = words[self.index[slots[inside]], 0]
        return opcode

    def _programs(
        self,
    ) -> Sequence[tuple[int, int, npt.NDArray[np.intp], npt.NDArray[np.uint8]]]:
        return [
            (core, engine, slots, self.compiled(core, engine))
            for core in range(len(self.header.cores))
            for engine in range(len(ENGINES))
            if len(slots := self.slots(core, engine))
        ]

    def compare(self) -> tuple[int, int, bool]:
        """Return agreeing words, compared words, and whether all lengths fit."""
        same = compared = 0
        fits = True
        for _, _, slots, words in self._programs():
            index = self.index[slots]
            kept = index >= 0
            if not kept.any():
                continue
            if int(index.max()) >= len(words):
                fits = False
                continue
            compiled = words[index[kept]]
            plain = compiled[:, 0] < _PSEUDO
            compared += int(plain.sum())
            equal = (compiled == self.program.words[slots[kept]]).all(axis=1)
            same += int((equal & plain).sum())
        return same, compared, fits


def match(neff: Neff, program: Program) -> Match:
    """Return how well a NEFF fits the program that a trace captured."""
    prefix = program.header.uuid
    uuid = neff.header.uuid.startswith(prefix) if prefix else None
    same, compared, fits = Join(neff, program).compare()
    return Match(uuid=uuid, words=same, compared=compared, fits=fits)


def check_pair(neff: Neff, program: Program, trace: str) -> Match:
    """Return the match; raises ``CaptureError`` if the NEFF is not the program of the trace."""
    found = match(neff, program)
    if not found.is_program:
        uuid = {True: "the same uuid", False: "another uuid", None: "no uuid to compare"}
        raise CaptureError(
            f"{neff.path} is not the program of {trace}: {uuid[found.uuid]}, "
            f"{found.words} of {found.compared} instruction words agree"
            + ("" if found.fits else ", and its programs are too short")
        )
    return found


def choose_neff(neffs: Sequence[Neff], program: Program) -> Neff | None:
    """Return the NEFF of a trace among several, or ``None``.

    By uuid and words; among several that fit, the one with the file name that the trace gives, else
    the only one with the uuid. Programs that are identical and not told apart give ``None``.
    """
    fitting = [(neff, found) for neff in neffs if (found := match(neff, program)).is_program]
    if not fitting:
        return None
    by_uuid = [neff for neff, found in fitting if found.uuid]
    if len(by_uuid) == 1:
        return by_uuid[0]
    left = by_uuid or [neff for neff, _ in fitting]
    if len(left) == 1:
        return left[0]
    wanted = PurePosixPath(program.header.neff_path).name
    named = [neff for neff in left if wanted and neff.path.name == wanted]
    if len(named) == 1:
        return named[0]
    # copies of one file are the same program: any of them does
    whole = {neff.header.uuid for neff in left}
    return left[0] if len(whole) == 1 else None
