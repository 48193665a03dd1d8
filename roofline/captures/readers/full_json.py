"""Full-profile JSON, as ``neuron-profile view --output-format json`` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from roofline.captures.capture import Capture
from roofline.captures.registry import Reader

_MEMBER = re.compile(rb'"([a-z_]+)"\s*:\s*\[')
_SECTIONS = frozenset(
    b"""active_time dma dma_queues_info dma_throughput ham instruction instruction_usage
    layer_summary metadata model_info nc_mem_usage neff_header neff_node pending_dma profile_info
    semaphore_update summary summary_group_order summary_groups terminology warnings""".split()
)


def _sniff(path: Path, head: bytes) -> bool:  # noqa: ARG001
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text.startswith(b"{"):
        return False
    first = _MEMBER.match(text[1:].lstrip())
    return first is not None and first[1] in _SECTIONS


def _open(path: Path, compat: str | None) -> Capture:
    from roofline.captures.full_json.capture import open_full_json

    return open_full_json(path, compat)


READER = Reader(
    format="full-json",
    what="full-profile JSON of neuron-profile or neuron-explorer, plain or gzip",
    sniff=_sniff,
    open=_open,
)
