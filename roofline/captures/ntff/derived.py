"""What an instruction did, as far as its word tells: kind, work, bytes. One element a slot.

Byte columns that carry the vendor's names keep the vendor's scope: bytes of *one* partition for
engine instructions, of all partitions for DMA. Work (passes, operations, FLOP) counts all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline.captures.ntff.device import hardware_of, known_value, marks_transposes
from roofline.captures.ntff.program import Program
from roofline.captures.ntff.words import DTYPE_BYTES, DTYPES, LAYOUTS, PSUM_AT, Words

__all__ = ["KINDS", "MEMORIES", "SlotFacts"]

KINDS: Final = ("compute", "weight_load", "dma_issue", "table_load", "control")
"""What the time of an instruction is spent on."""

MEMORIES: Final = ("hbm", "sbuf", "psum")

Ints = npt.NDArray[np.int64]

_KIND_OF: Final = {0x01: 1, 0x23: 3, 0xB8: 2, **dict.fromkeys((0x02, 0x21, 0x41, 0x42, 0x43), 0)}
_KIND_OF.update(dict.fromkeys((0x46, 0x47, 0x48), 0))
_KIND_OF.update(dict.fromkeys((0xA0, 0xA2, 0xA4, 0xA5, 0xA6, 0xA9, 0xAA, 0xAB, 0xB0, 0xB1), 4))

_WRITE: Final = 0xA5
_MATMUL: Final = 0x02
_WEIGHTS: Final = 0x01
_DIRECT2D: Final = 0xB8
_ACTIVATE: Final = 0x21
_TENSOR_TENSOR: Final = 0x41
_REDUCE: Final = 0x42
_TENSOR_SCALAR: Final = 0x43
_RECIPROCAL: Final = 0x48
_COPY_FUNCTION: Final = 0x80
_FP32: Final = 10
_TABLE: Final = 0x20

_SBUF_WINDOWS: Final = ((0xFFFC_0000000, 0xFFFD_0000000), (0x8020_00000000, 0x8040_00000000))
"""Device addresses of SBUF and PSUM on NeuronCore-v2 and v3."""

_HBM_WINDOWS: Final = ((0, 0x100_00000000), (0x8000_00000000, 0x8010_00000000))
"""Device addresses of HBM on NeuronCore-v2 and v3, as wide as traces allow."""


@dataclass(frozen=True)
class SlotFacts:
    """Facts derived from words; int64 arrays with -1 where a thing does not apply or is unknown."""

    program: Program
    words: Words

    def _empty(self) -> Ints:
        return np.full(len(self.words), -1, dtype=np.int64)

    @cached_property
    def kind(self) -> npt.NDArray[np.int8]:
        """Index of ``KINDS``; -1 for unknown opcodes."""
        table = np.full(256, -1, dtype=np.int8)
        for code, kind in _KIND_OF.items():
            table[code] = kind
        kind_of_slot = table[self.words.opcode]
        # a WRITE of the compiled program rings the doorbell of a planned DMA; one that the
        # runtime inserted sets up queues and counters
        triggers = (self.words.opcode == _WRITE) & ~self.program.inserted
        kind_of_slot[triggers] = KINDS.index("dma_issue")
        return kind_of_slot

    @cached_property
    def item_bytes_in(self) -> Ints:
        """Bytes of an element of the first source."""
        return _item_bytes(self.words.dtype_in)

    @cached_property
    def item_bytes_out(self) -> Ints:
        """Bytes of an element of the destination; of the source for MATMUL, as the vendor does."""
        size = _item_bytes(self.words.dtype_out)
        matmuls = self.words.opcode == _MATMUL
        return np.where(matmuls, self.item_bytes_in, size)

    @cached_property
    def elements(self) -> Ints:
        """Elements an instruction streams per partition: the larger of source and destination."""
        return np.maximum(self.words.elements_in, self.words.elements_out)

    @cached_property
    def element_passes(self) -> Ints:
        """Elements times partitions of Vector, Scalar and GpSimd instructions."""
        passes = self.elements * self.words.partitions
        tensor = np.isin(self.words.opcode, (_MATMUL, _WEIGHTS))
        return np.where((self.elements < 0) | tensor, -1, passes)

    # FLOP and operations ----------------------------------------------------------------------

    @cached_property
    def macs(self) -> Ints:
        """Multiply-accumulates of a MATMUL over the rows and columns in use."""
        words = self.words
        macs = words.partitions * words.columns * words.elements_in
        return np.where(words.opcode == _MATMUL, macs, -1)

    @cached_property
    def split_fp32(self) -> npt.NDArray[np.bool_]:
        """MATMULs that do half of an fp32 product: the weights' low or high part."""
        words = self.words
        split = (words.opcode == _MATMUL) & (words.dtype_in == _FP32)
        return np.asarray(split & (words.raw[:, 33] != 0))

    def raw_flops(self, *, vendor: bool) -> Ints:
        """FLOP of a MATMUL, 2 a multiply-accumulate.

        Each of the two instructions of an fp32 product counts half; the vendor's tools before
        schema 7 counted both in full.
        """
        factor = np.where(self.split_fp32 & (not vendor), 1, 2)
        return np.where(self.macs < 0, -1, self.macs * factor)

    def adjusted_flops(self) -> Ints:
        """Raw FLOP times what the element type costs against bf16; -1 where that is unknown."""
        hardware = hardware_of(self.program.header)
        base = known_value(hardware, "engines.tensor.rates.bf16.macs_per_pe_per_cycle")
        adjusted = self._empty()
        raw = self.raw_flops(vendor=False)
        for code, key in DTYPES.items():
            rate = known_value(hardware, f"engines.tensor.rates.{key}.macs_per_pe_per_cycle")
            if base and rate:
                chosen = (self.macs >= 0) & (self.words.dtype_in == code)
                adjusted[chosen] = np.rint(raw[chosen] * (base / rate)).astype(np.int64)
        return adjusted

    @cached_property
    def is_transpose(self) -> npt.NDArray[np.int8]:
        """1 for transposes on the Tensor engine, 0 for products, -1 where words do not tell."""
        tensor = np.isin(self.words.opcode, (_MATMUL, _WEIGHTS))
        mark = (self.words.raw[:, 34] & 1).astype(np.int8)
        told = tensor & marks_transposes(self.program.header)
        return np.where(told, mark, np.int8(-1))

    @cached_property
    def operations(self) -> dict[str, Ints]:
        """Element operations by class over all partitions; -1 where an instruction has no rule."""
        words = self.words
        counts = {name: self._empty() for name in ("elementwise", "reduction", "special")}
        known = (self.element_passes >= 0) & ~words.unknown
        for column in counts.values():
            column[known] = 0
        outputs = words.elements_out * words.partitions
        slots = words.slots_of(_TENSOR_TENSOR)
        counts["elementwise"][slots] = outputs[slots]
        slots = words.slots_of(_TENSOR_SCALAR)  # two ALU stages; 0 is BYPASS
        stages = (words.raw[slots, 36] != 0).astype(np.int64) + (words.raw[slots, 37] != 0)
        counts["elementwise"][slots] = outputs[slots] * stages
        slots = words.slots_of(_REDUCE)
        counts["reduction"][slots] = (words.elements_in * words.partitions)[slots]
        slots = words.slots_of(_RECIPROCAL)
        counts["special"][slots] = outputs[slots]
        slots = words.slots_of(_ACTIVATE)  # function(scale * x + bias), then it may accumulate
        counts["special"][slots] = outputs[slots] * (words.raw[slots, 35] != _COPY_FUNCTION)
        scaled = words.field(slots, 36, "<u4") != 0x3F800000
        biased = (words.raw[slots, 12] & 1 == 0) | (words.field(slots, 40, "<u4") != 0)
        counts["elementwise"][slots] = outputs[slots] * (scaled.astype(np.int64) + biased)
        counts["reduction"][slots] = outputs[slots] * (words.raw[slots, 14] != 0)
        return counts

    # Bytes ------------------------------------------------------------------------------------

    @cached_property
    def traffic(self) -> dict[str, Ints]:
        """Bytes read and written by memory (``sbuf_read`` ...); -1 where there is none to name."""
        found = {
            f"{memory}_{way}": self._empty() for memory in MEMORIES for way in ("read", "write")
        }
        words = self.words
        self._engine_traffic(found, "read", words.source_address, words.elements_in, "in")
        self._engine_traffic(found, "write", words.dest_address, words.elements_out, "out")
        self._second_sources(found)
        slots = words.slots_of(_DIRECT2D)
        for way, side in (("read", "source"), ("write", "dest")):
            memory = self.dma_memory[side][slots]
            size = self.dma_bytes[side][slots]
            for index, name in enumerate(MEMORIES):
                chosen = slots[memory == index]
                found[f"{name}_{way}"][chosen] = size[memory == index]
        return found

    def _engine_traffic(
        self, found: dict[str, Ints], way: str, address: Ints, elements: Ints, side: str
    ) -> None:
        item = self.item_bytes_in if side == "in" else self.item_bytes_out
        valid = (address >= 0) & (elements >= 0) & (item > 0)
        size = elements * item
        for name, chosen in (
            (f"sbuf_{way}", valid & (address < PSUM_AT)),
            (f"psum_{way}", valid & (address >= PSUM_AT)),
        ):
            found[name][chosen] = size[chosen]

    def _second_sources(self, found: dict[str, Ints]) -> None:
        slots = self.words.slots_of(_TENSOR_TENSOR)
        operand = LAYOUTS[_TENSOR_TENSOR].sources[1]
        address = self.words.field(slots, operand.address, "<u4")
        elements = self.words.field(slots, operand.sizes, "<u2", operand.dims).prod(axis=1)
        item = _item_bytes(self.words.field(slots, 12) >> 4)
        for name, inside in (("sbuf_read", address < PSUM_AT), ("psum_read", address >= PSUM_AT)):
            chosen = inside & (item > 0)
            held = np.maximum(found[name][slots[chosen]], 0)
            found[name][slots[chosen]] = held + (elements * item)[chosen]

    @cached_property
    def psum_to_sbuf(self) -> Ints:
        """Bytes written to SBUF by instructions that read PSUM."""
        both = (self.traffic["psum_read"] >= 0) & (self.traffic["sbuf_write"] >= 0)
        both &= self.words.source_address >= PSUM_AT
        return np.where(both, self.traffic["sbuf_write"], -1)

    # DMA --------------------------------------------------------------------------------------

    @cached_property
    def dma_bytes(self) -> dict[str, Ints]:
        """Bytes that a DMA_DIRECT2D reads (``source``) and writes (``dest``), all partitions."""
        found = {"source": self._empty(), "dest": self._empty()}
        slots = self.words.slots_of(_DIRECT2D)
        for side, sizes_at, item_at, kind in (("source", 32, 36, "<u4"), ("dest", 56, 60, "<u2")):
            sizes = self.words.field(slots, sizes_at, "<u2", 2).prod(axis=1)
            found[side][slots] = sizes * self.words.field(slots, item_at, kind)
        return found

    @cached_property
    def dma_memory(self) -> dict[str, Ints]:
        """Memory that a DMA_DIRECT2D reads from and writes to: index of ``MEMORIES``."""
        found = {"source": self._empty(), "dest": self._empty()}
        slots = self.words.slots_of(_DIRECT2D)
        for side, at in (("source", 16), ("dest", 40)):
            table = (self.words.raw[slots, at + 7] & _TABLE) != 0
            address = self.words.field(slots, at, "<u8")
            memory = np.full(len(slots), -1, dtype=np.int64)
            memory[_within(address, _HBM_WINDOWS) | table] = MEMORIES.index("hbm")
            memory[_within(address, _SBUF_WINDOWS) & ~table] = MEMORIES.index("sbuf")
            found[side][slots] = memory
        return found


def _item_bytes(code: Ints) -> Ints:
    table = np.full(257, -1, dtype=np.int64)  # index -1 falls on the last element
    for key, size in DTYPE_BYTES.items():
        table[key] = size
    return table[code]


def _within(address: Ints, windows: tuple[tuple[int, int], ...]) -> npt.NDArray[np.bool_]:
    inside = np.zeros(len(address), dtype=bool)
    for low, high in windows:
        inside |= (address >= low) & (address < high)
    return inside
