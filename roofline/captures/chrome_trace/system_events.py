"""Neuron system profiles as JSON, in the form of trace events.

Two forms are documented: what the runtime's C API gives, where start and stop are rows of their
own joined by ``tracking_id``, and what the older command line writes (``trace_event``), one row
each. Times are Unix nanoseconds. No sample of either is public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from roofline.captures.chrome_trace.fields import Document
from roofline.captures.chrome_trace.stream import decode_array, read_whole
from roofline.errors import CaptureError

__all__ = ["LISTS", "decode_system"]

T = TypeVar("T")

LISTS: Final = ("trace_event", "trace_events", "events")
"""Keys under which the rows stand."""

_FRAMEWORK: Final = 99999
_COPIED: Final = (
    "nrta_seq_id", "nrt_sequence_id", "exec_id", "device_core_idx", "nc_idx", "model_id",
    "model_name", "size", "bytes",
)  # fmt: skip


def decode_system(
    path: Path, event: type[msgspec.Struct], extract: Callable[[list[Any]], T]
) -> tuple[Document, list[T]]:
    """Decode a system profile as ``stream.decode_events`` does a trace.

    Raises ``CaptureError`` for content that is no complete system profile.
    """
    try:
        data = msgspec.json.decode(read_whole(path))
    except (msgspec.DecodeError, RecursionError) as error:
        raise CaptureError(f"{path}: not a complete system profile: {error}") from error
    key = next((k for k in LISTS if isinstance(data, dict) and isinstance(data.get(k), list)), None)
    if key is None:
        raise CaptureError(f"{path}: JSON without {' or '.join(LISTS)}: not a system profile")
    rows = [row for row in data[key] if isinstance(row, dict)]
    plain = [row for row in rows if "phase" not in row]
    events = [*map(_whole, plain), *_paired([row for row in rows if "phase" in row])]
    return Document(baseTimeNanoseconds=0), [extract(decode_array(events, event))]


def _paired(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Join starts and stops; one that stays alone has no duration."""
    open_: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in rows:
        key = (row.get("tracking_id"), row.get("event_type"))
        if row.get("phase") == "start":
            if key in open_:
                yield _event(open_[key], open_[key].get("timestamp_ns"), None)
            open_[key] = row
            continue
        start = open_.pop(key, None)
        begin, end = (start or row).get("timestamp_ns"), row.get("timestamp_ns")
        duration = None
        if start is not None and isinstance(begin, int) and isinstance(end, int):
            duration = end - begin
        yield _event({**row, **(start or {})}, begin, duration)
    for row in open_.values():
        yield _event(row, row.get("timestamp_ns"), None)


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    return _event(row, row.get("timestamp", row.get("start_ts")), row.get("duration"))


def _event(row: dict[str, Any], start: Any, duration: Any) -> dict[str, Any]:
    """Return one row as a trace event; times as decimal microseconds, digit by digit."""
    inner = row.get("data")
    facts = {**row, **inner} if isinstance(inner, dict) else row
    args = {name: facts[name] for name in _COPIED if facts.get(name) is not None}
    if "model_name" not in args and isinstance(facts.get("model"), str):
        args["model_name"] = facts["model"]
    group = str(row.get("group") or "")
    framework = row.get("type") == _FRAMEWORK or group.startswith("framework")
    found = {
        "ph": "X",
        "cat": "framework" if framework else "neuron_runtime",
        "name": str(row.get("event_type") or row.get("name") or ""),
        "pid": row.get("process_id", row.get("instance_id")),
        "tid": row.get("thread_id", row.get("group")),
        "args": args,
    }
    for key, value in (("ts", start), ("dur", duration)):
        if isinstance(value, int):
            sign, size = ("-" if value < 0 else ""), abs(value)
            found[key] = msgspec.Raw(f"{sign}{size // 1000}.{size % 1000:03d}".encode())
    return found
