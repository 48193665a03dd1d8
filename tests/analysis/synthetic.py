"""Small captures made by code, in the columns that readers agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from roofline.analysis.timeline import kind_of_opcode
from roofline.captures.capture import Capture, Issue

Row = Mapping[str, Any]

_INTEGERS = (
    "start_ts", "end_ts", "duration_ns", "start_ps", "end_ps", "timestamp", "pcore_idx", "id",
    "value", "raw_flops", "adjusted_flops", "element_passes", "elements_per_partition",
    "partitions", "mode", "streamed_cycles", "transfer_bytes", "read_bytes", "write_bytes",
    "hbm_read_bytes", "hbm_write_bytes", "sbuf_read_bytes", "sbuf_write_bytes",
    "psum_read_bytes", "psum_write_bytes", "engine_idx", "queue_idx", "duration", "k", "n", "size",
    "evt_wait_time_ns",
)  # fmt: skip


def instruction(
    engine: str, opcode: str, start_us: float, end_us: float, operands: str = "", **more: Any
) -> dict[str, Any]:
    """One instruction; times in us."""
    start, end = round(start_us * 1000), round(end_us * 1000)
    return {
        "engine": engine,
        "opcode": opcode,
        "kind": kind_of_opcode(opcode),
        "start_ts": start,
        "end_ts": end,
        "duration_ns": end - start,
        "operands": operands,
        "pcore_idx": 0,
        **more,
    }


def packet(
    start_us: float, end_us: float, size: int, queue: str = "qSyncIO0", **more: Any
) -> dict[str, Any]:
    """One DMA packet; times in us, size in bytes."""
    start, end = round(start_us * 1000), round(end_us * 1000)
    return {
        "start_ts": start,
        "end_ts": end,
        "duration_ns": end - start,
        "transfer_bytes": size,
        "queue_type": "data",
        "queue_name": queue,
        "engine_idx": 0,
        "pcore_idx": 0,
        **more,
    }


def update(at_us: float, semaphore: int, value: int, source: str, **more: Any) -> dict[str, Any]:
    """One semaphore update."""
    return {
        "timestamp": round(at_us * 1000),
        "id": semaphore,
        "value": value,
        "update_source": source,
        "update_operation_type": "sem_inc",
        "pcore_idx": 0,
        **more,
    }


def capture(
    instructions: Sequence[Row] | None = None,
    dma: Sequence[Row] | None = None,
    *,
    semaphores: Sequence[Row] | None = None,
    throttle: Sequence[Row] | None = None,
    tensors: Sequence[Row] | None = None,
    summary: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    quality: Sequence[Issue] = (),
) -> Capture:
    """A capture that holds exactly the tables given."""
    tables = {
        name: to_table(rows)
        for name, rows in (
            ("instructions", instructions),
            ("dma", dma),
            ("semaphores", semaphores),
            ("throttle", throttle),
            ("tensors", tensors),
        )
        if rows is not None
    }
    return Capture(
        path=Path("synthetic"),
        format="synthetic",
        metadata={"hardware": "trn2", "lnc": 1, "cores": 1, **(metadata or {})},
        sources={
            name: lambda columns, table=table: table.select(columns) if columns else table
            for name, table in tables.items()
        },
        summary_source=lambda: dict(summary or {}),
        quality_source=lambda: tuple(quality),
    )


def to_table(rows: Sequence[Row]) -> pa.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if name in _INTEGERS:
            columns[name] = pa.array(values, pa.int64())
        elif any(isinstance(value, str) for value in values):
            columns[name] = pa.array(values, pa.string()).dictionary_encode()
        else:
            columns[name] = pa.array(values)
    return pa.table(columns)
