"""Public captures: every record pairs, every word has a name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.trace import open_trace
from roofline.captures.registry import open_capture

pytestmark = pytest.mark.shared


def traces(shared: Path) -> list[Path]:
    found = sorted(shared.glob("captures/*/*.ntff"))
    assert len(found) >= 23
    return found


def test_every_record_pairs_but_the_one_that_waits(shared: Path) -> None:
    for path in traces(shared):
        decoded = Decoded(open_trace(path))
        for core, counts in enumerate(decoded.counts("instructions")):
            assert counts.foreign == counts.open_ends == counts.negative == counts.outside == 0
            # the Tensor engine still waits for a semaphore when the trace stops
            (slot, count) = next(iter(counts.open_starts.items()))
            assert len(counts.open_starts) == count == 1, (path, core)
            assert decoded.words.opcode[slot] == 0xA0
            assert decoded.trace.program.engine[slot] == 0
        for counts in decoded.counts("dma"):
            assert counts.foreign == counts.open_ends == counts.negative == 0
            assert not counts.open_starts


def test_every_executed_word_has_a_name(shared: Path) -> None:
    for path in traces(shared):
        opcodes = open_capture(path).table("instructions", ["opcode"])["opcode"]
        names = opcodes.combine_chunks().dictionary.to_pylist()
        assert not [name for name in names if name.startswith("Operation(")]
        assert opcodes.null_count == 0


def test_tables_hold_what_they_name(shared: Path) -> None:
    for path in traces(shared):
        capture = open_capture(path)
        rows = capture.instructions
        start, end = (rows[name].to_numpy() for name in ("start_ps", "end_ps"))
        assert np.array_equal(rows["duration_ns"].to_numpy(), (end - start) // 1000)
        assert (start >= 0).all()
        assert (capture.dma["transfer_bytes"].to_numpy() > 0).all()
