"""Event tables as numpy columns in picoseconds: what every query of this room works on."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import codes, has, integers, known
from roofline.captures.capture import Capture
from roofline.engines import ENGINES
from roofline.errors import QueryError
from roofline.intervals import Int64Array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "KINDS",
    "PS_PER_NS",
    "WAIT_OPCODES",
    "DmaTimeline",
    "Timeline",
    "base_ns",
    "dma_timeline",
    "instruction_timeline",
    "kind_of_opcode",
    "times_ps",
]

KINDS: Final = ("compute", "weight_load", "dma_issue", "table_load", "control")
"""What an engine can be busy with, in the order in which overlapping time is given away."""

WAIT_OPCODES: Final = frozenset({"EVENT_SEMAPHORE"})
"""Instructions that wait: the engine is not active in them (the vendor's rule, and ours)."""

PS_PER_NS: Final = 1000

# beyond this many ns the time of day is meant; ps would not fit into 63 bits
_EPOCH_NS: Final = 2**63 // PS_PER_NS - 1

_CONTROL: Final = frozenset(
    {
        "ALU_OP",
        "BRANCH_PREFETCH_HINT",
        "COMPARE_BRANCH",
        "DRAIN",
        "EVENT_SEMAPHORE",
        "EVENT_SEMAPHORE_RANGE_CLEAR",
        "HALT",
        "MODIFY_POOL_CONFIG",
        "MOVE",
        "NOP",
        "NOTIFY",
        "SET_ORDERING_MODE",
        "TENSOR_LOAD",
        "TENSOR_STORE",
        "WRITE",
    }
)

Codes = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]
Columns = TypeVar("Columns", "Timeline", "DmaTimeline")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timeline:
    """Instructions as columns, one entry a row, in the order of the table.

    ``engine`` indexes ``engines``, ``core`` is the physical core, ``start`` and ``end`` are ps
    since the capture's zero, ``kind`` indexes ``KINDS``, ``opcode`` indexes ``opcodes``, where an
    empty one is not known; ``row`` is the row in the table of the capture.
    """

    engines: tuple[str, ...]
    opcodes: tuple[str, ...]
    engine: Codes
    core: Int64Array
    start: Int64Array
    end: Int64Array
    kind: Codes
    opcode: Codes
    row: Int64Array

    def __len__(self) -> int:
        return len(self.start)

    @property
    def waits(self) -> BoolArray:
        """Which rows are waits, in which the engine is not active."""
        return np.isin(self.opcode, [i for i, op in enumerate(self.opcodes) if op in WAIT_OPCODES])

    def take(self, keep: Any) -> Timeline:
        """Return the rows of an index or mask."""
        return _take(self, keep)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DmaTimeline:
    """DMA packets as columns; -1 or an empty list where not known.

    ``size`` in bytes, ``kind`` indexes ``classes`` (who built the descriptors), ``queue`` indexes
    ``queues``, ``index`` is the number of the ring, ``engine`` the DMA engine.
    """

    classes: tuple[str, ...]
    queues: tuple[str, ...]
    core: Int64Array
    start: Int64Array
    end: Int64Array
    size: Int64Array
    kind: Codes
    queue: Codes
    index: Int64Array
    engine: Int64Array
    row: Int64Array

    def __len__(self) -> int:
        return len(self.start)

    @property
    def payload(self) -> BoolArray:
        """Which packets carry data: no instruction fetch, no 4-byte semaphore packet."""
        fetch = [i for i, name in enumerate(self.classes) if name == "instruction"]
        return ~np.isin(self.kind, fetch) & (self.size > 4)

    def take(self, keep: Any) -> DmaTimeline:
        """Return the rows of an index or mask."""
        return _take(self, keep)


def _take(columns: Columns, keep: Any) -> Columns:
    index = np.flatnonzero(keep) if keep.dtype == np.bool_ else keep
    values: dict[str, Any] = {
        entry.name: value[index] if isinstance(value, np.ndarray) else value
        for entry in fields(columns)
        if (value := getattr(columns, entry.name)) is not None
    }
    return type(columns)(**values)


def kind_of_opcode(opcode: str) -> str:
    """Return what an engine is busy with in an opcode, where the capture does not say.

    >>> kind_of_opcode("LDWEIGHTS"), kind_of_opcode("TENSOR_REDUCE"), kind_of_opcode("NOP")
    ('weight_load', 'compute', 'control')
    """
    if opcode in _CONTROL:
        return "control"
    if opcode.startswith("LDWEIGHTS"):
        return "weight_load"
    if opcode.startswith(("DMA_", "PSEUDO_DMA")):
        return "dma_issue"
    if opcode.endswith("TABLE_LOAD"):
        return "table_load"
    return "compute"


def base_ns(capture: Capture) -> int:
    """Return the capture's zero in ns: 0, or the first start where times are times of day."""
    first, last = 0, 0
    for name, begin in (("instructions", "start_ts"), ("dma", "start_ts")):
        if not capture.has(name):
            continue
        times = integers(capture.table(name, [begin]), begin)
        if len(times):
            first, last = min(first or int(times.min()), int(times.min())), int(times.max())
    return first if max(abs(first), abs(last)) > _EPOCH_NS // 2 else 0


def times_ps(table: pa.Table, base: int = 0) -> tuple[Int64Array, Int64Array]:
    """Return starts and ends in ps since ``base`` ns: the trace's own ps where it has them.

    Where only ns are known they are floors of the trace's ps, and each end is start plus duration.
    """
    if has(table, "start_ps", "end_ps") and not table.column("start_ps").null_count:
        start, end = integers(table, "start_ps"), integers(table, "end_ps")
        return (start - base * PS_PER_NS, end - base * PS_PER_NS) if base else (start, end)
    return (
        (integers(table, "start_ts") - base) * PS_PER_NS,
        (integers(table, "end_ts") - base) * PS_PER_NS,
    )


def instruction_timeline(capture: Capture, where: str | None = None) -> Timeline:
    """Return the instructions of a capture, or those that match ``where``.

    Raises ``MissingTableError`` without such a table, ``QueryError`` for a wrong expression.
    """
    table = capture.instructions
    engine, names = codes(table, "engine")
    if np.any(engine < 0):  # kept under a name of its own, not dropped
        engine, names = np.where(engine < 0, len(names), engine), [*names, "unknown"]
    engines = (*ENGINES, *(name for name in dict.fromkeys(names) if name not in ENGINES))
    place = np.array([engines.index(name) for name in names], np.int32)
    opcode, opcodes = codes(table, "opcode")
    if np.any(opcode < 0):
        opcode, opcodes = np.where(opcode < 0, len(opcodes), opcode), [*opcodes, ""]
    if has(table, "kind"):
        kind, kinds = codes(table, "kind")
        unknown = sorted(set(kinds) - set(KINDS))
        if unknown:
            raise QueryError(f"unknown kind of instruction: {unknown}; known: {', '.join(KINDS)}")
        kind = np.array([*(KINDS.index(name) for name in kinds), 0], np.int32)[kind]
    else:
        of = [KINDS.index(kind_of_opcode(name)) for name in opcodes]
        kind = np.array([*of, 0], np.int32)[opcode]
    start, end = times_ps(table, base_ns(capture))
    timeline = Timeline(
        engines=engines,
        opcodes=tuple(opcodes),
        engine=place[engine],
        core=_core(table),
        start=start,
        end=np.maximum(start, end),
        kind=kind,
        opcode=opcode,
        row=np.arange(table.num_rows),
    )
    return timeline.take(_matching(table, where)) if where else timeline


def dma_timeline(capture: Capture, where: str | None = None) -> DmaTimeline:
    """Return the DMA packets of a capture, or those that match ``where``."""
    table = capture.dma
    start, end = times_ps(table, base_ns(capture))
    none = np.full(table.num_rows, -1, np.int32)
    kind, classes = codes(table, "queue_type") if has(table, "queue_type") else (none, [])
    queue, queues = codes(table, "queue_name") if has(table, "queue_name") else (none, [])
    timeline = DmaTimeline(
        classes=tuple(classes),
        queues=tuple(queues),
        core=_core(table),
        start=start,
        end=np.maximum(start, end),
        size=integers(table, "transfer_bytes"),
        kind=kind,
        queue=np.array([*(-1 if not name else at for at, name in enumerate(queues)), -1], np.int32)[
            queue
        ],
        index=_optional(table, "queue_idx"),
        engine=_optional(table, "engine_idx"),
        row=np.arange(table.num_rows),
    )
    return timeline.take(_matching(table, where)) if where else timeline


def _optional(table: pa.Table, name: str) -> Int64Array:
    if not has(table, name):
        return np.full(table.num_rows, -1, np.int64)
    return np.where(known(table, name), integers(table, name), -1)


def _core(table: pa.Table) -> Int64Array:
    if has(table, "pcore_idx"):
        return integers(table, "pcore_idx")
    return np.zeros(table.num_rows, np.int64)


def _matching(table: pa.Table, where: str) -> BoolArray:
    from roofline.analysis.where import select

    return select(table, where)
