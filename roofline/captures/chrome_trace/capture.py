"""Open a trace file as a Capture, and say what is wrong with its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from roofline.captures.capture import Capture, Issue
from roofline.captures.chrome_trace.fields import Document
from roofline.captures.chrome_trace.stream import read_document
from roofline.captures.chrome_trace.system_events import decode_system
from roofline.captures.chrome_trace.tables import TRACE_TABLES, TraceFile

__all__ = ["open_system", "open_trace"]


def open_trace(path: Path, compat: str | None = None) -> Capture:
    """Return the Capture of a trace file; see ``TRACE_TABLES`` for its tables.

    Times are int64 ns after ``metadata["base_time_ns"]`` (ns since 1970) where the file gives it.
    Raises ``CaptureError`` when the file is no complete trace.
    """
    file = TraceFile(path)
    document = read_document(path)
    if document is None or document.baseTimeNanoseconds is None:
        # other releases write the base behind the events, and a damaged file has to be seen here
        file.table("names", ["name"])
        document = file.document or Document()
    return Capture(
        path=path,
        format="chrome_trace",
        compat=compat,
        metadata=_metadata(document),
        sources={name: partial(file.table, name) for name in TRACE_TABLES},
        quality_source=partial(_quality, file),
    )


def open_system(path: Path, compat: str | None = None) -> Capture:
    """Return the Capture of a system profile in JSON: the tables of a trace, times since 1970.

    Raises ``CaptureError`` when the file is no complete system profile.
    """
    file = TraceFile(path, decode_system)
    file.table("names", ["name"])
    return Capture(
        path=path,
        format="neuron_system",
        compat=compat,
        metadata={"base_time_ns": 0},
        sources={name: partial(file.table, name) for name in TRACE_TABLES},
        quality_source=partial(_quality, file),
    )


def _metadata(document: Document) -> Mapping[str, Any]:
    found: dict[str, Any] = {
        "base_time_ns": document.baseTimeNanoseconds,
        "schema_version": document.schemaVersion,
        "record_shapes": bool(document.record_shapes),
        "with_flops": bool(document.with_flops),
        "with_stack": bool(document.with_stack),
        "profile_memory": bool(document.profile_memory),
    }
    return {key: value for key, value in found.items() if value is not None}


def _quality(file: TraceFile) -> Sequence[Issue]:
    issues: list[Issue] = []

    def add(severity: str, key: str, what: str, table: str = "", count: int | None = None) -> None:
        if count != 0:
            issues.append(Issue(id=key, severity=severity, what=what, table=table, count=count))

    timed = {name: file.table(name, ["start_ts", "duration_ns"]) for name in _TIMED_TABLES}
    held = {name: table.num_rows for name, table in timed.items()}
    if not (held["driver"] or held["kernels"] or held["device"]):
        add(
            "missing",
            "no_device_events",
            "no event of a device: the times are host times only",
            table="device",
        )
    for name, table in timed.items():
        start, duration = table["start_ts"], table["duration_ns"]
        add("info", "no_start", "events without a readable start", name, start.null_count)
        add("info", "no_duration", "events without a readable duration", name, duration.null_count)
        negative = pc.sum(pc.less(duration, 0)).as_py() or 0
        add("info", "negative_duration", "events that end before they start", name, negative)
        zero = pc.sum(pc.equal(duration, 0)).as_py() or 0
        add("info", "zero_duration", "events of no duration", name, zero)
    ops = file.table("cpu_ops", ["input_dims"])
    if ops.num_rows and ops["input_dims"].null_count == ops.num_rows:
        add("missing", "no_shapes", "shapes were not recorded (record_shapes)", "cpu_ops")
    if file.document is not None and file.document.repaired:
        add("repaired", "invalid_text", "control characters or bytes that are not UTF-8 in names")
    other = file.table("other", ["phase"])
    unpaired = pc.sum(pc.is_in(other["phase"], value_set=_UNPAIRED)).as_py() or 0
    add(
        "info", "unpaired_phases", "begin and end events, kept apart, not paired", "other", unpaired
    )
    return issues


_TIMED_TABLES = ("cpu_ops", "runtime", "driver", "kernels", "device", "annotations")
_UNPAIRED = pa.array(["B", "E", "b", "e", "n"])
