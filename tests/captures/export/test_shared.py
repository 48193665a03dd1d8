"""Converted public captures: what was written reads back, and timelines are well formed."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from roofline.captures.export.explorer import write_explorer
from roofline.captures.export.perfetto import write_perfetto
from roofline.captures.registry import open_capture
from roofline.cli.main import cli

pytestmark = pytest.mark.shared

TRACE = "captures/trn2-v6-attention/fused_bf16_s512.ntff"


@pytest.mark.parametrize("compat", [None, "vendor"])
def test_parquet_reads_back(shared: Path, tmp_path: Path, compat: str | None) -> None:
    capture = open_capture(shared / TRACE, compat)
    written = write_explorer(capture, tmp_path / "out")
    assert set(written) >= {
        *("Instruction", "DmaPacket", "SemaphoreUpdate", "ActiveTime", "Summary", "Metadata"),
        *("Throttle", "OpcodeSummary", "Warning", "SchemaFields"),
    }
    back = open_capture(tmp_path / "out")
    for table in ("instructions", "dma", "semaphores", "active", "throttle"):
        ours, theirs = capture.table(table), back.table(table)
        assert ours.num_rows == theirs.num_rows > 0
        for column in ("start_ts", "end_ts", "duration_ns", "engine", "opcode", "transfer_bytes"):
            if column in ours.column_names:
                assert ours[column].to_pylist() == theirs[column].to_pylist()
    for name, value in capture.summary.items():
        assert back.summary[name] == value
    engines = pq.read_table(tmp_path / "out/Instruction.parquet", columns=["engine"])["engine"]
    assert set(engines.to_pylist()) == {"Tensor", "Vector", "Scalar", "GpSimd", "Sync"}
    opcodes = pq.read_table(tmp_path / "out/OpcodeSummary.parquet")
    assert sum(opcodes["instruction_count"].to_pylist()) == capture.instructions.num_rows
    vendor_only = "start_ps" not in pq.read_schema(tmp_path / "out/Instruction.parquet").names
    assert vendor_only == (compat == "vendor")


def test_timeline_is_well_formed(shared: Path, tmp_path: Path) -> None:
    for path in (shared / "captures").glob("*/*_s512.*"):
        if path.suffix not in (".ntff", ".gz"):
            continue
        capture = open_capture(path)
        out = tmp_path / "timeline.json.gz"
        write_perfetto(capture, out)
        with gzip.open(out, "rt") as file:
            events = json.load(file)["traceEvents"]
        spans = [event for event in events if event["ph"] == "X"]
        assert len(spans) == capture.instructions.num_rows + capture.dma.num_rows
        named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
        tracks = defaultdict(list)
        for span in spans:
            assert span["name"]
            begin = round(span["ts"] * 1e6)
            tracks[span["pid"], span["tid"]].append((begin, begin + round(span["dur"] * 1e6)))
        assert set(tracks) == named
        for track in tracks.values():  # spans of one track never overlap
            times = np.array(sorted(track))
            assert (times[1:, 0] >= times[:-1, 1]).all()
        counters = {e["name"] for e in events if e["ph"] == "C"}
        assert counters == {"DMA bandwidth", "Tensor limit"}


def test_command(shared: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    result = run(cli, ["convert", str(shared / TRACE), "-o", str(tmp_path / "p"), "--json"])
    assert json.loads(result.output)["rows"]["Instruction"] == 436
    target = tmp_path / "t.json"
    args = ["convert", str(shared / TRACE), "-o", str(target), "--format", "perfetto"]
    assert run(cli, args).exit_code == 0
    assert json.loads(target.read_text())["traceEvents"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p", "t.json"]
