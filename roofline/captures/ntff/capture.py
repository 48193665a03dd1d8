"""An open NTFF file as a ``Capture``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from roofline.captures.capture import Capture
from roofline.captures.identity import hardware_key
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.header import Header
from roofline.captures.ntff.quality import find_issues
from roofline.captures.ntff.summary import summarize
from roofline.captures.ntff.tables import Tables
from roofline.captures.ntff.trace import open_trace

__all__ = ["open_ntff"]

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
    )


def _metadata(header: Header) -> Mapping[str, Any]:
    known = {
        "ntff_version": header.version,
        "instance_type": header.instance_type or None,
        "instance_id": header.instance_id or None,
        "hardware": hardware_key(header.instance_type),
        "lnc": len(header.cores),
        "cores": len(header.cores),
        "core_numbers": tuple(core.number for core in header.cores),
        "uuid": header.uuid.hex() or None,
        "neff_path": header.neff_path or None,
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
        "total_time_ps": header.cores[0].total_ps,
    }
    return {key: value for key, value in known.items() if value is not None}
