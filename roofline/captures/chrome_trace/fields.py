"""Which keys of a trace event become which columns.

Two kinds of rows: operators on the host (category ``cpu_op``: shapes, dtypes, correlation) and
everything else (runtime, driver, device, annotations, flows). Keys are those of Kineto
(``output_json.cpp``), of ``torch.profiler`` and of the Neuron documentation; where two sources
spell one thing differently both are read, the first one that is present wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec

__all__ = [
    "ABSENT",
    "EVENT_COLUMNS",
    "OP_CATEGORY",
    "OP_COLUMNS",
    "Column",
    "Document",
    "attribute",
    "default",
    "event_type",
]

OP_CATEGORY: Final = "cpu_op"

ABSENT: Final = msgspec.Raw(b"")
"""What a JSON column holds where the event lacks the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column and the keys it comes from.

    ``kind``: ``text`` and ``json`` become dictionary-encoded strings (``json`` keeps the text of
    the value), ``id`` a nullable uint64 (0 is never written by Kineto and means absent),
    ``count`` a nullable int64, ``time`` int64 ns from decimal microseconds, ``label`` a string
    made of an integer or a string. ``nested`` keys stand in ``args``.
    """

    name: str
    kind: str
    keys: tuple[str, ...]
    nested: bool = True


_TOP: Final = (
    Column(name="name", kind="text", keys=("name",), nested=False),
    Column(name="pid", kind="label", keys=("pid",), nested=False),
    Column(name="tid", kind="label", keys=("tid",), nested=False),
    Column(name="start_ts", kind="time", keys=("ts",), nested=False),
    Column(name="duration_ns", kind="time", keys=("dur",), nested=False),
    Column(name="external_id", kind="id", keys=("External id", "external id")),
)

OP_COLUMNS: Final = (
    *_TOP,
    Column(name="input_dims", kind="json", keys=("Input Dims",)),
    Column(name="input_type", kind="json", keys=("Input type",)),
    Column(name="input_strides", kind="json", keys=("Input Strides",)),
    Column(name="concrete_inputs", kind="json", keys=("Concrete Inputs",)),
    Column(name="sequence_number", kind="count", keys=("Sequence number",)),
)

EVENT_COLUMNS: Final = (
    Column(name="phase", kind="text", keys=("ph",), nested=False),
    Column(name="category", kind="text", keys=("cat",), nested=False),
    *_TOP,
    Column(name="nrt_sequence_id", kind="id", keys=("nrt_sequence_id", "nrta_seq_id")),
    Column(name="neff_cache_key", kind="text", keys=("neff_cache_key",)),
    Column(name="flow_id", kind="label", keys=("id",), nested=False),
    Column(name="args_name", kind="json", keys=("name", "labels")),
    Column(name="device", kind="label", keys=("device", "nc_idx")),
    Column(name="stream", kind="label", keys=("stream",)),
    Column(name="device_core_idx", kind="count", keys=("device_core_idx", "pcore_idx")),
    Column(name="exec_id", kind="label", keys=("exec_id",)),
    Column(name="model_id", kind="label", keys=("model_id",)),
    Column(name="model_name", kind="text", keys=("model_name",)),
    Column(name="bytes", kind="count", keys=("Bytes", "bytes", "size", "nbytes")),
)

_FIELD: Final[dict[str, tuple[Any, Any]]] = {
    "text": (str, ""),
    "label": (int | str | None, None),
    "id": (int, 0),
    "count": (int | None, None),
    "time": (msgspec.Raw, ABSENT),
    "json": (msgspec.Raw, ABSENT),
}


class Document(msgspec.Struct, gc=False):
    """The part of a trace file outside its events."""

    traceEvents: msgspec.Raw = ABSENT
    baseTimeNanoseconds: int | None = None
    schemaVersion: int | None = None
    record_shapes: int | bool = False
    with_flops: int | bool = False
    with_stack: int | bool = False
    profile_memory: int | bool = False
    displayTimeUnit: str = ""
    repaired: bool = False


def default(kind: str) -> Any:
    """Return what a Struct holds where the event lacks a key of this kind."""
    return _FIELD[kind][1]


def attribute(key: str) -> str:
    """Return the Python name under which a Struct holds a JSON key."""
    return "f_" + "".join(char if char.isalnum() else "_" for char in key)


@cache
def event_type(names: frozenset[str]) -> type[msgspec.Struct]:
    """Return a Struct type with what the named columns need; other keys are skipped."""
    top: dict[str, Any] = {"ph": str, "cat": str}
    nested: dict[str, Any] = {}
    for column in (*OP_COLUMNS, *EVENT_COLUMNS):
        if column.name in names:
            for key in column.keys:
                (nested if column.nested else top)[key] = column.kind
    top.pop("ph"), top.pop("cat")

    def fields(kinds: dict[str, Any]) -> list[tuple[str, Any, Any]]:
        return [
            (attribute(key), _FIELD[kind][0], msgspec.field(default=_FIELD[kind][1], name=key))
            for key, kind in kinds.items()
        ]

    args = msgspec.defstruct("Args", fields(nested), gc=False, frozen=True)
    return msgspec.defstruct(
        "Event",
        [*fields({"ph": "text", "cat": "text", **top}), ("args", args, args())],
        gc=False,
    )
