"""The vendor's Parquet schema 7.4.0: which tables become ours, and which columns they hold.

Source: Neuron Explorer, profile schema reference of Neuron SDK 2.31.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

__all__ = ["ALIASES", "KNOWN_MAJOR", "TABLE_NAMES", "TIMES", "TableSchema", "vendor_schema"]

KNOWN_MAJOR: Final = 7
"""Major of the schema that the column lists below come from; later ones exist (12.x)."""

TABLE_NAMES: Final = {
    "instructions": "Instruction",
    "dma": "DmaPacket",
    "transfers": "DmaPacketAggregated",
    "semaphores": "SemaphoreUpdate",
    "active": "ActiveTime",
    "throttle": "Throttle",
    "tensors": "TensorInfo",
}
"""Our table -> the vendor's."""

_SPAN: Final = {"start_ts": ("timestamp",), "duration_ns": ("duration",)}
_DMA: Final = {
    **_SPAN,
    "transfer_bytes": ("transfer_size",),
    "read_bytes": ("read_size",),
    "write_bytes": ("write_size",),
    "throughput": ("transfer_rate",),
    "queue_idx": ("dma_queue",),
    "engine_idx": ("dma_engine",),
}
ALIASES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "instructions": {
        **_SPAN,
        "engine": ("subgroup", "label"),
        "evt_wait_time_ns": ("evt_wait_time",),
        "scalar_activation_fn": ("activation_fn",),
        "tensor_instruction_type": ("instruction_type",),
    },
    "dma": _DMA,
    "transfers": _DMA,
    "active": _SPAN,
    "semaphores": {"timestamp": ("start_ts",)},
    "throttle": {"timestamp": ("start_ts",), "duration": ("duration_ns",)},
}
"""Table -> column -> other names it had or may have, tried in order when the first is absent."""

TIMES: Final = frozenset(
    (
        *("start_ts", "end_ts", "duration_ns", "timestamp", "duration", "gap_time"),
        *("evt_wait_time_ns", "dma_wait_time_ns", "dma_trigger_start_ts", "dma_trigger_end_ts"),
        *("trigger", "completion"),
    )
)
"""Columns that hold nanoseconds unless the profile's own schema says another unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """The columns of one table: those the schema promises, and those a profile may lack."""

    required: tuple[str, ...]
    optional: tuple[str, ...]


@cache
def vendor_schema() -> Mapping[str, TableSchema]:
    """Return every table of the vendor's schema 7.4.0 by its name."""
    text = files("roofline.captures.explorer").joinpath("schema_7_4.toml").read_text("utf-8")
    return {
        name: TableSchema(required=tuple(table["required"]), optional=tuple(table["optional"]))
        for name, table in tomllib.loads(text).items()
        if isinstance(table, dict)
    }
