"""What a column of a measured table means: its quantity, its unit, and what is refused."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from roofline.errors import UnitError
from roofline.units import parse_quantity

__all__ = ["MeasuredColumn", "measured_column", "parse_cell"]

_WORDS: Final = {
    "name": ("name", "kernel", "case", "label"),
    "op": ("op", "operator"),
    "params": ("params", "parameters"),
    "shape": ("shape", "shapes"),
    "dtype": ("dtype", "data_type", "precision"),
    "hardware": ("hardware", "instance", "instance_type", "hw", "chip"),
    "implementation": ("implementation", "variant", "impl"),
    "clock": ("clock",),
    "profiled": ("profiled",),
    "lnc": ("lnc",),
    "cores": ("cores", "working_cores"),
    "calls": ("calls",),
    "repeats": ("repeats", "n", "samples"),
    "source": ("source", "source_repo_or_url", "source_path", "url"),
    "notes": ("notes", "note", "comment"),
}
_WORD_OF: Final = {word: concept for concept, words in _WORDS.items() for word in words}

_TIME: Final = re.compile(
    r"(?:(?P<what>time|latency|duration|mean|median|min|max|std)|"
    r"(?:(?:nc_|ncl?_|latency_|time_)?(?:p(?P<percentile>\d{1,2}(?:\.\d+)?|100))))"
    r"(?:_latency|_time)?"
)
_BYTES: Final = {
    "bytes": "stated",
    "size": "stated",
    "min_bytes": "minimal",
    "minimal_bytes": "minimal",
    "hbm_bytes": "measured",
    "hbm_read_bytes": "read",
    "hbm_write_bytes": "write",
}
_UNITS: Final = {
    **dict.fromkeys(("s", "ms", "us", "µs", "μs", "ns", "ps"), "s"),
    **{f"{prefix}B": "B" for prefix in ("", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")},
    **{f"{prefix}B/s": "B/s" for prefix in ("", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")},
    **{f"{prefix}FLOP": "FLOP" for prefix in ("", "k", "M", "G", "T", "P")},
    **{f"{prefix}FLOP/s": "FLOP/s" for prefix in ("", "k", "M", "G", "T", "P")},
    **{f"{prefix}MAC": "MAC" for prefix in ("", "k", "M", "G", "T", "P")},
}
"""Spelled-out unit -> its dimension."""

_SNAKE: Final = {
    "seconds": "s",
    "bytes": "B",
    **{f"{p.lower()}flop": f"{p}FLOP" for p in ("", "k", "M", "G", "T", "P")},
    **{
        f"{p.lower()}mac{plural}": f"{p}MAC"
        for p in ("", "k", "M", "G", "T")
        for plural in ("", "s")
    },
    **{f"{p.lower()}flop_per_s": f"{p}FLOP/s" for p in ("", "k", "M", "G", "T", "P")},
    **{f"{p}B_per_s": f"{p}B/s" for p in ("", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")},
}
"""Unit at the end of a column's name -> unit; the units themselves are understood there too."""

_RULES: Final = (
    (
        re.compile(r"(?i:[kmgt]?bps|[kmgt]?bits?(/s|_per_s)?)|[kmgtKMGT]i?b(/s|_per_s|ps)?"),
        "bits or bytes? allowed: B, kB, MB, GB, KiB, MiB, GiB, and these with /s",
    ),
    (
        re.compile(r"(?i:[kmgtp]?flops)"),
        "a count or a rate? allowed: FLOP for a count, FLOP/s for a rate (GFLOP, TFLOP/s ...)",
    ),
    (
        re.compile(r"(?i:[kmgtp]?(ops?|operations)(/s|_per_s)?)"),
        "multiply-adds as one or as two? allowed: FLOP (a multiply-add is 2) or MAC (it is 1)",
    ),
)
_SHARE: Final = re.compile(r"(?i:.*(util|utili[sz]ation|mfu|mbu|hfu|percent|share|efficiency))")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredColumn:
    """One column: ``concept`` it holds, ``dimension`` of its cells, ``unit`` of bare numbers.

    ``dimension`` is ``text``, ``s``, ``B``, ``FLOP``, ``B/s``, ``FLOP/s`` or ``fraction``; ``unit``
    is empty where every cell has to carry its own.
    """

    header: str
    concept: str
    dimension: str = "text"
    unit: str = ""


def measured_column(header: str) -> MeasuredColumn:
    """Return what a column is by its header: ``time_us``, ``time [us]``, ``flops``, ``mfu_pct``.

    Raises ``UnitError`` for a header whose unit can be read in two ways.
    """
    text = header.strip().lstrip("\ufeff")
    bracket = re.fullmatch(r"(.*?)\s*[\[(]\s*([^\])]*?)\s*[\])]", text)
    name, unit = (bracket[1], bracket[2]) if bracket else _split_unit(text)
    name = re.sub(r"[\s\-]+", "_", name.strip()).lower()
    if name in _WORD_OF and not unit:
        return MeasuredColumn(header=text, concept=_WORD_OF[name])
    if unit in ("%", "pct"):
        return MeasuredColumn(header=text, concept=f"share:{name}", dimension="fraction", unit="%")
    if unit in ("fraction", "ratio"):
        return MeasuredColumn(header=text, concept=f"share:{name}", dimension="fraction", unit="1")
    _refuse(unit, f"column {text!r}: unit {unit!r}")
    dimension = _UNITS.get(unit, "")
    if time := _TIME.fullmatch(name):
        if dimension not in ("", "s"):
            raise UnitError(f"column {text!r}: {unit} is not a unit of time")
        which = f"p{time['percentile']}" if time["percentile"] else time["what"]
        return MeasuredColumn(header=text, concept=f"time:{which}", dimension="s", unit=unit)
    if name in _BYTES or (dimension == "B" and f"{name}_bytes" in _BYTES):
        kind = _BYTES.get(name) or _BYTES[f"{name}_bytes"]
        named = name.endswith("bytes") and not unit
        return MeasuredColumn(
            header=text, concept=f"bytes:{kind}", dimension="B", unit="B" if named else unit
        )
    if re.fullmatch(r"(\w+_)?flops?(_by_\w+)?", name) and dimension in ("", "FLOP"):
        return MeasuredColumn(header=text, concept="flops", dimension="FLOP", unit=unit or "FLOP")
    if dimension == "FLOP":
        return MeasuredColumn(header=text, concept="flops", dimension="FLOP", unit=unit)
    if re.fullmatch(r"(\w+_)?macs?", name) or dimension == "MAC":
        return MeasuredColumn(header=text, concept="flops", dimension="FLOP", unit=unit or "MAC")
    if not dimension:
        _refuse(name.rsplit("_", 1)[-1], f"column {text!r}")
        share = "" if not _SHARE.match(name) else "fraction"
        return MeasuredColumn(
            header=text,
            concept=f"share:{name}" if share else f"extra:{text}",
            dimension=share or "text",
        )
    return MeasuredColumn(header=text, concept=f"extra:{text}", dimension=dimension, unit=unit)


def _split_unit(text: str) -> tuple[str, str]:
    """Split ``time_us`` into its name and its unit; names that are whole words stay whole."""
    if text.lower() in _WORD_OF or text.lower() in _BYTES:
        return text, ""
    whole = _SNAKE.get(text.lower(), text)
    if len(text) > 2 and whole in _UNITS:
        return "", whole
    for words in (3, 1):
        parts = text.rsplit("_", words)
        if len(parts) == words + 1 and parts[0]:
            tail = "_".join(parts[1:])
            unit = _SNAKE.get(tail, tail)
            known = unit in _UNITS or unit in ("pct", "fraction", "ratio")
            if known or (any(rule.fullmatch(tail) for rule, _ in _RULES[:2]) and tail != "flops"):
                return parts[0], unit
    return text, ""


def _refuse(unit: str, what: str) -> None:
    """Raise ``UnitError`` for a unit with two readings; a plain ``flops`` header is a count."""
    if unit.lower() in ("flop", "flops") and what.startswith("column") and "unit" not in what:
        return
    for rule, allowed in _RULES:
        if unit not in _UNITS and rule.fullmatch(unit):
            raise UnitError(f"{what}: {allowed}")


_ABSENT: Final = frozenset({"", "-", "n/a", "na", "nan", "none", "null", "unknown", "absent"})
_CELL: Final = re.compile(r"([-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*)")


def parse_cell(text: str, column: MeasuredColumn) -> float | None:
    """Return the cell in SI base units (s, B, FLOP, B/s, FLOP/s) or as a fraction.

    An empty cell, ``n/a`` and NaN are ``None``. Raises ``UnitError`` for a number without a unit
    where the header has none, and for a unit that is wrong or has two readings.
    """
    text = text.strip()
    if text.lower() in _ABSENT:
        return None
    match = _CELL.fullmatch(text)
    if match is None:
        raise UnitError(f"column {column.header!r}: not a number: {text[:40]!r}")
    number, unit = match[1], match[2] or column.unit
    what = f"column {column.header!r}: {text[:40]!r}"
    if column.dimension == "fraction":
        return _fraction(float(number.replace("_", "")), unit, what)
    if not unit:
        raise UnitError(
            f"{what} has no unit: write it in the cell or the header "
            f"({column.header}_{'us' if column.dimension == 's' else column.dimension})"
        )
    if match[2]:
        _refuse(unit, f"{what}: unit {unit!r}")
    factor = 1.0
    if unit.endswith("MAC") and column.dimension == "FLOP":
        unit, factor = f"{unit.removesuffix('MAC')}FLOP", 2.0
    try:
        value = parse_quantity(f"{number} {unit}", column.dimension) * factor
    except UnitError as error:
        raise UnitError(f"column {column.header!r}: {error}") from error
    if value < 0:
        raise UnitError(f"{what} is negative")
    return value


def _fraction(value: float, unit: str, what: str) -> float:
    if unit not in ("%", "1"):
        raise UnitError(
            f"{what}: per cent or fraction? allowed: a column named ..._pct or ..._fraction, or "
            "cells with %"
        )
    if not math.isfinite(value):
        raise UnitError(f"{what} is not finite")
    return value / 100 if unit == "%" else value
