"""DMA of a trace with what its program says: tensors, directions and planned transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from roofline.captures.neff.blocks import Block, list_blocks, memory_of, trigger_of
from roofline.captures.neff.join import Join
from roofline.captures.neff.program import Subgraph
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.derived import MEMORIES
from roofline.captures.ntff.header import Ring
from roofline.captures.ntff.links import Links
from roofline.captures.ntff.packet_table import queue_name
from roofline.captures.ntff.records import floor_ns
from roofline.captures.ntff.wire import walk

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ProgramDma"]

Ints = npt.NDArray[np.int64]

TRIGGER: Final = 0xC1
DIRECT: Final = 0xD4
_SEMAPHORE_BYTES: Final = 4
_SIDES: Final = {"source": 16, "dest": 40}
_BY_ID, _BY_TABLE = 0x10, 0x20


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """One planned transfer that ran: its block, core, and the row of the word that started it."""

    block: Block
    core: int
    row: int


@dataclass(frozen=True)
class ProgramDma:
    """Packets of a trace joined to planned transfers and to the operands of dynamic ones."""

    decoded: Decoded
    join: Join
    links: Links

    @cached_property
    def blocks(self) -> tuple[Mapping[tuple[str, int], Block], ...]:
        """Planned transfers of each core by queue and number."""
        return tuple(
            list_blocks(subgraph) if subgraph is not None else {}
            for subgraph in self.join.subgraphs
        )

    @cached_property
    def executed(self) -> tuple[Executed, ...]:
        """Planned transfers that ran, by core and start of the word that triggered them."""
        rows = self.decoded.instructions
        opcode = self.decoded.by_slot(rows["slot"], self.join.opcode)
        found = []
        for row in np.flatnonzero(opcode == TRIGGER).tolist():
            slot, core = int(rows["slot"][row]), int(rows["core"][row])
            block = self.blocks[core].get(trigger_of(self.join.word(slot)))
            if block is not None:
                found.append(Executed(block=block, core=core, row=row))
        return tuple(found)

    # Packets of planned transfers -------------------------------------------------------------

    @cached_property
    def _transfers(self) -> tuple[Ints, Ints]:
        """Executed transfer of each packet (-1: none), and packets that found none."""
        packets = self.decoded.dma
        transfer = np.full(len(packets["key"]), -1, np.int64)
        left = np.zeros(len(transfer), np.int64)
        trace = self.decoded.trace
        for core, held in enumerate(trace.header.cores):
            mine = np.flatnonzero(packets["core"] == core)
            keys = packets["key"][mine]
            queues: dict[str, list[int]] = {}
            for number, one in enumerate(self.executed):
                if one.core == core:
                    queues.setdefault(one.block.queue, []).append(number)
            rings: dict[str, int] = {}
            for ring in held.rings:
                rings[ring.name] = rings.get(ring.name, 0) + 1
            for ring in held.rings:
                ran = queues.get(ring.name)
                if not ran:
                    continue
                group = mine[keys == (ring.engine - trace.dma_base(core)) * 16 + ring.number]
                of = self._split(group, ran, ring, rings[ring.name])
                if of is None:
                    left[group] = 1
                else:
                    transfer[group] = of
        return transfer, left

    def _split(
        self, group: npt.NDArray[np.intp], ran: list[int], ring: Ring, rings: int
    ) -> Ints | None:
        """Return the transfer of each packet of one ring, ``None`` if they do not come out even.

        A block is spread evenly over the rings of its queue, with 4 bytes more on each for its
        semaphore, so running sums of bytes give the borders. Transposes carry more than they
        write: then the packets that the trace plans for each block are counted.
        """
        size = self.decoded.dma["size"][group].astype(np.int64)
        blocks = [self.executed[number].block for number in ran]
        if not any(block.transposes or block.write_bytes is None for block in blocks):
            expected = np.array([block.write_bytes for block in blocks], np.int64)
            borders = np.cumsum(expected // rings + _SEMAPHORE_BYTES)
            ends = np.cumsum(size)
            even = not (expected % rings).any()
            if even and len(ends) and ends[-1] == borders[-1] and np.isin(borders, ends).all():
                return np.array(ran, np.int64)[np.searchsorted(borders, ends, "left")]
        planned = self._planned(ring)
        counts = [planned.get(block.number, 0) for block in blocks]
        if sum(counts) != len(size):
            return None
        return np.repeat(np.array(ran, np.int64), counts)

    def _planned(self, ring: Ring) -> dict[int, int]:
        """Return packets per run of each block, as the trace plans them for one ring."""
        planned = {}
        for span in ring.blocks:
            fields = dict(walk(self.decoded.trace.buffer, span, "metadata.rings"))
            number, count = fields.get(1, 0), fields.get(2, 0)
            if isinstance(number, int) and isinstance(count, int):
                planned[number] = count
        return planned

    @property
    def transfer(self) -> Ints:
        """Index into ``executed`` of each packet, -1 where it is not known."""
        return self._transfers[0]

    @property
    def unsplit(self) -> int:
        """Packets of planned queues whose transfers do not come out even."""
        return int(self._transfers[1].sum())

    # Dynamic DMA ------------------------------------------------------------------------------

    @cached_property
    def operands(self) -> dict[str, tuple[list[str], npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """By side: names, code of the name a slot (-1: none), and memory a slot (-1: unknown)."""
        slots = self.join.program.slots
        found = {}
        direct = np.flatnonzero(self.join.opcode == DIRECT)
        for side, at in _SIDES.items():
            names: list[str] = []
            codes: dict[str, int] = {}
            code, memory = np.full(slots, -1, np.int64), np.full(slots, -1, np.int64)
            for slot in direct.tolist():
                subgraph = self.join.subgraphs[int(self.join.program.core[slot])]
                name, place = _operand(subgraph, self.join.word(slot), at)
                if name not in codes:
                    codes[name] = len(names)
                    names.append(name)
                if name:
                    code[slot] = codes[name]
                if place in MEMORIES:
                    memory[slot] = MEMORIES.index(place)
            found[side] = (names, code, memory)
        return found

    # Columns a packet -------------------------------------------------------------------------

    def _issuing_slot(self) -> npt.NDArray[np.int64]:
        issuer = self.links.issuer_row
        slot = self.decoded.instructions["slot"]
        found = np.full(len(issuer), -1, np.int64)
        known = issuer >= 0
        found[known] = slot[issuer[known]]
        return found

    def variables(self, side: str) -> list[str]:
        """Return the variable on one side of each packet (``""``: not known)."""
        names, code, _ = self.operands[side]
        slot = self._issuing_slot()
        by_code = np.array([*names, ""], object)
        dynamic = np.where(slot >= 0, code[slot] if len(code) else -1, -1)
        result = by_code[dynamic]
        planned = np.array(
            [getattr(one.block, "source" if side == "source" else "dest") for one in self.executed]
            + [""],
            object,
        )
        return [
            str(a or b)
            for a, b in zip(planned[self.transfer].tolist(), result.tolist(), strict=True)
        ]

    def memory(self, side: str) -> npt.NDArray[np.int64]:
        """Return the memory on one side of each packet: index of ``MEMORIES``, -1: not known."""
        given = np.asarray(self.links.source if side == "source" else self.links.dest, np.int64)
        _, _, of_slot = self.operands[side]
        slot = self._issuing_slot()
        dynamic = np.where(slot >= 0, of_slot[slot] if len(of_slot) else -1, -1)
        planned = np.array(
            [
                MEMORIES.index(place) if (place := getattr(one.block, f"{side}_memory")) in MEMORIES
                else -1
                for one in self.executed
            ]
            + [-1],
            np.int64,
        )  # fmt: skip
        of_plan = planned[self.transfer]
        return np.where(of_plan >= 0, of_plan, np.where(given >= 0, given, dynamic))

    def read_bytes(self, given: Ints) -> Ints:
        """Return bytes read a packet: a planned cast reads another number than it writes."""
        ratio = [
            (one.block.read_bytes or 0, one.block.write_bytes or 0) for one in self.executed
        ] + [(0, 0)]
        read, write = (np.array(part, np.int64)[self.transfer] for part in zip(*ratio, strict=True))
        casts = (read != write) & (read > 0) & (write > 0) & (given > _SEMAPHORE_BYTES)
        result = given.copy()
        result[casts] = given[casts] * read[casts] // write[casts]
        return result

    # Transfers --------------------------------------------------------------------------------

    def transfer_table(self) -> pa.Table:
        """Return one row for each planned transfer that ran; unknown times are null."""
        import pyarrow as pa

        packets, count = self.decoded.dma, len(self.executed)
        known = self.transfer >= 0
        start = np.full(count, np.iinfo(np.int64).max)
        end = np.full(count, np.iinfo(np.int64).min)
        np.minimum.at(start, self.transfer[known], packets["start_ps"][known])
        np.maximum.at(end, self.transfer[known], packets["end_ps"][known])
        absent = end < start
        start, end = np.where(absent, 0, start), np.where(absent, 0, end)
        trigger = self.decoded.instructions["start_ps"][[one.row for one in self.executed]]
        blocks = [one.block for one in self.executed]

        def texts(values: list[str]) -> pa.Array:
            return pa.array([value or None for value in values], pa.string()).dictionary_encode()

        def times(values: Ints) -> pa.Array:
            return pa.array(values, pa.int64(), mask=absent)

        return pa.table(
            {
                "start_ts": times(floor_ns(start)),
                "end_ts": times(floor_ns(end)),
                "duration_ns": times(floor_ns(end - start)),
                "start_ps": times(start),
                "end_ps": times(end),
                "trigger_ps": pa.array(trigger, pa.int64()),
                "pcore_idx": pa.array([one.core for one in self.executed], pa.int8()),
                "queue_name": texts([queue_name(block.queue) for block in blocks]),
                "block_id": pa.array([block.number for block in blocks], pa.int32()),
                "op": texts([block.operation for block in blocks]),
                "variable": texts([block.variable for block in blocks]),
                "source_memory": texts([block.source_memory for block in blocks]),
                "dest_memory": texts([block.dest_memory for block in blocks]),
                "read_bytes": pa.array([block.read_bytes for block in blocks], pa.int64()),
                "write_bytes": pa.array([block.write_bytes for block in blocks], pa.int64()),
            }
        )

    def traffic(self) -> dict[str, int] | None:
        """Return bytes of planned transfers by memory and way, ``None`` if one does not tell."""
        total = dict.fromkeys(("hbm_read", "hbm_write", "sbuf_read", "sbuf_write"), 0)
        for one in self.executed:
            block = one.block
            for side, way, size in (
                (block.source_memory, "read", block.read_bytes),
                (block.dest_memory, "write", block.write_bytes),
            ):
                if side not in ("hbm", "sbuf") or size is None:
                    return None
                total[f"{side}_{way}"] += size
        return total

    def spills(self) -> dict[str, int]:
        """Return bytes that planned transfers save to and reload from scratch memory."""
        return {
            "spill_save_bytes": sum(
                one.block.write_bytes or 0 for one in self.executed if one.block.writes_scratch
            ),
            "spill_reload_bytes": sum(
                one.block.read_bytes or 0 for one in self.executed if one.block.reads_scratch
            ),
        }

    @property
    def complete(self) -> bool:
        """Whether every executed trigger has its planned block."""
        rows = self.decoded.instructions
        opcode = self.decoded.by_slot(rows["slot"], self.join.opcode)
        return int(np.count_nonzero(opcode == TRIGGER)) == len(self.executed)


def _operand(subgraph: Subgraph | None, word: bytes, at: int) -> tuple[str, str]:
    """Return variable and memory of one side of a dynamic DMA word (opcode 0xD4)."""
    if subgraph is None:
        return "", "unknown"
    flags = word[at + 7]
    number = int.from_bytes(word[at + 4 : at + 6], "little")
    if flags & _BY_ID:
        variable = subgraph.variable_of_id.get(number)
    elif flags & _BY_TABLE:
        tables = [one for one in subgraph.variables.values() if one.type == "dge-table"]
        members = tables[0].members if len(tables) == 1 else ()
        variable = subgraph.variable_of_id.get(members[number]) if number < len(members) else None
    else:
        return "", "unknown"
    return (variable.name if variable is not None else ""), memory_of(variable)
