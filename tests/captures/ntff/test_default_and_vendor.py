"""By default the rows that differ from the vendor's are exactly those that quality lists."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from roofline.captures.capture import Capture
from roofline.captures.registry import open_capture

pytestmark = pytest.mark.shared

INSTRUCTION = ("pcore_idx", "engine", "pc", "start_ps", "end_ps", "opcode", "crc_in", "crc_out")
PACKET = ("pcore_idx", "engine_idx", "queue_idx", "start_ps", "end_ps", "write_bytes", "crc")
UPDATE = ("pcore_idx", "timestamp_ps", "id", "value")


def rows(capture: Capture, table: str, columns: tuple[str, ...]) -> Counter:
    held = capture.table(table, columns)
    return Counter(zip(*(held[column].to_pylist() for column in columns), strict=True))


def test_rows_that_differ_are_the_repaired_ones(shared: Path) -> None:
    repaired: Counter[str] = Counter()
    for path in sorted(shared.glob("captures/*/*.ntff")):
        ours, vendor = open_capture(path), open_capture(path, "vendor")
        listed = {i.id: i.count for i in ours.quality if i.severity == "repaired"}
        more = rows(ours, "instructions", INSTRUCTION)
        more.subtract(rows(vendor, "instructions", INSTRUCTION))
        assert min(more.values()) >= 0
        assert sum(more.values()) == listed.get("overwritten-rows", 0)
        packets = rows(ours, "dma", PACKET)
        packets.subtract(rows(vendor, "dma", PACKET))
        assert sum(n for n in packets.values() if n > 0) == listed.get("packets-at-zero", 0)
        assert rows(ours, "semaphores", UPDATE) == rows(vendor, "semaphores", UPDATE)
        # waits: the same where the word waits, unknown where it does not
        wait = ours.table("instructions", ["evt_wait_time_ns", "evt_wait_time_raw_ns"])
        stale = 0
        for valid, raw in zip(*(wait[c].to_pylist() for c in wait.column_names), strict=True):
            assert valid in (None, raw)
            stale += valid is None and raw > 0
        assert stale == listed.get("stale-waits", 0)
        repaired.update({name: count or 0 for name, count in listed.items()})
    assert repaired["packets-at-zero"] >= 20
    assert repaired["overwritten-rows"] >= 2


def test_planned_bytes_equal_the_tensors(shared: Path) -> None:
    """Vector add of 256,000 fp32 elements: two inputs and an output, no more."""
    for folder in ("trn1-v4-vector-add", "trn2-v5-vector-add"):
        (path,) = (shared / "captures" / folder).glob("*.ntff")
        summary = open_capture(path).summary
        assert summary["dma_transfer_total_bytes"] == 3 * 256_000 * 4


def test_dynamic_bytes_equal_the_instructions(shared: Path) -> None:
    for path in sorted(shared.glob("captures/*/*.ntff")):
        capture = open_capture(path)
        ids = {issue.id for issue in capture.quality}
        assert not ids & {"bytes-unaccounted", "unlinked-dma", "unknown-opcode", "unknown-dtype"}
