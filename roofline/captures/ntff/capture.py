"""An open NTFF file as a ``Capture``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from roofline.captures.capture import Capture, Overview
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.header import Header
from roofline.captures.ntff.quality import find_issues, header_issues
from roofline.captures.ntff.summary import summarize
from roofline.captures.ntff.summary_absent import absent_fields
from roofline.captures.ntff.tables import Tables
from roofline.captures.ntff.trace import open_trace
from roofline.hardware.load import model_of_instance

__all__ = ["open_ntff"]

_RECORDS: Final = {0: "instructions", 1: "events", 4: "dma", 5: "throttle"}
"""Records by the kind of their section: a row takes two records, a DMA packet three."""

_COLLECTIVES: Final = 2

_TABLES = ("instructions", "dma", "semaphores", "active", "throttle")


def open_ntff(path: Path, compat: str | None = None) -> Capture:
    """Open an NTFF file; only its header is read, tables are decoded when asked for."""
    trace = open_trace(path, compat)
    decoded = Decoded(trace)
    tables = Tables(decoded)
    return Capture(
        path=path,
        format="ntff",
        compat=compat,
        metadata=_metadata(trace.header),
        sources={name: partial(tables.build, name) for name in _TABLES},
        summary_source=partial(summarize, decoded),
        quality_source=partial(find_issues, decoded),
        overview_source=partial(_overview, trace.header),
    )


def _overview(header: Header) -> Overview:
    counts = dict.fromkeys(_RECORDS.values(), 0)
    for section in header.sections:
        if section.kind in _RECORDS and section.scope < _COLLECTIVES:
            counts[_RECORDS[section.kind]] += section.records
    total_ps = header.cores[0].total_ps
    if header.window_ps is not None:
        total_ps = header.window_ps[1] - header.window_ps[0]
    return Overview(
        counts=counts,
        counted="records",
        span_ns=None if total_ps is None else total_ps // 1000,
        issues=header_issues(header),
    )


def _metadata(header: Header) -> Mapping[str, Any]:
    known = {
        "ntff_version": header.version,
        "instance_type": header.instance_type or None,
        "instance_id": header.instance_id or None,
        "hardware": model_of_instance(header.instance_type),
        "lnc": len(header.cores),
        "cores": len(header.cores),
        "core_numbers": tuple(core.number for core in header.cores),
        "uuid": header.uuid.hex() or None,
        "program": header.neff_path or None,
        "captured_unix_s": header.captured_unix_s,
        "versions": {
            name: version
            for name, version in (
                ("ntff", str(header.version)),
                ("runtime", header.runtime_version),
                ("driver", header.driver_version),
                ("collectives", header.collectives_version),
            )
            if version
        },
        "summary_absent": absent_fields(header),
        "total_time_ps": header.cores[0].total_ps,
    }
    return {key: value for key, value in known.items() if value is not None}
