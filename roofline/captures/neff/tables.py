"""The tables of a trace with the columns that its program adds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from roofline.captures.neff.joined import Joined
from roofline.captures.neff.operands import PSEUDO_NAMES, compiler_text
from roofline.captures.ntff.columns import Column, array
from roofline.captures.ntff.derived import MEMORIES
from roofline.captures.ntff.device import marks_transposes
from roofline.captures.ntff.operands import operand_text
from roofline.captures.ntff.strings import categories, optional
from roofline.captures.ntff.tables import Tables

__all__ = ["ProgramTables"]


@dataclass(frozen=True)
class ProgramTables(Tables):
    """The tables of a trace with the columns that its program adds."""

    joined: Joined

    @property
    def columns(self) -> dict[str, Callable[[], list[Column]]]:
        """What makes the columns of each table."""
        base = Tables.columns.fget(self)  # type: ignore[attr-defined]
        return {
            **base,
            "instructions": lambda: _replaced(base["instructions"](), self._instructions()),
            "dma": lambda: _replaced(base["dma"](), self._dma()),
            "semaphores": lambda: _replaced(base["semaphores"](), self._semaphores()),
        }

    def _instructions(self) -> list[Column]:
        joined, decoded = self.joined, self.decoded
        slot = decoded.instructions["slot"]

        def text(name: str) -> Any:
            found = joined.labels.text(name)
            return categories(decoded.by_slot(slot, found.codes), found.values)

        def number(values: Callable[[], Any]) -> Any:
            return optional(decoded.by_slot(slot, values()))

        meanings = {
            "bir_instruction_name": "name of the compiler's instruction",
            "bir_id": "its number, with its context",
            "penguin_id": "number of the loop nest or kernel line above it",
            "hlo_name": "HLO operation; empty for kernels written by hand",
            "layer": "layer of the framework; Unknown where the program names none",
            "kernel_name": "name of the kernel",
            "nki_source_location": "file and line of the kernel",
            "hlo_source_location": "file and line of the HLO operation",
            "instruction_type": "REGULAR or TRANSPOSE, from debug information",
        }
        columns = [
            Column(name=name, make=partial(text, name), meaning=meaning)
            for name, meaning in meanings.items()
        ]
        columns += [
            Column(
                name="compiler_pc",
                make=lambda: number(lambda: joined.join.index),
                meaning="word number in the compiled program; null for the runtime's code",
                unit="64 B",
            ),
            Column(
                name="operands",
                make=self._operands,
                meaning="operand text as the vendor prints it; null: word not held",
            ),
            Column(
                name="compiler_operands",
                make=self._compiler_operands,
                meaning="operands before the runtime resolved them; null where it did not",
            ),
            Column(
                name="compiler_opcode",
                make=self._compiler_opcode,
                meaning="opcode before the runtime resolved it; null where it did not",
            ),
        ]
        columns += [
            Column(
                name=name,
                make=partial(number, partial(joined.labels.number, name)),
                meaning=meaning,
            )
            for name, meaning in (
                ("raw_bir_id", "number of the compiler's instruction"),
                ("raw_penguin_id", "number of the loop nest or kernel line above it"),
                ("raw_hlo_id", "number of the HLO operation"),
                ("raw_framework_id", "number of the layer"),
            )
        ]
        if joined.marks_transposes:
            columns.append(
                Column(
                    name="tensor_instruction_type",
                    make=lambda: categories(
                        decoded.by_slot(slot, joined.is_transpose()), ("REGULAR", "TRANSPOSE")
                    ),
                    meaning="product or transpose, from debug information; null: no MATMUL",
                )
            )
        return columns

    def _compiler_opcode(self) -> Any:
        opcode = self.joined.join.opcode.astype(np.int64)
        opcode = np.where(np.isin(opcode, list(PSEUDO_NAMES)), opcode, -1)
        names = [PSEUDO_NAMES.get(code, "") for code in range(256)]
        slot = self.decoded.instructions["slot"]
        return categories(self.decoded.by_slot(slot, opcode), names)

    def _operands(self) -> Any:
        """Return operand texts with the names of all semaphores, also of planned queues."""
        decoded, program = self.decoded, self.decoded.trace.program
        slots = self._used_slots()
        transposes = marks_transposes(decoded.trace.header)
        names = self.joined.semaphore_names
        texts = [
            operand_text(
                program.words[slot].tobytes(),
                inserted=bool(program.inserted[slot]),
                queues=names[int(program.core[slot])],
                transposes=transposes,
            )
            for slot in slots.tolist()
        ]
        return self._of_slots(slots, texts)

    def _compiler_operands(self) -> Any:
        join, program = self.joined.join, self.decoded.trace.program
        slots = self._used_slots()
        slots = slots[np.isin(join.opcode[slots], list(PSEUDO_NAMES))]
        names = self.joined.semaphore_names
        texts = [
            compiler_text(join.word(slot), names[int(program.core[slot])])
            for slot in slots.tolist()
        ]
        return self._of_slots(slots, texts)

    def _used_slots(self) -> Any:
        used = np.unique(self.decoded.instructions["slot"])
        return used[used < self.decoded.trace.program.slots]

    def _of_slots(self, slots: Any, texts: list[str]) -> Any:
        """Return a text a row from a text for some slots; null for the others."""
        place = np.full(self.decoded.trace.program.slots, -1, np.int64)
        place[slots] = np.arange(len(slots))
        return categories(self.decoded.by_slot(self.decoded.instructions["slot"], place), texts)

    def _dma(self) -> list[Column]:
        dma = self.joined.dma
        size = self.decoded.dma["size"].astype(np.int64)

        def texts(values: list[str]) -> Any:
            import pyarrow as pa

            return pa.array([value or None for value in values], pa.string()).dictionary_encode()

        def variable() -> Any:
            hbm = MEMORIES.index("hbm")
            read, write = (dma.memory(side) == hbm for side in ("source", "dest"))
            source, dest = dma.variables("source"), dma.variables("dest")
            return texts(
                [
                    one if reads else other if writes else ""
                    for one, other, reads, writes in zip(source, dest, read, write, strict=True)
                ]
            )

        def memory(side: str) -> Any:
            found = dma.memory(side)
            return categories(np.where(found < 0, len(MEMORIES), found), (*MEMORIES, "unknown"))

        def block() -> Any:
            number = [one.block.number for one in dma.executed]
            return optional(np.array([*number, -1], np.int64)[dma.transfer])

        columns = [
            Column(name="variable", make=variable, meaning="tensor on the HBM side"),
            Column(
                name="source_variable",
                make=lambda: texts(dma.variables("source")),
                meaning="variable read",
            ),
            Column(
                name="dest_variable",
                make=lambda: texts(dma.variables("dest")),
                meaning="variable written",
            ),
            Column(
                name="source_memory", make=partial(memory, "source"), meaning="memory read from"
            ),
            Column(name="dest_memory", make=partial(memory, "dest"), meaning="memory written to"),
            Column(name="block_id", make=block, meaning="planned transfer; null: dynamic"),
            Column(
                name="transfer_row",
                make=lambda: optional(dma.transfer),
                meaning="row of the transfers table; null: none",
            ),
        ]
        if not self.decoded.trace.vendor:
            base = self.packets

            def read() -> Any:
                return array(dma.read_bytes(base.read_bytes(size)))

            columns.append(
                Column(name="read_bytes", make=read, meaning="bytes read at the source", unit="B")
            )
        return columns

    def _semaphores(self) -> list[Column]:
        events = self.decoded.events
        chosen = np.flatnonzero(events["what"] & np.uint32(0x100))
        number = (events["what"][chosen] & np.uint32(0xFF)).astype(np.int64)
        core = events["core"][chosen].astype(np.int64)

        def make() -> Any:
            names = [
                held.get(index, "") for held in self.joined.semaphore_names for index in range(256)
            ]
            code = core * 256 + number
            known = np.array([bool(name) for name in names], np.bool_)[code]
            return categories(np.where(known, code, -1), names)

        return [Column(name="name", make=make, meaning="queue or engine of the semaphore")]


def _replaced(base: list[Column], extra: list[Column]) -> list[Column]:
    """Return the base columns with those of the same name replaced, new ones behind."""
    given = {column.name: column for column in extra}
    return [*(given.pop(column.name, column) for column in base), *given.values()]
