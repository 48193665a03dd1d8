"""An encoder of NTFF, written from the format's description and not from the decoder.

Rows go in as Python numbers; files of versions 4, 5 and 6 come out. Times are raw ticks, so what a
decoder should find is plain integer arithmetic: ``(raw - base) * num // den``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

ENGINES = ("tensor", "scalar", "gpsimd", "vector", "sync")

Ratio = tuple[int, int, int]  # base, den, num


def ps_of(raw: int, clock: Ratio) -> int:
    base, den, num = clock
    return (raw - base) * num // den


# Protobuf ------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    out = bytearray()
    while True:
        low, value = value & 0x7F, value >> 7
        if not value:
            return bytes([*out, low])
        out.append(low | 0x80)


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value) if value else b""


def delimited(tag: int, content: bytes) -> bytes:
    return varint(tag << 3 | 2) + varint(len(content)) + content


# Records -------------------------------------------------------------------------------------


def record(ident: int, flag: int, kind: int, a: int, b: int, raw: int) -> bytes:
    return struct.pack("<HBBHHQ", ident, flag, kind, a, b, raw)


def instruction_start(
    engine: int, word: int, raw: int, *, wait: int = 0, branch: bool = False, lost: bool = False
) -> bytes:
    kind = 0x80 | lost << 6 | (engine + 1) << 2
    return record(word & 0xFFFF, word >> 16 & 0x1F | branch << 5, kind, 0, wait, raw)


def instruction_end(
    engine: int, word: int, raw: int, *, crc: tuple[int, int] = (0xFFFF, 0xFFFF), lost: bool = False
) -> bytes:
    kind = 0x80 | lost << 6 | (engine + 1) << 2 | 1
    return record(word & 0xFFFF, word >> 16 & 0x1F, kind, *crc, raw)


def semaphore(
    ident: int, value: int, raw: int, *, source: int = 1, operation: int = 0x13, lost: bool = False
) -> bytes:
    kind = 0x80 | lost << 6 | source << 2 | 3
    return record(ident | 0x100, operation, kind, value & 0xFFFF, value >> 16, raw)


def packet(engine: int, ring: int, step: int, raw: int, *, size: int = 0, crc: int = 0) -> bytes:
    """``step``: 1 the packet starts, 5 its data is written, 6 it is completed."""
    return record(size & 0xFFFF, size >> 16, engine & 31, ring << 4 | step, crc, raw)


def limit(k: int, n: int, reason: int, raw: int) -> bytes:
    return record(0, n, 7 << 2 | 0x82, reason << 8 | k, 0, raw)


# Files ---------------------------------------------------------------------------------------


@dataclass
class Ring:
    engine: int
    number: int
    name: str
    kind: int = 2
    blocks: Sequence[tuple[int, int]] = ()  # block number, packets

    def encode(self) -> bytes:
        head = number(1, self.engine) + number(2, self.number) + number(3, self.kind)
        head += delimited(4, self.name.encode()) + number(5, (1 << 64) - 1)
        return head + b"".join(
            delimited(8, number(1, block) + number(2, count)) for block, count in self.blocks
        )


@dataclass
class Core:
    number: int = 0
    programs: dict[int, tuple[int, bytes]] = field(default_factory=dict)  # engine: address, words
    rings: Sequence[Ring] = ()
    inserted: dict[int, Sequence[tuple[int, int]]] = field(default_factory=dict)  # first, count
    clocks: dict[int, Ratio] = field(default_factory=dict)  # 0..4 engines, 6 events, 7 throttle
    dma_clocks: Sequence[Ratio] = ()
    memory: Sequence[tuple[str, int]] = ()
    total_ps: int = 0
    sections: dict[int, bytes] = field(default_factory=dict)  # kind: records
    collectives: bytes = b""

    def word(self, engine: int, pc: int) -> int:
        """The word index of records: device address over 64, its low 21 bits."""
        return ((self.programs[engine][0] >> 6) + pc) & 0x1FFFFF

    def clock(self, which: int) -> Ratio:
        return self.clocks.get(which, (0, 1, 1))


@dataclass
class File:
    version: int
    cores: Sequence[Core]
    instance: str = "trn2.3xlarge"
    path: str = "kernel.neff"
    uuid: bytes = bytes(range(1, 17))
    window: tuple[int, int] | None = None
    extra: bytes = b""

    def encode(self) -> bytes:
        body = bytearray()
        messages, table = [], []
        if self.version >= 6:  # all programs first, then the records
            places = [
                {engine: _append(body, words) for engine, (_, words) in core.programs.items()}
                for core in self.cores
            ]
        for index, core in enumerate(self.cores):
            sections = [
                *((kind, 1 if kind == 4 else 0, 0, part) for kind, part in core.sections.items()),
                (0, 2, 8, core.collectives),
            ]
            entries = []
            for kind, scope, cc_core, content in sections:
                entry = number(1, kind) + number(3, scope) + number(4, cc_core)
                entry += number(5, _append(body, content)) + number(6, len(content))
                entries.append(entry)
            if self.version >= 6:
                table += [delimited(16, entry + number(7, core.number)) for entry in entries]
                messages.append(self._core(core, index, [], places[index]))
            else:
                messages.append(self._core(core, index, entries, None))
        cores = b"".join(delimited(1, message) for message in messages)
        metadata = delimited(1, self.path.encode()) + delimited(2, self.uuid) + number(3, 10001)
        metadata += delimited(4, delimited(4, cores)) + number(5, 2)
        metadata += delimited(8, number(1, 2) + number(2, 30) + delimited(5, b"abcdef0123"))
        metadata += delimited(9, self.instance.encode()) + delimited(11, number(1, 2))
        if self.window is not None:
            start, end = self.window
            metadata += delimited(15, delimited(1, self.uuid) + number(2, start) + number(3, end))
        metadata += b"".join(table) + self.extra
        prologue = bytes([self.version]) + struct.pack("<Q", len(metadata))
        return prologue.ljust(128, b"\xa5") + metadata + bytes(body)

    def _core(
        self, core: Core, index: int, sections: list[bytes], places: dict[int, int] | None
    ) -> bytes:
        out = delimited(1, f"sg{index:02d}".encode()) + number(3, core.number)
        for engine, (address, words) in core.programs.items():
            memory = number(1, engine) + number(2, address)
            if places is None:
                memory += delimited(3, words)
            else:
                memory += number(7, places[engine]) + number(8, len(words))
            out += delimited(4, memory)
        for engine, edits in core.inserted.items():
            parts = [delimited(2, number(1, first * 64) + number(2, n)) for first, n in edits]
            out += delimited(5, number(1, engine) + b"".join(parts))
        out += b"".join(delimited(6, entry) for entry in sections)
        out += b"".join(delimited(7, ring.encode()) for ring in core.rings)
        # in the clock message Vector is 3 and GpSimd 4, the other way round than in records
        fields = {0: 1, 1: 2, 2: 4, 3: 3, 4: 5, 6: 6, 7: 7}
        clocks = b"".join(
            delimited(tag, ratio(core.clock(which))) for which, tag in sorted(fields.items())
        )
        clocks += b"".join(delimited(8, ratio(clock)) for clock in core.dma_clocks)
        out += delimited(10, clocks)
        for position, (name, size) in enumerate(core.memory):
            out += delimited(
                11, number(1, position) + number(2, size) + delimited(3, name.encode())
            )
        return out + number(14, core.total_ps)


def ratio(clock: Ratio) -> bytes:
    base, den, num = clock
    return number(1, base) + number(2, den) + number(3, num)


def _append(body: bytearray, content: bytes) -> int:
    offset = len(body)
    body += content
    return offset
