"""How the records of the vendor's full-profile JSON become tables with the Parquet 7.4 names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.distinct import known_engine, known_updater, map_distinct, memory_of
from roofline.captures.operand_text import FACTS, operand_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EVENTS", "HOT", "Column", "Context", "EventTable", "build_columns"]

Arrays = Mapping[str, "pa.Array"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a column needs to know about the rest of the file."""

    cores: int | None
    """Physical cores of the logical core; ``None`` when the file does not say."""
    vendor: bool = False
    """Whether columns follow the vendor's rules where they differ from the truth."""
    bf16_cost: Mapping[str, float] = field(default_factory=dict)
    """What a multiply-accumulate of an element type costs on this chip, against bf16."""
    queues: Mapping[int, str] = field(default_factory=dict)
    """Name of the DMA queue with a number (core * 1000 + index), where only one has it."""
    memo: dict[str, Arrays] = field(default_factory=dict)
    """Columns that are made together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column, the fields it is made of (the first is required), and how."""

    name: str
    fields: Mapping[str, str]
    build: Callable[[Arrays, Context], pa.Array | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTable:
    """One table: its section in the file, its columns, and which rows belong to it.

    ``keep`` names a text field and the value that rows must (or must not) have.
    """

    section: str
    columns: tuple[Column, ...]
    keep: tuple[str, str, bool] | None = None


def _as_is(name: str, field: str, kind: str) -> Column:
    return Column(name=name, fields={field: kind}, build=lambda arrays, _: arrays.get(field))


def _ints(*names: str, **renamed: str) -> tuple[Column, ...]:
    pairs = {**{name: name for name in names}, **renamed}
    return tuple(_as_is(name, field, "int") for name, field in pairs.items())


def _int_texts(**renamed: str) -> tuple[Column, ...]:
    """Integers that this format writes as text."""

    def number(text: str) -> int | None:
        return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None

    return tuple(
        Column(name=name, fields={field: "str"}, build=_mapped(field, number, "int64"))
        for name, field in renamed.items()
    )


def _texts(*names: str, **renamed: str) -> tuple[Column, ...]:
    """Text columns; the empty text is how this format writes *none*."""
    pairs = {**{name: name for name in names}, **renamed}
    return tuple(
        Column(name=name, fields={field: "str"}, build=_mapped(field, lambda text: text or None))
        for name, field in pairs.items()
    )


def _mapped(
    field: str, convert: Callable[[str], Any], kind: str = "string"
) -> Callable[[Arrays, Context], pa.Array | None]:
    """Convert each distinct text once: columns of events repeat a few values many times."""

    def build(arrays: Arrays, _: Context) -> pa.Array | None:
        column = arrays.get(field)
        return None if column is None else map_distinct(column, convert, kind)

    return build


def _end(start: str, duration: str) -> Column:
    def build(arrays: Arrays, _: Context) -> pa.Array | None:
        import pyarrow.compute as pc

        if start not in arrays or duration not in arrays:
            return None
        return pc.add_checked(arrays[start], arrays[duration])

    return Column(name="end_ts", fields={start: "int", duration: "int"}, build=build)


def _core(field: str) -> Column:
    """Physical core from a subgraph name such as ``sg01``, which files of one core leave out."""

    def number(text: str) -> int | None:
        return int(text[2:]) if re.fullmatch(r"sg\d{1,3}", text) else None

    def build(arrays: Arrays, context: Context) -> pa.Array | None:
        import numpy as np
        import pyarrow as pa

        if field in arrays:
            return map_distinct(arrays[field], number, "int64")
        if context.cores == 1 and arrays:
            return pa.array(np.zeros(len(next(iter(arrays.values()))), np.int64))
        return None

    return Column(name="pcore_idx", fields={field: "str"}, build=build)


def _memory(name: str, field: str) -> Column:
    return Column(
        name=name,
        fields={field: "raw"},
        build=_mapped(field, lambda text: memory_of(json.loads(text))),
    )


def _raw_flops(arrays: Arrays, context: Context) -> pa.Array | None:
    """FLOP of a MATMUL; ``elements`` counts its multiply-accumulates.

    Each of the two instructions of an fp32 product does half; the vendor counted both in full.
    """
    import pyarrow.compute as pc

    elements = arrays.get("elements")
    if elements is None:
        return None
    facts = {} if context.vendor else _facts(arrays, context)
    per_mac = facts.get("flop_per_mac")
    return pc.multiply_checked(elements, 2 if per_mac is None else pc.fill_null(per_mac, 2))


def _adjusted_flops(arrays: Arrays, context: Context) -> pa.Array | None:
    """Raw FLOP times what the element type costs against bf16; null where that is unknown."""
    import pyarrow.compute as pc

    raw = _raw_flops(arrays, replace(context, vendor=False))
    dtype = _facts(arrays, context).get("dtype_in")
    if raw is None or dtype is None or not context.bf16_cost:
        return None
    cost = map_distinct(dtype, context.bf16_cost.get, "float64")
    return pc.cast(pc.round(pc.multiply(raw, cost)), "int64")


_SEMAPHORE: Final = re.compile(r"S\[(\d+)\](?: \((.*)\))?")


def _semaphore_number(text: str) -> str:
    match = _SEMAPHORE.fullmatch(text)
    return match[1] if match else text


def _semaphore_name(text: str) -> str | None:
    match = _SEMAPHORE.fullmatch(text)
    return match[2] if match else None


def _flag(name: str) -> Column:
    words = {"yes": True, "true": True, "no": False, "false": False}
    return Column(
        name=name, fields={name: "str"}, build=_mapped(name, lambda t: words.get(t.lower()), "bool")
    )


_THROTTLE: Final = {"0": "activity_0", "1": "activity_1", "99": "unknown"}
_QUEUE: Final = re.compile(r"(?:(?P<name>.*?)-)?Q\d+-E\d+")


def _queue_name(text: str) -> str | None:
    match = _QUEUE.fullmatch(text)
    return (match["name"] if match else text) or None


def _queue_names(arrays: Arrays, context: Context) -> pa.Array | None:
    """Queue name from the row's own text, else from the list of queues."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    own = arrays.get("subgroup")
    named = None if own is None else map_distinct(own, _queue_name, "string")
    index = _QUEUE_INDEX.build(arrays, context)
    if not context.queues or index is None:
        return named
    core = _core("subgraph").build(arrays, context)
    if core is None:
        core = pa.array(np.zeros(len(index), np.int64))
    number = pc.add(pc.multiply(core, 1000), index)
    listed = map_distinct(number, context.queues.get, "string")
    if named is None:
        return listed
    return pc.coalesce(named.cast("string"), listed.cast("string")).dictionary_encode()


def _facts(arrays: Arrays, context: Context) -> Arrays:
    """Return what the operand text tells; empty where there is none."""
    if "opcode" not in arrays or "operands" not in arrays:
        return {}
    if "facts" not in context.memo:
        context.memo["facts"] = operand_columns(
            arrays["opcode"], arrays["operands"], arrays.get("bir_id")
        )
    return context.memo["facts"]


_TEXT_FIELDS: Final = {"opcode": "str", "operands": "str", "bir_id": "str"}


def _fact(name: str) -> Column:
    def build(arrays: Arrays, context: Context) -> pa.Array | None:
        column = _facts(arrays, context).get(name)
        return None if column is None or (column.null_count == len(column) > 0) else column

    return Column(name=name, fields=_TEXT_FIELDS, build=build)


_QUEUE_INDEX: Final = _int_texts(queue_idx="dma_queue")[0]

_DMA_SHARED: Final = (
    *_ints(start_ts="timestamp", duration_ns="duration"),
    _end("timestamp", "duration"),
    _core("subgraph"),
    *_ints(
        "id",
        "crc",
        transfer_bytes="transfer_size",
        read_bytes="read_size",
        write_bytes="write_size",
    ),
    _as_is("throughput", "transfer_rate", "float"),
    *_texts("queue_type", "variable", "op", "semaphore_id"),
    Column(
        name="queue_name",
        fields={"subgroup": "str", "dma_queue": "str", "subgraph": "str"},
        build=_queue_names,
    ),
    *_int_texts(engine_idx="dma_engine"),
    _QUEUE_INDEX,
    _memory("source_memory", "source"),
    _memory("dest_memory", "dest"),
    _flag("is_cc_dma"),
    _flag("duplicate"),
)

EVENTS: Final = {
    "instructions": EventTable(
        section="instruction",
        columns=(
            *_ints(start_ts="timestamp", duration_ns="duration"),
            _end("timestamp", "duration"),
            Column(
                name="engine", fields={"subgroup": "str"}, build=_mapped("subgroup", known_engine)
            ),
            _core("subgraph"),
            *_texts("opcode", "operands", timeline_track="label"),
            *_ints("id", "pc", "crc_in", "crc_out", evt_wait_time_ns="evt_wait_time"),
            *_texts("compiler_opcode", "compiler_operands"),
            *_ints("compiler_pc", "raw_bir_id", "raw_penguin_id"),
            *_ints("raw_hlo_id"),
            _as_is("raw_framework_id", "raw_framework_id", "raw"),
            _as_is("trigger", "trigger", "raw"),
            *_texts("bir_id", "bir_instruction_name", "penguin_id", "hlo_name", "hlo_attrs"),
            *_texts("layer", "fully_qualified_subgraph"),
            *_texts(
                tensor_instruction_type="instruction_type", scalar_activation_fn="activation_fn"
            ),
            *_ints(tensor_elements="elements"),
            Column(name="raw_flops", fields={"elements": "int", **_TEXT_FIELDS}, build=_raw_flops),
            Column(
                name="adjusted_flops",
                fields={"elements": "int", **_TEXT_FIELDS},
                build=_adjusted_flops,
            ),
            *_ints("hbm_read_bytes", "hbm_write_bytes", "sbuf_read_bytes", "sbuf_write_bytes"),
            *_ints("psum_read_bytes", "psum_write_bytes", "psum_read_sbuf_write_bytes"),
            *_ints("spill_save_bytes", "spill_reload_bytes", "weight_queue_bytes"),
            *_ints("input_queue_bytes", "output_queue_bytes"),
            *_texts("nki_source_location", "bir_debug_info_source_location"),
            *(_fact(name) for name in FACTS if name != "flop_per_mac"),
        ),
    ),
    "dma": EventTable(
        section="dma",
        keep=("aggregated", "yes", False),
        columns=(*_DMA_SHARED, *_ints("packet_idx", "packet_aggregation_id")),
    ),
    "transfers": EventTable(
        section="dma",
        keep=("aggregated", "yes", True),
        columns=(
            *_DMA_SHARED,
            *_ints("block_id", "trigger"),
            *_ints(
                read_num_sbuf_partitions="source_num_sb_partitions",
                write_num_sbuf_partitions="dest_num_sb_partitions",
            ),
            *_texts(
                read_sbuf_partitions="source_sb_partitions",
                write_sbuf_partitions="dest_sb_partitions",
                read_offset="source_offset",
                write_offset="dest_offset",
                read_steps="source_steps",
                write_steps="dest_steps",
            ),
            _as_is("read_shape", "read_shape", "raw"),
            _as_is("write_shape", "write_shape", "raw"),
        ),
    ),
    "semaphores": EventTable(
        section="semaphore_update",
        columns=(
            *_ints("timestamp", "value"),
            *_texts("update_operation_type"),
            Column(name="id", fields={"id": "str"}, build=_mapped("id", _semaphore_number)),
            Column(name="name", fields={"id": "str"}, build=_mapped("id", _semaphore_name)),
            Column(
                name="update_source",
                fields={"update_source": "str"},
                build=_mapped("update_source", lambda text: known_updater(text) if text else None),
            ),
            _core("subgraph"),
        ),
    ),
    "active": EventTable(
        section="active_time",
        columns=(
            Column(name="engine", fields={"engine": "str"}, build=_mapped("engine", known_engine)),
            *_ints("pcore_idx", "start_ts", "end_ts", "duration_ns"),
        ),
    ),
    "throttle": EventTable(
        section="ham",
        columns=(
            *_ints("timestamp", "duration", "k", "n"),
            Column(
                name="type",
                fields={"type": "str"},
                build=_mapped("type", lambda code: _THROTTLE.get(code, f"code_{code}")),
            ),
            _core("subgraph"),
        ),
    ),
    "tensors": EventTable(
        section="neff_node",
        keep=("variable_name", "", False),
        columns=(
            *_texts("variable_name", "type", "format", "shape"),
            *_int_texts(size="size"),
            *_ints("load_to_sbuf_avg_size_bytes", "load_to_sbuf_total_size_bytes"),
            *_ints("load_to_sbuf_dma_count"),
            _as_is("load_to_sbuf_repeat_factor", "load_to_sbuf_repeat_factor", "float"),
            _core("sg_name"),
        ),
    ),
}
"""Table name -> where its rows are and how its columns are made."""

HOT: Final = {
    "instructions": ("start_ts", "duration_ns", "end_ts", "engine", "pcore_idx", "opcode"),
    "dma": ("start_ts", "duration_ns", "end_ts", "pcore_idx", "transfer_bytes", "queue_type"),
    "active": ("engine", "pcore_idx", "start_ts", "end_ts", "duration_ns"),
}
"""Columns that most questions need: decoded on the way when the file is first walked."""


def build_columns(
    table: EventTable, columns: tuple[Column, ...], arrays: Arrays, context: Context
) -> dict[str, pa.Array]:
    """Build ``columns`` from the gathered fields, without rows that belong to another table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if table.keep is not None and table.keep[0] in arrays:
        field, value, wanted = table.keep
        is_value = pc.fill_null(
            map_distinct(arrays[field], lambda text: text == value, "bool"), False
        )
        mask = is_value if wanted else pc.invert(is_value)
        count = pc.sum(mask).as_py() or 0
        if count < len(mask):
            picked = pa.array(mask.to_numpy(zero_copy_only=False).nonzero()[0])
            arrays = {name: array.take(picked) for name, array in arrays.items()}
    built = {column.name: column.build(arrays, context) for column in columns}
    return {name: array for name, array in built.items() if array is not None}
