"""Write a capture as the vendor's Explorer would: one Parquet file a table, with its names.

Scripts for pandas, polars or duckdb that read an Explorer profile read the result. What a capture
does not know is null, or its table is not written; no value is made up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline import __version__, intervals
from roofline.captures.capture import Capture
from roofline.captures.explorer.schema import TABLE_NAMES, vendor_schema
from roofline.captures.export.metadata_row import metadata_row
from roofline.captures.export.neff_row import neff_row
from roofline.engines import ENGINES, VENDOR_NAMES
from roofline.wholefile import replace_folder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["write_explorer"]

_ROW_GROUP: Final = 1 << 20

_WARNINGS: Final = {
    "missing": "Missing Data",
    "lost": "Lost Data",
    "contradiction": "Inconsistent Data",
    "estimated": "Estimated Data",
    "repaired": "Repaired Data",
}
"""Category of a warning by the severity of an issue; ``info`` is no warning."""

_SOURCES: Final = {**VENDOR_NAMES, "dma": "AXI"}
_TEXTS: Final = frozenset(
    {"bir_id", "operands", "variable", "engine", "opcode", "type", "queue_type", "queue_name"}
)
_INT32: Final = frozenset({"k", "n", "value", "packet_idx", "ntff_version"})


def write_explorer(capture: Capture, folder: Path) -> dict[str, int]:
    """Write every table that the capture has into ``folder``; return their numbers of rows.

    All tables are there in the end or none; other files of ``folder`` are left alone. A capture
    read by the vendor's rules holds the vendor's columns only, others also ours.
    """
    with replace_folder(folder) as scratch:
        return _fill(capture, scratch)


def _fill(capture: Capture, folder: Path) -> dict[str, int]:
    makers: dict[str, Callable[[], pa.Table]] = {
        vendor: partial(_event_table, capture, ours, vendor)
        for ours, vendor in TABLE_NAMES.items()
        if capture.has(ours)
    }
    makers["Summary"] = lambda: _one_row(capture.summary)
    makers["Metadata"] = lambda: _one_row(metadata_row(capture, __version__))
    makers["NeffHeader"] = lambda: _one_row(neff_row(capture))
    if capture.has("instructions"):
        makers["OpcodeSummary"] = lambda: _opcode_summary(capture)
    makers["Warning"] = lambda: _warnings(capture)
    written: dict[str, int] = {}
    fields: list[dict[str, Any]] = []
    for name, make in makers.items():
        table = make()
        if table.num_columns:
            _write(table, folder / f"{name}.parquet")
            written[name] = table.num_rows
            fields.extend(_describe(name, table))
    schema = _schema_fields(fields)
    _write(schema, folder / "SchemaFields.parquet")
    written["SchemaFields"] = schema.num_rows
    return written


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path, compression="zstd", row_group_size=_ROW_GROUP)


def _event_table(capture: Capture, ours: str, vendor: str) -> pa.Table:
    import pyarrow as pa

    table = capture.table(ours)
    schema = vendor_schema()[vendor]
    if (
        vendor == "DmaPacket"
        and "throughput" not in table.column_names
        and {"duration_ns", "transfer_bytes"} <= set(table.column_names)
    ):
        table = table.append_column("throughput", _throughput(table))
    ordered = [
        *(name for name in (*schema.required, *schema.optional) if name in table.column_names),
        *(
            name
            for name in table.column_names
            if capture.compat != "vendor" and name not in {*schema.required, *schema.optional}
        ),
        *(name for name in schema.required if name not in table.column_names),
    ]
    columns, fields = [], []
    for name in ordered:
        if name in table.column_names:
            column, field = table[name], table.schema.field(name)
        else:  # promised by the schema, not known here
            kind = pa.string() if name in _TEXTS else pa.int64()
            column = pa.chunked_array([pa.nulls(table.num_rows, kind)])
            field = pa.field(name, kind)
        column = _vendor_values(vendor, name, column)
        columns.append(column)
        fields.append(pa.field(name, column.type, metadata=field.metadata))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _vendor_values(table: str, name: str, column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    spelling: Mapping[str, str] = {}
    if name == "engine" and table != "ActiveTime":  # that table has them in lower case
        spelling = VENDOR_NAMES
    elif name == "update_source":
        spelling = _SOURCES
    if spelling:
        place = pc.index_in(column, value_set=pa.array(list(spelling)))
        known = pa.array(list(spelling.values())).take(place.combine_chunks())
        column = pc.coalesce(known, column.combine_chunks())
    elif pa.types.is_integer(column.type):
        column = column.cast(pa.int32() if name in _INT32 else pa.int64())
    return column


def _throughput(table: pa.Table) -> Any:
    """Return bytes/s of each packet, null where it took no whole ns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    duration = table["duration_ns"].cast(pa.float64())
    took = pc.if_else(pc.greater(duration, 0), duration, pa.scalar(None, pa.float64()))
    return pc.multiply(pc.divide(table["transfer_bytes"].cast(pa.float64()), took), 1e9)


def _one_row(values: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    known = {
        name: value
        for name, value in values.items()
        if isinstance(value, str | int | float | bool) and value is not None
    }
    return pa.table({name: [value] for name, value in known.items()})


def _opcode_summary(capture: Capture) -> pa.Table:
    """Return count, summed and merged time and share for each engine and opcode."""
    import pyarrow as pa

    rows = capture.table("instructions", ["engine", "opcode", "pcore_idx", "start_ts", "end_ts"])
    names, codes = [], []
    for column in ("engine", "opcode"):
        encoded = rows[column].combine_chunks()
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        values = [*encoded.dictionary.to_pylist(), None]
        indices = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
        names.append(values)
        codes.append(indices.astype(np.int64))
    key = codes[0] * len(names[1]) + codes[1]
    start, end = (rows[name].to_numpy() for name in ("start_ts", "end_ts"))
    duration = capture.table("instructions", ["duration_ns"])["duration_ns"].to_numpy()
    unique, group = np.unique(key, return_inverse=True)
    count = np.bincount(group, minlength=len(unique))
    spent = np.zeros(len(unique), dtype=np.int64)
    np.add.at(spent, group, duration)
    active = intervals.grouped_totals(group, start, np.maximum(start, end), len(unique))
    total = capture.summary.get("total_time")
    share = active / (float(total) * 1e9) if total else np.full(len(unique), np.nan)
    engine = [names[0][int(k) // len(names[1])] for k in unique]
    order = sorted(range(len(unique)), key=lambda i: (_rank(engine[i]), -int(spent[i])))
    table = pa.table(
        {
            "engine": [VENDOR_NAMES.get(engine[i] or "", engine[i]) for i in order],
            "opcode": [names[1][int(unique[i]) % len(names[1])] for i in order],
            "instruction_count": count[order],
            "instruction_time_ns": spent[order],
            "active_time_ns": active[order],
            "active_time_percent": pa.array(share[order], from_pandas=True),
        }
    )
    return table.cast(_with_units(table.schema, {"ns": ("instruction_time_ns", "active_time_ns")}))


def _rank(engine: str | None) -> int:
    return ENGINES.index(engine) if engine in ENGINES else len(ENGINES)


def _with_units(schema: pa.Schema, units: Mapping[str, tuple[str, ...]]) -> pa.Schema:
    import pyarrow as pa

    unit_of = {name: unit for unit, names in units.items() for name in names}
    return pa.schema(
        field.with_metadata({"units": unit_of[field.name]}) if field.name in unit_of else field
        for field in schema
    )


def _warnings(capture: Capture) -> pa.Table:
    import pyarrow as pa

    issues = [issue for issue in capture.quality if issue.severity in _WARNINGS]
    return pa.table(
        {
            "message": pa.array(
                [
                    issue.what if issue.count is None else f"{issue.count} {issue.what}"
                    for issue in issues
                ],
                pa.string(),
            ),
            "category": pa.array([_WARNINGS[issue.severity] for issue in issues], pa.string()),
        }
    )


_UNITS: Final = {"ns": "nanoseconds", "ps": "picoseconds", "B": "bytes", "FLOP": "flops", "1": ""}


def _describe(table: str, held: pa.Table) -> list[dict[str, Any]]:
    import pyarrow as pa

    schema = vendor_schema().get(table)
    required = set(schema.required) if schema else set()
    rows = []
    for field in held.schema:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        unit = metadata.get("units", "ns" if field.name.endswith(("_ts", "_ns")) else "")
        kind, form = "string", None
        if pa.types.is_integer(field.type):
            kind, form = "integer", str(field.type)
        elif pa.types.is_floating(field.type):
            kind, form = "number", "float"
        elif pa.types.is_boolean(field.type):
            kind = "boolean"
        rows.append(
            {
                "table_name": table,
                "table_description": _DESCRIPTIONS[table],
                "field_name": field.name,
                "field_description": metadata.get("long_name", field.name.replace("_", " ")),
                "field_type": kind,
                "field_required": field.name in required,
                "field_format": form,
                "field_unit": _UNITS.get(unit, unit) or None,
            }
        )
    return rows


def _schema_fields(rows: list[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(
        rows,
        schema=pa.schema(
            [
                pa.field(name, pa.bool_() if name == "field_required" else pa.string())
                for name in (
                    *("table_name", "table_description", "field_name", "field_description"),
                    *("field_type", "field_required", "field_format", "field_unit"),
                )
            ]
        ),
    )


_DESCRIPTIONS: Final = {
    "Instruction": "executed instructions, one row each",
    "DmaPacket": "DMA packets, one row each",
    "DmaPacketAggregated": "DMA transfers, one row each",
    "SemaphoreUpdate": "updates of semaphores",
    "ActiveTime": "merged busy spans of each engine and core",
    "Throttle": "limits of the Tensor engine over time",
    "TensorInfo": "tensors of the program",
    "Summary": "one row of summary metrics",
    "Metadata": "one row of versions, instance and hardware constants",
    "NeffHeader": "one row of the program's header",
    "OpcodeSummary": "counts and times of each engine and opcode",
    "Warning": "what is missing, lost, repaired or estimated",
}
