"""Find summary records in what the vendor's tool printed, whatever is printed around them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from roofline.errors import CaptureError

__all__ = ["Record", "parse_summary_json", "parse_summary_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record: the program's key (empty where none is printed), its fields, and remarks."""

    key: str
    fields: dict[str, Any]
    repaired: tuple[str, ...] = field(default=())


_START: Final = re.compile(r'[{\[]\s*(?:["{])')
_STARTS_TRIED: Final = 10_000


def parse_summary_json(path: Path, text: str) -> list[Record]:
    """Return every record of the JSON objects in ``text``, skipping log lines between them.

    A record is an object with ``total_time``, alone, in a list, or as the value of a program's
    key. Raises ``CaptureError`` when there is none, with the JSON fault if that is the reason.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_without_contradiction)
    records: list[Record] = []
    fault: tuple[str, int] | None = None
    position = 0
    for _ in range(_STARTS_TRIED):
        start = _START.search(text, position)
        if start is None:
            break
        try:
            value, position = decoder.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            if fault is None and "total_time" in text[start.start() :]:
                fault = (error.msg, len(text[: error.pos].encode()))
            position = start.start() + 1
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"{path}: summary JSON: {error}") from error
        else:
            records += _records(value, "")
    if not records:
        if fault is not None:
            raise CaptureError(
                f"{path}: the summary JSON is truncated or malformed: {fault[0]}", offset=fault[1]
            )
        raise CaptureError(f"{path}: no summary record (an object with 'total_time') in this file")
    return records


def _records(value: Any, key: str) -> Iterator[Record]:
    if isinstance(value, list):
        for item in value:
            yield from _records(item, key)
    elif isinstance(value, dict):
        if "total_time" in value or "latency" in value or key.startswith("s_"):
            yield Record(key=key, fields=value)
        else:
            for name, item in value.items():
                if isinstance(item, dict | list):
                    yield from _records(item, name)


def _without_contradiction(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        for name, value in pairs:
            if found[name] != value and value == value:  # NaN differs from itself
                raise ValueError(f"field {name!r} is there twice with different values")
    return found


_PROGRAM: Final = re.compile(r"\s*([ns]_[0-9a-f]{8,64})\s*:?\s*")
_LINE: Final = re.compile(r"\s*([a-z][a-z0-9]*(?:_[a-z0-9]+)+|latency)(?:\s*[:=]\s*|\s+)(\S.*?)\s*")
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS: Final = ("_version", "instance_type", "ultraserver_type", "s3_bucket_path")
_UNITS: Final = {
    "%": 0.01,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "b": 1.0,
    "bytes": 1.0,
    "flops": 1.0,
    "flop": 1.0,
    "cycles": 1.0,
}


def parse_summary_text(path: Path, text: str) -> list[Record]:
    """Return every record of a ``name value`` or ``name value unit`` listing.

    Lines of another form (prompts, log lines, headings) are skipped. A percent sign in the unit
    column means percent; without one the value is a fraction. Raises ``CaptureError`` when no
    record is found.
    """
    records: list[Record] = []
    key, fields, remarks = "", dict[str, Any](), list[str]()

    def close() -> None:
        if fields:
            records.append(Record(key=key, fields=dict(fields), repaired=tuple(remarks)))

    for line in text.splitlines():
        program = _PROGRAM.fullmatch(line)
        if program is not None:
            close()
            key, fields, remarks = program[1], {}, []
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        name, written = match.groups()
        value, remark = _value(name, written)
        if remark:
            remarks.append(remark)
        if name in fields and fields[name] != value:
            raise CaptureError(f"{path}: field {name!r} is there twice with different values")
        fields[name] = value
    close()
    if not any("total_time" in record.fields or "latency" in record.fields for record in records):
        raise CaptureError(
            f"{path}: no summary record (a line 'total_time <seconds>') in this file"
        )
    return records


def _value(name: str, written: str) -> tuple[Any, str]:
    """Return the value of one line in base units (``None``: not available), and a remark."""
    if name.endswith(_WORDS):
        return written, ""
    number = _NUMBER.match(written)
    if number is None:
        return None, ""
    rest = written[number.end() :]
    value: float = float(number[0]) if re.search(r"[.eE]", number[0]) else int(number[0])
    unit = rest.strip().lower()
    if not unit:
        return value, ""
    if name.endswith("_ns") and unit == "ns":
        return value, ""
    scale = _UNITS.get(unit)
    if scale is not None:
        return (value if scale == 1.0 else value * scale), ""
    if rest[0] in "([ \t<$#%>":  # a prompt printed right after a listing without a last newline
        return value, f"{name}: cut {rest.strip()[:40]!r} after {number[0]}"
    return None, f"{name}: {written[:40]!r} is not a number, left out"
