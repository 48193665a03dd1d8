"""What the operand text of an instruction says: shapes, dtypes, memories, waits, signals.

Every format carries the same text, so it is read here once: each distinct text is parsed one time
and the result is indexed by row. What a text does not say is unknown: -1, an empty name, or NaN.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import codes, has
from roofline.dtypes import dtype_key
from roofline.engines import engine_key
from roofline.errors import RooflineError

if TYPE_CHECKING:
    import pyarrow as pa

    from roofline.intervals import Int64Array

__all__ = ["EVENT", "Operands", "Parsed", "parse_operands", "read_operands", "signaller"]

_TENSOR: Final = re.compile(
    r"(\w+)=(?:(\w+)@)?0x([0-9a-f]+)\[(-?\d+(?:,-?\d+)*)\]\[(-?\d+(?:,-?\d+)*)\]"
)
_WAIT: Final = re.compile(r"\$?([SE])\[(\d+)\](?: \(([^)]*)\))?(==|>=|<=|>|<)(-?\d+)")
_SIGNAL: Final = re.compile(
    r"\$?([SE])\[(\d+)\](?: \(([^)]*)\))?(\+\+|--|\+=|-=|=|\+|-)(-?\d+)?@complete"
)
_NUMBER: Final = re.compile(r"\b(\w+)=(0x[0-9a-f]+|-?\d+)\b")
_PATTERN: Final = re.compile(r"(src|dst)_pattern=((?:\[[-\d,]+\])+)")
_ARRAY: Final = re.compile(r"\b(\d+)\*(\d+)\b")
_POINTER: Final = re.compile(r"\w+_ptr=|imm_src=\S*PTR")

_PSUM_FROM: Final = 0x2000000
"""Engine-local addresses from here on are PSUM, below it SBUF (facts of the trace format)."""

_ON_CHIP: Final = ((0xFFFC_00000000, 0xFFFC_FFFFFFFF), (0x8020_00000000, 0x803F_FFFFFFFF))
"""Device addresses of SBUF and PSUM: first and second generation, third generation."""

EVENT: Final = 1 << 20
"""Added to the number of an event, so that events and semaphores share one number space."""


@dataclass(slots=True)
class Parsed:
    """What one text says."""

    wait: int = -1
    wait_value: int = 0
    wait_name: str = ""
    inner_wait: int = -1
    inner_value: int = 0
    inner_name: str = ""
    barrier: bool = False
    signal: int = -1
    dtype_in: str = ""
    dtype_out: str = ""
    elements: int = -1
    partitions: int = -1
    rows: int = -1
    columns: int = -1
    psum_operands: int = 0
    contiguous: bool = True
    broadcast: bool = False
    pointer: bool = False
    transpose: bool = False
    dma_semaphore: int = -1
    dma_increment: int = 0
    dma_bytes: int = -1
    dma_element: int = -1
    dma_source: str = ""
    dma_dest: str = ""
    dtypes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operands:
    """Columns of what the texts say, one entry a row of the instruction table.

    ``wait`` is the semaphore an instruction waits for before it starts (events count from
    ``EVENT``), ``inner_wait`` the one an EVENT_SEMAPHORE waits for inside (``barrier``: one of the
    runtime's), ``signal`` the one it updates at its end. ``elements`` are per partition, the larger
    of input and output; a matmul multiplies ``rows`` x ``columns`` with ``elements`` moving
    columns. ``dma_*`` describe the transfer a DMA instruction issues: payload, smallest contiguous
    element, memories.
    """

    parsed: tuple[Parsed, ...]
    code: npt.NDArray[np.int32]

    def integers(self, name: str) -> Int64Array:
        """Return an integer field by row."""
        return np.array([getattr(one, name) for one in self.parsed], np.int64)[self.code]

    def flags(self, name: str) -> npt.NDArray[np.bool_]:
        """Return a boolean field by row."""
        return np.array([getattr(one, name) for one in self.parsed], np.bool_)[self.code]

    def names(self, name: str) -> npt.NDArray[np.object_]:
        """Return a text field by row, as a shared object a distinct text."""
        return np.array([getattr(one, name) for one in self.parsed], np.object_)[self.code]


def read_operands(table: pa.Table) -> Operands | None:
    """Return what the operand texts of an instruction table say; ``None`` where it has none."""
    if not has(table, "operands", "opcode"):
        return None
    text, texts = codes(table, "operands")
    opcode, opcodes = codes(table, "opcode")
    pair = (opcode.astype(np.int64) + 1) * (len(texts) + 1) + text + 1
    used, code = np.unique(pair, return_inverse=True)
    parsed = []
    for key in used.tolist():
        op, number = key // (len(texts) + 1) - 1, key % (len(texts) + 1) - 1
        parsed.append(
            parse_operands(opcodes[op] if op >= 0 else "", texts[number] if number >= 0 else "")
        )
    return Operands(parsed=tuple(parsed), code=code.astype(np.int32))


def parse_operands(opcode: str, text: str) -> Parsed:
    """Return what one operand text says.

    >>> one = parse_operands("MATMUL", "S[5] (Tensor)++@complete acc_flags=3 "
    ...     "src=bfloat16@0x37e00[1,0,0][128,1,1] dst=0x2000000[1,0,0][128,1,1] 128*128 ")
    >>> one.dtype_in, one.rows, one.columns, one.elements, one.signal
    ('bf16', 128, 128, 128, 5)
    """
    found = Parsed()
    _read_waits(found, opcode, text)
    signal = _SIGNAL.search(text)
    if signal is not None:
        found.signal = _number(signal)
    if "semaphore=" in text and "elem_size=" in text:
        _read_transfer(found, text)
        return found
    _read_tensors(found, text)
    found.pointer = _POINTER.search(text) is not None
    found.transpose = "transpose_mode=ENABLED" in text
    numbers = dict(_NUMBER.findall(text))
    if "channels" in numbers:
        found.partitions = int(numbers["channels"], 0)
    array = _ARRAY.search(text)
    if array is not None and found.elements >= 0:
        found.rows, found.columns = int(array[1]), int(array[2])
        found.partitions = found.rows
    return found


def _read_waits(found: Parsed, opcode: str, text: str) -> None:
    # what stands behind `setter=` is a second condition, waited for inside the instruction
    inside = text.find("setter=") if opcode == "EVENT_SEMAPHORE" else -1
    for wait in _WAIT.finditer(text):
        if 0 <= inside < wait.start():
            found.inner_wait, found.inner_value = _number(wait), int(wait[5])
            found.inner_name = wait[3] or ""
            # a dollar marks what the runtime put in, and it puts only barriers of this form
            found.barrier = wait[0].startswith("$S")
        elif found.wait < 0:
            found.wait, found.wait_value, found.wait_name = (
                _number(wait),
                int(wait[5]),
                wait[3] or "",
            )


def _number(match: re.Match[str]) -> int:
    return int(match[2]) + (EVENT if match[1] == "E" else 0)


def _read_tensors(found: Parsed, text: str) -> None:
    inputs, dtypes = [], []
    for name, dtype, address, steps, sizes in _TENSOR.findall(text):
        step = [int(each) for each in steps.split(",")]
        size = [int(each) for each in sizes.split(",")]
        found.elements = max(found.elements, prod(size))
        found.psum_operands += int(address, 16) >= _PSUM_FROM
        walked = [(a, b) for a, b in zip(step, size, strict=False) if b > 1]
        found.broadcast |= any(a == 0 for a, _ in walked)
        found.contiguous &= not walked or abs(walked[0][0]) == 1
        if dtype:
            dtypes.append(_dtype(dtype))
        if name.startswith("dst"):
            found.dtype_out = _dtype(dtype) if dtype else found.dtype_out
        elif dtype:
            inputs.append(_dtype(dtype))
    found.dtype_in = inputs[0] if inputs else ""
    found.dtypes = tuple(dict.fromkeys(dtypes))


def _read_transfer(found: Parsed, text: str) -> None:
    numbers = {name: int(value, 0) for name, value in _NUMBER.findall(text)}
    found.dma_semaphore = numbers.get("semaphore", -1)
    found.dma_increment = numbers.get("sem_increment", 0)
    source, dest = numbers.get("src_elem_size", -1), numbers.get("dst_elem_size", -1)
    if source > 0 and dest > 0:
        found.dma_element = min(source, dest)
    for side, element in (("src", source), ("dst", dest)):
        pattern = next((m[2] for m in _PATTERN.finditer(text) if m[1] == side), "")
        groups = re.findall(r"\[([-\d,]+)\]", pattern)
        if element > 0 and len(groups) >= 2:
            size = element * prod(int(each) for each in groups[1].split(","))
            found.dma_bytes = max(found.dma_bytes, size)
        address = numbers.get(f"{side}_addr_imm")
        memory = ""
        if f"{side}_table_index" in numbers:
            memory = "hbm"
        elif address is not None:
            memory = "sbuf" if any(a <= address <= b for a, b in _ON_CHIP) else "hbm"
        if side == "src":
            found.dma_source = memory
        else:
            found.dma_dest = memory


def _dtype(name: str) -> str:
    try:
        return dtype_key(name)
    except RooflineError:
        return name


def signaller(name: str) -> str:
    """Return the engine or ``dma:queue`` of the name a semaphore has in the texts.

    >>> signaller("Tensor"), signaller("qSyncDynamicHW"), signaller("")
    ('tensor', 'dma:qSyncDynamicHW', '')
    """
    if not name:
        return ""
    try:
        return engine_key(name)
    except RooflineError:
        return f"dma:{name}"
