"""Summary records: which values mean *not available*, and what old versions called a field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["SUMMARY_ALIASES", "clean_summary"]

SUMMARY_ALIASES: Final = {
    "sb_read_bytes": "sbuf_read_bytes",
    "sb_write_bytes": "sbuf_write_bytes",
    "dma_total_bytes": "dma_transfer_total_bytes",
    "latency": "total_time",
}
"""Old spelling of a field -> the name it has in the Parquet schema 7.4."""

_ABSENT_WORDS: Final = frozenset({"", "n/a", "na", "nan", "null", "none", "-", "inf", "-inf"})


def clean_summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a summary that have a value, under their present names, sorted.

    NaN, infinities, ``null``, ``n/a`` and -1 are ways of saying *not available*: such a field is
    left out, because absent is not zero. No field of a summary can be negative.
    """
    found: dict[str, Any] = {}
    for name, value in record.items():
        key = SUMMARY_ALIASES.get(name, name)
        if key != name and key in record:
            continue
        number = _number(value)
        if number is not None and (number < 0 or not math.isfinite(number)):
            continue
        if value is None or (isinstance(value, str) and value.strip().lower() in _ABSENT_WORDS):
            continue
        found[key] = value
    return dict(sorted(found.items()))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
