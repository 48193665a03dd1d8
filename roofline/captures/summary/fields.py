"""Summary records: which values mean *not available*, and what old versions called a field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from roofline.hardware.load import load_hardware

__all__ = ["SUMMARY_ALIASES", "clean_summary"]

SUMMARY_ALIASES: Final = {
    "sb_read_bytes": "sbuf_read_bytes",
    "sb_write_bytes": "sbuf_write_bytes",
    "dma_total_bytes": "dma_transfer_total_bytes",
    "latency": "total_time",
}
"""Old spelling of a field -> the name it has in the Parquet schema 7.4."""

_NUMERIC: Final = (
    *("_time", "_time_ns", "_percent", "_bytes", "_count", "_size"),
    *("_flops", "_ratio", "_cycles", "_intensity", "_idx", "_elements"),
)
_COUNTER: Final = 2.0**63
_LONGEST_S: Final = 2.0**63 / 1e9
"""What 64 bits of ns hold; a longer time is none."""

_ABSENT_WORDS: Final = frozenset({"", "n/a", "na", "nan", "null", "none", "-", "inf", "-inf"})


def clean_summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a summary that have a value, under their present names, sorted.

    NaN, infinities, ``null``, ``n/a`` and -1 are ways of saying *not available*: such a field is
    left out, because absent is not zero. No field of a summary can be negative, and no time longer
    than a counter of ns reaches. Numbers written
    as text become numbers; a field of times, counts or bytes that holds anything else is left out.
    """
    found: dict[str, Any] = {}
    for name, value in record.items():
        key = SUMMARY_ALIASES.get(name, name)
        if (key != name and key in record) or _is_absent(value):
            continue
        number = _number(value)
        if number is None and isinstance(value, str) and not name.endswith("_version"):
            try:
                value = number = float(value)
            except ValueError:
                number = None
        if number is None and key.endswith(_NUMERIC):
            continue
        if key.endswith("_time") and (number or 0) > _LONGEST_S:
            continue
        if number is None or (number >= 0 and math.isfinite(number)):
            # a whole number that no counter of 64 bits can reach is kept as the float it is near
            found[key] = number if number is not None and number >= _COUNTER else value
    return dict(sorted(found.items()))


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in _ABSENT_WORDS)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def fraction_scale(summary: Mapping[str, Any]) -> tuple[float, str]:
    """Return what ``*_percent`` fields must be multiplied with to be fractions, and the evidence.

    The vendor's files hold fractions; values copied from its user interface are percentages. The
    busy times beside them decide: ``x_active_time_percent`` is ``x_active_time / total_time``.
    Where no time is given, a share of time above 1 cannot be a fraction.
    """
    total = _number(summary.get("total_time")) or 0.0
    ratios, above = [], ""
    for name, value in summary.items():
        share = _number(value)
        if not name.endswith("_engine_active_time_percent") or not share:
            continue
        busy = _number(summary.get(name.removesuffix("_percent")))
        if busy and total:
            ratios.append(share / (busy / total))
        elif share > 1:
            above = above or f"{name} = {share:g}"
    if ratios:
        # of the two possible scales 1 and 100, the nearer on a logarithmic scale
        percent = sum(ratio > 10 for ratio in ratios) * 2 > len(ratios)
        return (0.01, "percent fields are 100 times time over total_time") if percent else (1.0, "")
    return (0.01, f"{above} cannot be a fraction of time") if above else (1.0, "")


def logical_cores(summary: Mapping[str, Any], hardware: str | None) -> tuple[int | None, str]:
    """Return the physical cores per logical core that a summary tells of, and why.

    ``peak_flops_bandwidth_ratio`` uses one core's peak, ``hfu_estimated_percent`` the peak of all:
    F / (hfu * total_time) over ratio * H / (mbu * total_time) is the number of cores. Without
    FLOPs the core number remains: for two cores it is the sum of an even number and the next
    one, so that only 1, 5, 9 and 13 can mean two (a device numbers its cores 0 to 7). ``None``
    where nothing tells.
    """
    if hardware is not None and load_hardware(hardware).lnc_choices == (1,):
        return 1, f"{hardware} has no grouping of cores"
    flops, hfu = (_number(summary.get(n)) for n in ("hardware_flops", "hfu_estimated_percent"))
    ratio, mbu = (
        _number(summary.get(n)) for n in ("peak_flops_bandwidth_ratio", "mbu_estimated_percent")
    )
    moved = sum(_number(summary.get(f"hbm_{way}_bytes")) or 0.0 for way in ("read", "write"))
    if flops and hfu and ratio and mbu and moved:
        cores = (flops / hfu) / (ratio * moved / mbu)
        if abs(cores - round(cores)) < 0.02 and round(cores) in (1, 2):
            return round(cores), f"HFU and MBU imply {cores:.3f} cores"
    if any("_nc1_" in name for name in summary):
        return 2, "it has throttling fields of a second core"
    index = summary.get("nc_idx")
    if not isinstance(index, int):
        return None, ""
    if index % 4 != 1:
        return 1, f"nc_idx {index} is not the sum of a pair of cores"
    pair = f"nc_idx {index} is the sum of cores {index // 2} and {index // 2 + 1}"
    return 2, pair if index > 7 else f"{pair} (or core {index} alone with LNC=1)"
