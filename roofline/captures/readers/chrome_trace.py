"""Reader of ``trace.json``: what ``torch.profiler`` writes, plain or gzip."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from roofline.captures.registry import Reader

if TYPE_CHECKING:
    from roofline.captures.capture import Capture

__all__ = ["READER"]


def _sniff(path: Path, head: bytes) -> bool:  # noqa: ARG001 - the content alone decides
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] == b"{":
        return b'"traceEvents"' in text
    return text[:1] == b"[" and b'"ph"' in text


def _open(path: Path, compat: str | None) -> Capture:
    from roofline.captures.chrome_trace.capture import open_trace

    return open_trace(path, compat)


READER = Reader(
    format="chrome_trace",
    what="trace.json(.gz) of torch.profiler, TorchNeuron's events included",
    sniff=_sniff,
    open=_open,
)
