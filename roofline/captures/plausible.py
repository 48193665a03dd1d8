"""Hold the numbers of a decoded table against what a device can do, before any are added up.

A damaged or hostile file can say anything; beyond these bounds 64-bit sums wrap around, and an
answer would be wrong without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roofline.captures.explorer.schema import TIMES
from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LONGEST_NS", "MOST_CORES", "check_numbers"]

LONGEST_NS: Final = 2**62 // 1000
"""Longest span in ns (53 days): twice as much in ps no longer fits 64 bits."""

MOST_CORES: Final = 1024

_LARGEST: Final = 2**62
_NEEDED: Final = frozenset({"start_ts", "end_ts", "duration_ns", "transfer_bytes"})
_PICOSECONDS: Final = frozenset({"start_ps", "end_ps", "timestamp_ps"})
_AMOUNTS: Final = ("_bytes", "_flops", "_ops", "_elements", "_passes", "_per_partition", "_columns")
_CHECKED: Final = frozenset(
    ("instructions", "dma", "transfers", "semaphores", "active", "throttle")
)


def check_numbers(where: str, name: str, table: pa.Table) -> None:
    """Raise ``CaptureError`` for a number in event table ``name`` that no run can have reached.

    Times lie within ``LONGEST_NS`` of each other, amounts are not negative and their sum fits 64
    bits, physical cores are numbered from 0, and no row lacks its time or size.
    """
    import pyarrow as pa

    if name not in _CHECKED or not table.num_rows:
        return
    for column, values in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_integer(values.type):
            continue
        fault = _fault(column, values)
        if fault:
            raise CaptureError(f"{where}: column {column!r}: {fault}", section=name)


def _fault(column: str, values: pa.ChunkedArray) -> str:
    import pyarrow.compute as pc

    if column in _NEEDED and values.null_count:
        return f"{values.null_count} of {len(values)} rows have no value"
    amount = column.endswith(_AMOUNTS)
    time = column in TIMES or column in _PICOSECONDS
    if not (amount or time or column == "pcore_idx"):
        return ""
    extremes = pc.min_max(values)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    if low is None:
        return ""
    if column == "pcore_idx":
        outside = low if low < 0 else high if high >= MOST_CORES else None
        return "" if outside is None else f"{outside} is no physical core of a logical core"
    if time:
        longest = LONGEST_NS * (1000 if column in _PICOSECONDS else 1)
        if high - low > longest:
            return f"from {low} to {high} is longer than any run (at most {LONGEST_NS} ns)"
        return ""
    if low < 0:
        return f"{low} is negative"
    if (
        high > _LARGEST // len(values)
        and pc.sum(values.cast("float64", safe=False)).as_py() > _LARGEST
    ):
        return f"its sum, with values up to {high}, is more than 64 bits hold"
    return ""
