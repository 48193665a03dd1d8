"""Summary text, as ``neuron-explorer view --output-format summary-text`` prints it."""

from __future__ import annotations

import re
from pathlib import Path

from roofline.captures.capture import Capture
from roofline.captures.registry import Reader

_FIELDS = re.compile(
    rb"^\s*(?:total_time|latency|[a-z]+_engine_(?:active|instruction)_(?:time|count))[\s:=]+[-\d.n]",
    re.MULTILINE,
)


def _sniff(path: Path, head: bytes) -> bool:  # noqa: ARG001
    return _FIELDS.search(head) is not None


def _open(path: Path, compat: str | None) -> Capture:
    from roofline.captures.summary.capture import open_summary_text

    return open_summary_text(path, compat)


READER = Reader(
    format="summary-text",
    what="summary-text of neuron-profile or neuron-explorer, with or without log lines around it",
    sniff=_sniff,
    open=_open,
)
