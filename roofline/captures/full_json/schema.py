"""How the records of the vendor's full-profile JSON become tables with the Parquet 7.4 names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from roofline.captures.distinct import known_engine, known_updater, map_distinct
from roofline.captures.full_json.column_kinds import (
    Arrays,
    Column,
    Context,
    EventTable,
    as_is,
    core_number,
    end_time,
    flag,
    int_texts,
    ints,
    mapped,
    memory_kind,
    texts,
)
from roofline.captures.operand_text import FACTS, operand_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EVENTS", "HOT", "build_columns"]


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
    core = core_number("subgraph").build(arrays, context)
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


_QUEUE_INDEX: Final = int_texts(queue_idx="dma_queue")[0]

_DMA_SHARED: Final = (
    *ints(start_ts="timestamp", duration_ns="duration"),
    end_time("timestamp", "duration"),
    core_number("subgraph"),
    *ints(
        "id",
        "crc",
        transfer_bytes="transfer_size",
        read_bytes="read_size",
        write_bytes="write_size",
    ),
    as_is("throughput", "transfer_rate", "float"),
    *texts("queue_type", "variable", "op", "semaphore_id"),
    Column(
        name="queue_name",
        fields={"subgroup": "str", "dma_queue": "str", "subgraph": "str"},
        build=_queue_names,
    ),
    *int_texts(engine_idx="dma_engine"),
    _QUEUE_INDEX,
    memory_kind("source_memory", "source"),
    memory_kind("dest_memory", "dest"),
    flag("is_cc_dma"),
    flag("duplicate"),
)

EVENTS: Final = {
    "instructions": EventTable(
        section="instruction",
        columns=(
            *ints(start_ts="timestamp", duration_ns="duration"),
            end_time("timestamp", "duration"),
            Column(
                name="engine", fields={"subgroup": "str"}, build=mapped("subgroup", known_engine)
            ),
            core_number("subgraph"),
            *texts("opcode", "operands", timeline_track="label"),
            *ints("id", "pc", "crc_in", "crc_out", evt_wait_time_ns="evt_wait_time"),
            *texts("compiler_opcode", "compiler_operands"),
            *ints("compiler_pc", "raw_bir_id", "raw_penguin_id"),
            *ints("raw_hlo_id"),
            as_is("raw_framework_id", "raw_framework_id", "raw"),
            as_is("trigger", "trigger", "raw"),
            *texts("bir_id", "bir_instruction_name", "penguin_id", "hlo_name", "hlo_attrs"),
            *texts("layer", "fully_qualified_subgraph"),
            *texts(
                tensor_instruction_type="instruction_type", scalar_activation_fn="activation_fn"
            ),
            *ints(tensor_elements="elements"),
            Column(name="raw_flops", fields={"elements": "int", **_TEXT_FIELDS}, build=_raw_flops),
            Column(
                name="adjusted_flops",
                fields={"elements": "int", **_TEXT_FIELDS},
                build=_adjusted_flops,
            ),
            *ints("hbm_read_bytes", "hbm_write_bytes", "sbuf_read_bytes", "sbuf_write_bytes"),
            *ints("psum_read_bytes", "psum_write_bytes", "psum_read_sbuf_write_bytes"),
            *ints("spill_save_bytes", "spill_reload_bytes", "weight_queue_bytes"),
            *ints("input_queue_bytes", "output_queue_bytes"),
            *texts("nki_source_location", "bir_debug_info_source_location"),
            *(_fact(name) for name in FACTS if name != "flop_per_mac"),
        ),
    ),
    "dma": EventTable(
        section="dma",
        keep=("aggregated", "yes", False),
        columns=(*_DMA_SHARED, *ints("packet_idx", "packet_aggregation_id")),
    ),
    "transfers": EventTable(
        section="dma",
        keep=("aggregated", "yes", True),
        columns=(
            *_DMA_SHARED,
            *ints("block_id", "trigger"),
            *ints(
                read_num_sbuf_partitions="source_num_sb_partitions",
                write_num_sbuf_partitions="dest_num_sb_partitions",
            ),
            *texts(
                read_sbuf_partitions="source_sb_partitions",
                write_sbuf_partitions="dest_sb_partitions",
                read_offset="source_offset",
                write_offset="dest_offset",
                read_steps="source_steps",
                write_steps="dest_steps",
            ),
            as_is("read_shape", "read_shape", "raw"),
            as_is("write_shape", "write_shape", "raw"),
        ),
    ),
    "semaphores": EventTable(
        section="semaphore_update",
        columns=(
            *ints("timestamp", "value"),
            *texts("update_operation_type"),
            Column(name="id", fields={"id": "str"}, build=mapped("id", _semaphore_number)),
            Column(name="name", fields={"id": "str"}, build=mapped("id", _semaphore_name)),
            Column(
                name="update_source",
                fields={"update_source": "str"},
                build=mapped("update_source", lambda text: known_updater(text) if text else None),
            ),
            core_number("subgraph"),
        ),
    ),
    "active": EventTable(
        section="active_time",
        columns=(
            Column(name="engine", fields={"engine": "str"}, build=mapped("engine", known_engine)),
            *ints("pcore_idx", "start_ts", "end_ts", "duration_ns"),
        ),
    ),
    "throttle": EventTable(
        section="ham",
        columns=(
            *ints("timestamp", "duration", "k", "n"),
            Column(
                name="type",
                fields={"type": "str"},
                build=mapped("type", lambda code: _THROTTLE.get(code, f"code_{code}")),
            ),
            core_number("subgraph"),
        ),
    ),
    "tensors": EventTable(
        section="neff_node",
        keep=("variable_name", "", False),
        columns=(
            *texts("variable_name", "type", "format", "shape"),
            *int_texts(size="size"),
            *ints("load_to_sbuf_avg_size_bytes", "load_to_sbuf_total_size_bytes"),
            *ints("load_to_sbuf_dma_count"),
            as_is("load_to_sbuf_repeat_factor", "load_to_sbuf_repeat_factor", "float"),
            core_number("sg_name"),
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
