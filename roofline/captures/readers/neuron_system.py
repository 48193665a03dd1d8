"""Reader of Neuron system profiles as JSON: the runtime's events, without the framework's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from roofline.captures.registry import Reader

if TYPE_CHECKING:
    from roofline.captures.capture import Capture

__all__ = ["READER"]


def _sniff(path: Path, head: bytes) -> bool:  # noqa: ARG001 - the content alone decides
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] != b"{" or b'"traceEvents"' in text:
        return False
    legacy = (b'"trace_event"' in text or b'"trace_events"' in text) and b'"timestamp"' in text
    runtime = b'"event_type"' in text and b'"tracking_id"' in text and b'"timestamp_ns"' in text
    return legacy or runtime


def _open(path: Path, compat: str | None) -> Capture:
    from roofline.captures.chrome_trace.capture import open_system

    return open_system(path, compat)


READER = Reader(
    format="neuron_system",
    what="system profile of the Neuron runtime as JSON",
    sniff=_sniff,
    open=_open,
)
