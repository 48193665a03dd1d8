"""What the 64-byte instruction words say: opcode, element types, shapes, addresses.

Everything is computed once for all words of a file (one array element a slot) and looked up by
rows. The layouts were derived from public traces; see ``docs/captures-ntff.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.operands import QUEUE_OF_ISSUER

__all__ = ["DTYPES", "DTYPE_BYTES", "LAYOUTS", "OPCODES", "PSUM_AT", "Layout", "Operand", "Words"]

OPCODES: Final = {
    0x01: "LDWEIGHTS",
    0x02: "MATMUL",
    0x21: "ACTIVATE",
    0x23: "ACT_TABLE_LOAD",
    0x41: "TENSOR_TENSOR",
    0x42: "TENSOR_REDUCE",
    0x43: "TENSOR_SCALAR",
    0x46: "COPY",
    0x47: "CAST",
    0x48: "RECIPROCAL",
    0xA0: "EVENT_SEMAPHORE",
    0xA2: "DRAIN",
    0xA4: "NOP",
    0xA5: "WRITE",
    0xA6: "NOTIFY",
    0xA9: "COMPARE_BRANCH",
    0xAA: "TENSOR_LOAD",
    0xAB: "TENSOR_STORE",
    0xB0: "EVENT_SEMAPHORE_RANGE_CLEAR",
    0xB1: "SET_ORDERING_MODE",
    0xB8: "DMA_DIRECT2D",
}
"""Names the vendor prints; 0x41 appears in no vendor output and carries the ISA's usual name."""

DTYPES: Final = {6: "bf16", 7: "fp16", 8: "int32", 9: "uint32", 10: "fp32"}
"""Element type codes that vendor output confirms."""

DTYPE_BYTES: Final = {6: 2, 7: 2, 8: 4, 9: 4, 10: 4}

PSUM_AT: Final = 0x2000000
"""Engine addresses from here on are PSUM, those below SBUF (byte offset in a partition)."""

UNKNOWN: Final = -1

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """Where a word keeps one access pattern: address, steps (i16) and sizes (u16), in elements."""

    address: int
    steps: int
    sizes: int
    dims: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Byte offsets in a word; element types are ``(byte, mask, shift)``, ``None`` where absent."""

    sources: tuple[Operand, ...]
    dest: Operand | None = None
    dtype_in: tuple[int, int, int] | None = None
    dtype_out: tuple[int, int, int] | None = None
    channels: int | None = None


_THREE: Final = Operand(address=16, steps=20, sizes=26)
_DEST: Final = Operand(address=48, steps=52, sizes=58)
_UNARY: Final = Layout(
    sources=(Operand(address=12, steps=16, sizes=24, dims=4),),
    dest=Operand(address=44, steps=48, sizes=56, dims=4),
    dtype_in=(32, 0xFF, 0),
    dtype_out=(33, 0xFF, 0),
    channels=34,
)

LAYOUTS: Final = {
    0x01: Layout(sources=(_THREE,), dtype_in=(32, 0xFF, 0)),
    0x02: Layout(sources=(_THREE,), dest=_DEST, dtype_in=(32, 0xFF, 0)),
    0x21: Layout(
        sources=(_THREE,),
        dest=_DEST,
        dtype_in=(32, 0x0F, 0),
        dtype_out=(33, 0xFF, 0),
        channels=34,
    ),
    0x41: Layout(
        sources=(_THREE, Operand(address=32, steps=36, sizes=42)),
        dest=_DEST,
        dtype_in=(12, 0x0F, 0),
        dtype_out=(13, 0xFF, 0),
        channels=15,
    ),
    0x42: _UNARY,
    0x43: Layout(
        sources=(_THREE,),
        dest=_DEST,
        dtype_in=(32, 0xFF, 0),
        dtype_out=(33, 0xFF, 0),
        channels=34,
    ),
    0x46: _UNARY,
    0x47: _UNARY,
    0x48: _UNARY,
}
"""Instructions that stream elements through an engine, by opcode."""


@dataclass(frozen=True)
class Words:
    """Words of shape (slots, 64), uint8, and what they say; one element a slot everywhere.

    Where a word does not have a thing, or it is not known, the value is -1.
    """

    raw: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.raw)

    @cached_property
    def opcode(self) -> npt.NDArray[np.uint8]:
        """Opcode byte."""
        return np.ascontiguousarray(self.raw[:, 0])

    def slots_of(self, *opcodes: int) -> npt.NDArray[np.intp]:
        """Return the slots of some opcodes, ascending."""
        return np.flatnonzero(np.isin(self.opcode, np.array(opcodes, dtype=np.uint8)))

    def field(
        self, slots: npt.NDArray[np.intp], at: int, kind: str = "<u1", count: int = 1
    ) -> Ints:
        """Return one little-endian field of some words, or ``count`` side by side, as int64.

        An unsigned 64-bit field wraps: take it apart by the callers that need its top bit.
        """
        dtype = np.dtype(kind)
        part = np.ascontiguousarray(self.raw[slots, at : at + dtype.itemsize * count])
        values = part.view(dtype).astype(np.int64)
        return values[:, 0] if count == 1 else values

    def _column(self) -> Ints:
        return np.full(len(self.raw), UNKNOWN, dtype=np.int64)

    @cached_property
    def names(self) -> list[str]:
        """Opcode name by opcode byte; ``Operation(n)`` where the name is not known."""
        return [OPCODES.get(code, f"Operation({code})") for code in range(256)]

    @cached_property
    def unknown(self) -> npt.NDArray[np.bool_]:
        """Where the opcode has no known name."""
        known = np.zeros(256, dtype=bool)
        known[list(OPCODES)] = True
        return ~known[self.opcode]

    def _dtype(self, which: str) -> Ints:
        column = self._column()
        for code, layout in LAYOUTS.items():
            place = layout.dtype_in if which == "in" else layout.dtype_out
            if place is not None:
                slots = self.slots_of(code)
                at, mask, shift = place
                column[slots] = (self.field(slots, at) & mask) >> shift
        return column

    @cached_property
    def dtype_in(self) -> Ints:
        """Element type code of the (first) source."""
        return self._dtype("in")

    @cached_property
    def dtype_out(self) -> Ints:
        """Element type code of the destination; the word of a MATMUL does not name it."""
        return self._dtype("out")

    def _elements(self, which: str) -> Ints:
        column = self._column()
        for code, layout in LAYOUTS.items():
            operand = layout.sources[0] if which == "in" else layout.dest
            if operand is not None:
                slots = self.slots_of(code)
                sizes = self.field(slots, operand.sizes, "<u2", operand.dims)
                column[slots] = sizes.prod(axis=1)
        return column

    @cached_property
    def elements_in(self) -> Ints:
        """Elements of the first source, per partition."""
        return self._elements("in")

    @cached_property
    def elements_out(self) -> Ints:
        """Elements of the destination, per partition."""
        return self._elements("out")

    def _address(self, which: str) -> Ints:
        column = self._column()
        for code, layout in LAYOUTS.items():
            operand = layout.sources[0] if which == "in" else layout.dest
            if operand is not None:
                slots = self.slots_of(code)
                column[slots] = self.field(slots, operand.address, "<u4")
        return column

    @cached_property
    def source_address(self) -> Ints:
        """Engine address of the first source."""
        return self._address("in")

    @cached_property
    def dest_address(self) -> Ints:
        """Engine address of the destination."""
        return self._address("out")

    @cached_property
    def partitions(self) -> Ints:
        """Partitions (lanes) an instruction covers; rows of the array for Tensor instructions."""
        column = self._column()
        for code, layout in LAYOUTS.items():
            if layout.channels is not None:
                slots = self.slots_of(code)
                column[slots] = self.field(slots, layout.channels)
        slots = self.slots_of(0x01, 0x02)
        column[slots] = self.field(slots, 38)
        return column

    @cached_property
    def columns(self) -> Ints:
        """Columns of the array that a Tensor instruction uses."""
        column = self._column()
        slots = self.slots_of(0x01, 0x02)
        column[slots] = self.field(slots, 39)
        return column

    @cached_property
    def waits(self) -> npt.NDArray[np.bool_]:
        """Whether the word waits for a semaphore or event before it starts."""
        return np.asarray(self.raw[:, 4] != 0)

    def queues(self, slots: npt.NDArray[np.intp], engine: str) -> dict[int, str]:
        """Return semaphore number -> queue name of the DMA_DIRECT2D words of one engine."""
        queue = QUEUE_OF_ISSUER.get(engine)
        if queue is None:
            return {}
        return dict.fromkeys(np.unique(self.field(slots, 13)).tolist(), queue)
