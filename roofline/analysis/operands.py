"""What the operand text of an instruction says: shapes, dtypes, memories, waits, signals.

Every format carries the same text, so it is read here once a capture. Waits and signals, which
differ from one instruction to the next, are read from all texts at once; what is left, without
addresses, are few distinct shapes, and each is parsed one time. What a text does not say is
unknown: -1, or an empty name.
"""

from __future__ import annotations

import re
import weakref
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import codes, has
from roofline.dtypes import dtype_key
from roofline.engines import engine_key
from roofline.errors import RooflineError

if TYPE_CHECKING:
    import pyarrow as pa

    from roofline.intervals import Int64Array

__all__ = ["EVENT", "Operands", "Parsed", "parse_shape", "read_operands", "signaller"]

_TENSOR: Final = re.compile(
    r"(\w+)=(?:(\w+)@)?0x([0-9a-f]+)\[(-?\d+(?:,-?\d+)*)\]\[(-?\d+(?:,-?\d+)*)\]"
)
_NUMBER: Final = re.compile(r"\b(\w+)=(0x[0-9a-f]+|-?\d+)\b")
_PATTERN: Final = re.compile(r"(src|dst)_pattern=((?:\[[-\d,]+\])+)")
_ARRAY: Final = re.compile(r"\b(\d+)\*(\d+)\b")
_POINTER: Final = re.compile(r"\w+_ptr=|imm_src=\S*PTR")

# of the texts of a whole capture at once, in the regular expressions of Arrow
_TOKEN: Final = r"(?P<dollar>\$?)(?P<kind>[SE])\[(?P<number>\d+)\](?: \((?P<name>[^)]*)\))?"
_WAIT: Final = _TOKEN + r"(?:==|>=|<=|>|<)(?P<value>-?\d+)"
_SIGNAL: Final = _TOKEN + r"(?:\+\+|--|\+=|-=|=|\+|-)(?:-?\d+)?@complete"
_ALL_TOKENS: Final = r"\$?[SE]\[\d+\](?: \([^)]*\))?[^ ]*"
_BEHIND: Final = r"setter=.*$"
_PSUM: Final = (r"0x[2-9a-f][0-9a-f]{6}\[", "0x2000000[")
_SBUF: Final = (r"0x1?[0-9a-f]{1,6}\[", "0x0[")

_PSUM_FROM: Final = 0x2000000
"""Engine-local addresses from here on are PSUM, below it SBUF (facts of the trace format)."""

_ON_CHIP: Final = ((0xFFFC_00000000, 0xFFFC_FFFFFFFF), (0x8020_00000000, 0x803F_FFFFFFFF))
"""Device addresses of SBUF and PSUM: first and second generation, third generation."""

EVENT: Final = 1 << 20
"""Added to the number of an event, so that events and semaphores share one number space."""


@dataclass(slots=True)
class Parsed:
    """Shapes, dtypes and memories of one text.

    ``elements`` are per partition, the larger of input and output; a matmul multiplies ``rows`` x
    ``columns`` with ``elements`` moving columns. ``dma_*`` describe the transfer a DMA instruction
    issues: payload, smallest contiguous element, memories.
    """

    dtype_in: str = ""
    dtype_out: str = ""
    dtypes: tuple[str, ...] = ()
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operands:
    """Columns of what the texts say, one entry a row of the instruction table.

    Fields of ``Parsed``, and: ``wait`` is the semaphore an instruction waits for before it starts
    (events count from ``EVENT``) and ``wait_value`` the value, ``inner_wait`` and ``inner_value``
    the same inside an EVENT_SEMAPHORE (``barrier``: at one of the runtime's barriers), ``signal``
    the semaphore updated at the end; ``wait_name`` and ``inner_name`` name the signaller.
    """

    parsed: tuple[Parsed, ...]
    code: npt.NDArray[np.int32]
    waits: dict[str, npt.NDArray[Any]]
    text: npt.NDArray[np.int32]

    def integers(self, name: str) -> Int64Array:
        """Return an integer field by row."""
        return np.asarray(self._column(name, np.int64), np.int64)

    def flags(self, name: str) -> npt.NDArray[np.bool_]:
        """Return a boolean field by row."""
        return np.asarray(self._column(name, np.bool_), np.bool_)

    def names(self, name: str) -> npt.NDArray[np.object_]:
        """Return a text field by row, as a shared object a distinct text."""
        return np.asarray(self._column(name, np.object_), np.object_)

    def _column(self, name: str, kind: Any) -> npt.NDArray[Any]:
        if name in self.waits:
            return self.waits[name][self.text]
        return np.array([getattr(one, name) for one in self.parsed], kind)[self.code]


_KNOWN: Final[dict[int, tuple[weakref.ref[Any], Operands]]] = {}
"""What was read of tables that are still in use, so that one capture is read once."""


def read_operands(table: pa.Table) -> Operands | None:
    """Return what the operand texts of an instruction table say; ``None`` where it has none."""
    if not has(table, "operands"):
        return None
    key = id(table)
    if key in _KNOWN and _KNOWN[key][0]() is table:
        return _KNOWN[key][1]
    found = _read(table)
    _KNOWN[key] = weakref.ref(table, lambda _: _KNOWN.pop(key, None)), found
    return found


def _read(table: pa.Table) -> Operands:
    import pyarrow as pa
    import pyarrow.compute as pc

    text, texts = codes(table, "operands")
    column = pa.array([*texts, ""], pa.string())  # the last one for nulls
    before = pc.replace_substring_regex(column, _BEHIND, "")
    behind = pc.replace_substring_regex(column, r"^.*?setter=", "setter=")
    behind = pc.if_else(pc.match_substring(column, "setter="), behind, "")
    waits: dict[str, npt.NDArray[Any]] = {}
    for prefix, where, pattern in (
        ("wait", before, _WAIT),
        ("inner", behind, _WAIT),
        ("signal", column, _SIGNAL),
    ):
        found = pc.extract_regex(where, pattern)
        number = _whole(found, "number", -1)
        event = pc.fill_null(pc.equal(pc.struct_field(found, "kind"), "E"), False)
        number = number + np.where(event.to_numpy(zero_copy_only=False), EVENT, 0)
        waits["inner_wait" if prefix == "inner" else prefix] = number
        if prefix == "signal":
            continue
        waits[f"{prefix}_value"] = _whole(found, "value", 0)
        name = pc.fill_null(pc.struct_field(found, "name"), "")
        waits[f"{prefix}_name"] = np.array(name.to_pylist(), np.object_)
        if prefix == "inner":
            # a dollar marks what the runtime put in, and it puts only barriers of this form
            dollar = pc.fill_null(pc.equal(pc.struct_field(found, "dollar"), "$"), False)
            waits["barrier"] = dollar.to_numpy(zero_copy_only=False)
    shape = pc.replace_substring_regex(column, _ALL_TOKENS, "")
    for pattern, plain in (_PSUM, _SBUF):
        shape = pc.replace_substring_regex(shape, pattern, plain)
    shape = shape.dictionary_encode()
    place = shape.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return Operands(
        parsed=tuple(map(parse_shape, shape.dictionary.to_pylist())),
        code=place[text],
        waits=waits,
        text=text,
    )


def _whole(found: Any, name: str, missing: int) -> Int64Array:
    """Return a captured number; ``missing`` where the pattern did not match."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # more than 18 digits are no value of a semaphore
    digits = pc.utf8_slice_codeunits(pc.struct_field(found, name), 0, 18)
    numbers = pc.fill_null(pc.cast(digits, pa.int64()), missing)
    return np.array(numbers.to_numpy(zero_copy_only=False), np.int64)


def parse_shape(text: str) -> Parsed:
    """Return shapes, dtypes and memories of one operand text.

    >>> one = parse_shape("acc_flags=3 src=bfloat16@0x37e00[1,0,0][128,1,1] "
    ...     "dst=0x2000000[1,0,0][128,1,1] 128*64 ")
    >>> one.dtype_in, one.rows, one.columns, one.elements, one.psum_operands
    ('bf16', 128, 64, 128, 1)
    """
    found = Parsed()
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
