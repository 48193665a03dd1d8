"""What a capture is: format, versions, instance, cores, span, counts and data quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.captures.capture import Capture, Issue
from roofline.captures.registry import list_readers
from roofline.captures.streaming import count_rows

__all__ = ["Info", "describe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """What ``roofline info`` shows.

    ``counts`` holds sizes of tables in what ``counted`` names. ``complete`` tells whether
    ``quality`` holds every issue, or only those that need no decoding.
    """

    path: Path
    format: str
    what: str
    size_bytes: int | None
    metadata: Mapping[str, Any]
    counts: Mapping[str, int]
    counted: str
    span_ns: int | None
    quality: tuple[Issue, ...]
    complete: bool


def describe(capture: Capture, *, full: bool = False) -> Info:
    """Describe a capture, at once where its reader gives an overview.

    ``full`` decodes all tables, for numbers of rows and every issue of quality.
    """
    overview = None if full else capture.overview_source()
    quick = capture.overview_source() if overview is None else overview
    if overview is None:
        count = _decoded_rows if full else count_rows
        counts = {name: count(capture, name) for name in capture.sources}
        counted, issues = "rows", capture.quality
    else:
        counts, counted, issues = dict(overview.counts), overview.counted, tuple(overview.issues)
    known = {reader.format: reader.what for reader in list_readers()}
    return Info(
        path=capture.path,
        format=capture.format,
        what=known.get(capture.format, ""),
        size_bytes=capture.path.stat().st_size if capture.path.is_file() else None,
        metadata=capture.metadata,
        counts=counts,
        counted=counted,
        span_ns=_span_ns(capture) if quick is None else quick.span_ns,
        quality=issues,
        complete=overview is None,
    )


def _decoded_rows(capture: Capture, name: str) -> int:
    return int(capture.table(name).num_rows)


def _span_ns(capture: Capture) -> int | None:
    total = capture.summary.get("total_time")
    return None if total is None else round(float(total) * 1e9)
