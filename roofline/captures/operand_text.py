"""What an instruction worked on, read from the text of its operands.

The vendor does not document the text and may change it: what is not understood is null. Example::

    op=ADD src0=fp16@0x2400[1,1,1][420,1,1] src1=... dst=fp16@0x2400[1,1,1][420,1,1] channels=128

An access is dtype, address, strides and counts; ``channels`` are partitions; on the Tensor engine
``128*64`` at the end are rows and columns of the array.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from roofline.dtypes import dtype_key
from roofline.errors import WorkError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["FACTS", "OperandFacts", "operand_columns", "parse_operands"]

FACTS: Final = {
    "kind": "string",
    "dtype_in": "string",
    "dtype_out": "string",
    "partitions": "int64",
    "elements_per_partition": "int64",
    "element_passes": "int64",
    "tensor_columns": "int64",
    "flop_per_mac": "int64",
}
"""Derived column -> Arrow type."""

_ACCESS: Final = r"(?:(?P<dtype>\w+)@)?0x[0-9a-f]+\[[-\d,]*\]\[(?P<counts>[\d,]+)\]"
_SOURCE: Final = re.compile(r"\bsrc0?=" + _ACCESS)
_DESTINATION: Final = re.compile(r"\bdst=" + _ACCESS)
_CHANNELS: Final = re.compile(r"\bchannels=(\d+)")
_ARRAY: Final = re.compile(r"\s(\d+)\*(\d+)\s*$")

_KINDS: Final = {
    "LDWEIGHTS": "weight_load",
    "ACT_TABLE_LOAD": "table_load",
    **dict.fromkeys(
        (
            *("NOP", "SET_ORDERING_MODE", "EVENT_SEMAPHORE", "EVENT_SEMAPHORE_RANGE_CLEAR"),
            *("NOTIFY", "COMPARE_BRANCH", "DRAIN", "TENSOR_LOAD", "TENSOR_STORE"),
            *("MODIFY_POOL_CONFIG", "MOVE", "ALU_OP"),
        ),
        "control",
    ),
}

_WRITES: Final = {True: "dma_issue", False: "control"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandFacts:
    """Facts of one instruction; ``None`` where the text does not tell or it does not apply."""

    kind: str | None = None
    dtype_in: str | None = None
    dtype_out: str | None = None
    partitions: int | None = None
    elements_per_partition: int | None = None
    element_passes: int | None = None
    tensor_columns: int | None = None
    flop_per_mac: int | None = None


def parse_operands(opcode: str, text: str, *, compiled: bool | None = None) -> OperandFacts:
    """Return what opcode and operand text tell; never raises for text it does not understand.

    ``compiled``: the instruction comes from the program (``False``: from the runtime). A WRITE of
    the program starts a planned DMA, one of the runtime sets up queues.
    """
    kind = _KINDS.get(opcode)
    if opcode == "WRITE":
        return OperandFacts(kind=None if compiled is None else _WRITES[compiled])
    if opcode.startswith("DMA_"):
        kind = "dma_issue"
    if kind not in (None, "weight_load"):
        return OperandFacts(kind=kind)
    source, destination = _SOURCE.search(text), _DESTINATION.search(text)
    if source is None:
        return OperandFacts(kind=kind)
    array = _ARRAY.search(text)
    channels = _CHANNELS.search(text)
    counts = [_product(match["counts"]) for match in (source, destination) if match is not None]
    elements = max(counts)
    common = {
        "kind": kind or ("compute" if destination is not None else None),
        "dtype_in": _dtype(source),
        "elements_per_partition": elements,
    }
    if array is not None:
        halves = "fp32_mode=" in text  # two instructions share an fp32 product
        return OperandFacts(
            **common,  # type: ignore[arg-type]
            partitions=int(array[1]),
            tensor_columns=int(array[2]),
            flop_per_mac=None if opcode != "MATMUL" else 1 if halves else 2,
        )
    partitions = None if channels is None else int(channels[1])
    return OperandFacts(
        **common,  # type: ignore[arg-type]
        dtype_out=_dtype(destination),
        partitions=partitions,
        element_passes=None if partitions is None else elements * partitions,
    )


def _product(counts: str) -> int:
    return math.prod(int(count) for count in counts.split(",") if count)


def _dtype(access: re.Match[str] | None) -> str | None:
    if access is None or access["dtype"] is None:
        return None
    try:
        return dtype_key(access["dtype"])
    except WorkError:
        return None


def operand_columns(
    opcode: pa.Array, operands: pa.Array, compiled: pa.Array | None = None
) -> dict[str, pa.Array]:
    """Return the columns of ``FACTS`` for columns of opcodes and operands (dictionary or text).

    ``compiled`` is a column that is null or empty where the runtime inserted the instruction; one
    without any text tells nothing. Each distinct instruction is parsed once.
    """
    import numpy as np
    import pyarrow as pa

    opcodes, opcode_codes = _coded(opcode)
    texts, text_codes = _coded(operands)
    inserted = np.zeros(len(opcode_codes), dtype=np.int64)
    told = False
    if compiled is not None:
        names, codes = _coded(compiled)
        inserted = np.array([not name for name in names], dtype=np.int64)[codes]
        told = bool((inserted == 0).any())
    key = (opcode_codes * len(texts) + text_codes) * 2 + inserted
    distinct, where = _distinct(key, 2 * len(opcodes) * len(texts))
    facts = [
        parse_operands(
            opcodes[code // 2 // len(texts)],
            texts[code // 2 % len(texts)],
            compiled=code % 2 == 0 if told else None,
        )
        for code in distinct.tolist()
    ]
    rows = pa.array(where)
    columns = {}
    for name, kind in FACTS.items():
        values = pa.array([getattr(fact, name) for fact in facts], kind)
        values = values.dictionary_encode() if kind == "string" else values
        columns[name] = values.take(rows)
    return columns


def _distinct(
    key: npt.NDArray[np.int64], bound: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the distinct keys below ``bound`` and where each key is among them."""
    import numpy as np

    if bound > 8 * len(key):
        return np.unique(key, return_inverse=True)
    present = np.zeros(bound, dtype=bool)
    present[key] = True
    distinct = np.flatnonzero(present)
    place = np.empty(bound, dtype=np.int64)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[key]


def _coded(column: pa.Array) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the distinct texts of a column and the number of each row's text; null is empty."""
    import numpy as np
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    names = [name or "" for name in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
    return [*names, ""], codes.astype(np.int64)
