"""Split the events of a trace file into tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from roofline.captures.chrome_trace import columns
from roofline.captures.chrome_trace.fields import (
    EVENT_COLUMNS,
    OP_CATEGORY,
    OP_COLUMNS,
    Column,
    Document,
    attribute,
    default,
    event_type,
)
from roofline.captures.chrome_trace.stream import decode_events
from roofline.errors import MissingTableError

__all__ = ["DEVICE_EVENTS", "TRACE_TABLES", "TraceFile"]

DEVICE_EVENTS: Final = frozenset(
    {
        "nc_exec_running",
        "nc_model_switch",
        "cc_running",
        "cc_exec_barrier",
        "numerical_err",
        "timestamp_sync_point",
        "hw_notify",
    }
)
"""Names of what the hardware reports (``neuron_hw``)."""

_RUNTIME_PREFIXES: Final = ("nrt_", "nrta_", "kbl_", "kmgr_", "dmem_")

TRACE_TABLES: Final = {
    "cpu_ops": "operators on the host, with shapes and dtypes where they were recorded",
    "runtime": "calls into a runtime on the host, the Neuron runtime chain included",
    "driver": "work sent to the device: submit to completion, one row a launch",
    "kernels": "kernels, copies and fills on devices that report them",
    "device": "what the Neuron hardware reports: executions, model switches",
    "annotations": "ranges that the program named, profiler steps among them",
    "flows": "arrows between events",
    "python": "Python functions",
    "memory": "allocations and frees",
    "names": "names of processes and threads",
    "other": "everything else, with its phase and category",
}
"""Tables of a trace file, and what is in them."""

_KERNEL_CATEGORIES: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_TIMED: Final = ("start_ts", "duration_ns")


Decode = Callable[
    [Path, Any, Callable[[list[Any]], tuple[list[pa.Array], list[pa.Array]]]],
    tuple[Document, list[tuple[list[pa.Array], list[pa.Array]]]],
]
"""Reads a file as trace events: ``stream.decode_events``, or what has its form."""


class TraceFile:
    """The decoded columns of one trace file; each pass over the file adds what is asked for."""

    def __init__(self, path: Path, decode: Decode = decode_events) -> None:
        self.path = path
        self._read = decode
        self.document: Document | None = None
        self._ops: dict[str, pa.ChunkedArray] = {}
        self._events: dict[str, pa.ChunkedArray] = {}
        self._kinds: dict[str, pa.BooleanArray] = {}

    def table(self, name: str, wanted: Sequence[str] | None) -> pa.Table:
        """Return table ``name`` with the wanted columns (``end_ts`` is derived), ``None``: all."""
        specs = OP_COLUMNS if name == "cpu_ops" else EVENT_COLUMNS
        known = {column.name for column in specs}
        if wanted is None:
            names = known | {"end_ts"}
        else:
            names = set(wanted)
            if absent := sorted(names - known - {"end_ts"}):
                raise MissingTableError(
                    f"{self.path}: table {name!r} has no column {', '.join(map(repr, absent))}; "
                    f"held: {', '.join(column.name for column in specs)}, end_ts"
                )
        needed = (names & known) | (set(_TIMED) if "end_ts" in names else set())
        self._decode(needed)
        held = self._ops if name == "cpu_ops" else self._events
        table = pa.table({c.name: held[c.name] for c in specs if c.name in needed})
        if name != "cpu_ops":
            table = table.filter(self._is(name))
        if "end_ts" in names:
            table = table.append_column("end_ts", _ends(table))
        table = table.select([c for c in (*_order(specs), "end_ts") if c in names])
        return table.unify_dictionaries().combine_chunks()

    def _decode(self, names: set[str]) -> None:
        core = {c.name for c in EVENT_COLUMNS}
        shapes = {c.name for c in OP_COLUMNS} - core
        missing = {
            name
            for group in (core, shapes)
            if any(n not in self._ops and n not in self._events for n in names & group)
            for name in group
        }
        if not missing:
            return
        missing |= core if not self._events else set()
        op_specs = [c for c in OP_COLUMNS if c.name in missing]
        event_specs = [c for c in EVENT_COLUMNS if c.name in missing]

        def extract(events: list[Any]) -> tuple[list[pa.Array], list[pa.Array]]:
            is_op = attrgetter(attribute("cat"))
            ops = [event for event in events if is_op(event) == OP_CATEGORY]
            rest = [event for event in events if is_op(event) != OP_CATEGORY]
            return _extract(op_specs, ops), _extract(event_specs, rest)

        self.document, blocks = self._read(self.path, event_type(frozenset(missing)), extract)
        for held, specs, side in ((self._ops, op_specs, 0), (self._events, event_specs, 1)):
            for index, column in enumerate(specs):
                held[column.name] = pa.chunked_array([block[side][index] for block in blocks])

    def _is(self, name: str) -> pa.Array:
        """Return which of the events that are no operators belong to table ``name``."""
        if not self._kinds:
            self._decode({"phase", "category", "name"})
            self._kinds = _classify(
                *(self._events[key].unify_dictionaries() for key in ("phase", "category", "name"))
            )
        return self._kinds[name]


def _extract(specs: Sequence[Column], events: list[Any]) -> list[pa.Array]:
    args = [event.args for event in events]
    arrays = []
    for column in specs:
        rows = args if column.nested else events
        values = list(map(attrgetter(attribute(column.keys[0])), rows))
        absent = default(column.kind)
        for key in column.keys[1:]:
            others = list(map(attrgetter(attribute(key)), rows))
            if others.count(absent) < len(others):
                values = [
                    other if value == absent else value
                    for value, other in zip(values, others, strict=True)
                ]
        arrays.append(columns.build(column.kind, values))
    return arrays


def _ends(table: pa.Table) -> pa.ChunkedArray:
    """Return the ends: an event without or with a negative duration ends where it starts."""
    duration = pc.max_element_wise(pc.fill_null(table["duration_ns"], 0), 0)
    return pc.add_checked(table["start_ts"], duration)


def _order(specs: Sequence[Column]) -> list[str]:
    return [column.name for column in specs]


def _among(column: pa.ChunkedArray, keep: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return for every row whether ``keep`` is true of its text; asked once per distinct text."""
    masks = [np.zeros(0, bool)]
    for chunk in column.chunks:
        hits = np.array([keep(text) for text in chunk.dictionary.to_pylist()] + [keep("")], bool)
        indices = chunk.indices.fill_null(len(hits) - 1).to_numpy(zero_copy_only=False)
        masks.append(hits[indices])
    return np.concatenate(masks)


def _classify(
    phase: pa.ChunkedArray, category: pa.ChunkedArray, name: pa.ChunkedArray
) -> dict[str, pa.Array]:
    complete = _among(phase, "X".__eq__)
    device = complete & _among(name, DEVICE_EVENTS.__contains__)
    chain = complete & _among(name, lambda text: text.startswith(_RUNTIME_PREFIXES))
    sets = {
        "device": device,
        "runtime": chain | (complete & _among(category, lambda text: text.endswith("_runtime"))),
        "driver": complete & _among(category, lambda text: text.endswith("_driver")),
        "kernels": complete & _among(category, _KERNEL_CATEGORIES.__contains__),
        "annotations": complete & _among(category, lambda t: t.endswith("user_annotation")),
        "flows": _among(phase, {"s", "t", "f"}.__contains__),
        "python": _among(category, "python_function".__eq__),
        "memory": _among(category, "cpu_instant_event".__eq__),
        "names": _among(phase, "M".__eq__),
    }
    # each event is in the first table that takes it, so no row is counted twice or lost
    taken = np.zeros(len(device), bool)
    kinds = {}
    for key, mask in sets.items():
        kinds[key] = pa.array(mask & ~taken)
        taken |= mask
    kinds["other"] = pa.array(~taken)
    return kinds
