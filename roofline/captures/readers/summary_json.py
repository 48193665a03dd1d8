"""Summary json, as ``neuron-explorer view --output-format summary-json`` prints it."""

from __future__ import annotations

import re
from pathlib import Path

from roofline.captures.capture import Capture
from roofline.captures.registry import Reader

_PROGRAM = re.compile(rb'"n_[0-9a-f]{8,64}"\s*:\s*(?:\{|null)')
_FIELDS = re.compile(rb'"(?:total_time|latency|[a-z]+_engine_(?:active|instruction)_time)"\s*:')


def _sniff(path: Path, head: bytes) -> bool:  # noqa: ARG001
    return b"{" in head and (_PROGRAM.search(head) or _FIELDS.search(head)) is not None


def _open(path: Path, compat: str | None) -> Capture:
    from roofline.captures.summary.capture import open_summary_json

    return open_summary_json(path, compat)


READER = Reader(
    format="summary-json",
    what="summary-json of neuron-profile or neuron-explorer, with or without log lines around it",
    sniff=_sniff,
    open=_open,
)
