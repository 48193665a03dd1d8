"""One run read from different files gives the same tables and the same analysis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from roofline.analysis.utilization import utilization
from roofline.captures.capture import Capture
from roofline.captures.export.targets import write_capture
from roofline.captures.registry import open_capture

RUNS = (
    "inf2-v5-matmul/matmul_128x128x136",
    "inf2-v5-matmul/matmul_128x128x1024",
    "trn2-v6-attention/fused_bf16_s512",
    "trn2-v6-attention/baseline_fp32_s1024",
)
KEYS = {
    "instructions": ["pcore_idx", "engine", "start_ts", "duration_ns", "pc", "opcode", "crc_in"],
    "dma": ["pcore_idx", "engine_idx", "queue_idx", "start_ts", "duration_ns", "transfer_bytes"],
    "active": ["pcore_idx", "engine", "start_ts", "end_ts", "duration_ns"],
    "semaphores": ["pcore_idx", "timestamp", "id", "value"],
    "throttle": ["timestamp", "duration", "k", "n", "type"],
}


def in_whole_ns(capture: Capture) -> Capture:
    """The capture as the JSON can hold it: no picoseconds, an end that is start plus duration."""

    def source(name: str) -> Any:
        def table(columns: Any) -> pa.Table:
            whole = capture.table(name)
            keep = [column for column in whole.column_names if not column.endswith("_ps")]
            whole = whole.select(keep)
            if name in ("instructions", "dma"):
                end = pc.add(whole["start_ts"], whole["duration_ns"])
                whole = whole.set_column(keep.index("end_ts"), "end_ts", end)
            return whole if columns is None else whole.select(list(columns))

        return table

    return replace(capture, sources={name: source(name) for name in capture.sources}, _cache={})


@pytest.mark.shared
@pytest.mark.parametrize("run", RUNS)
def test_trace_and_json_have_the_same_rows(shared: Path, run: str) -> None:
    trace = open_capture(shared / f"captures/{run}.ntff", "vendor")
    document = open_capture(shared / f"captures/{run}.json.gz", "vendor")
    for name, columns in KEYS.items():
        ours, theirs = (
            sorted(capture.table(name, columns).to_pylist(), key=repr)
            for capture in (trace, document)
        )
        assert ours == theirs


@pytest.mark.shared
@pytest.mark.parametrize("run", RUNS)
def test_trace_and_json_give_the_same_utilization_to_the_ns(shared: Path, run: str) -> None:
    trace = open_capture(shared / f"captures/{run}.ntff", "vendor")
    document = open_capture(shared / f"captures/{run}.json.gz", "vendor")
    ours = utilization(in_whole_ns(trace), window="total")
    theirs = utilization(document, window="total")
    # places and bytes of planned DMA are in the NEFF only, which the vendor's tool had
    times = [
        name for name in theirs if name.endswith("_ps") and name in ours and "class" not in name
    ]
    assert len(times) >= 10
    for name in times:
        assert ours[name].equals(theirs[name]), name


@pytest.mark.shared
@pytest.mark.parametrize("run", RUNS)
def test_picoseconds_differ_by_less_than_a_ns_a_row(shared: Path, run: str) -> None:
    trace = open_capture(shared / f"captures/{run}.ntff", "vendor")
    exact = utilization(trace, window="total")["active_ps"]
    rounded = utilization(open_capture(shared / f"captures/{run}.json.gz"), window="total")
    assert (abs(exact - rounded["active_ps"]) <= 1000 * rounded["instructions"]).all()


@pytest.mark.shared
@pytest.mark.parametrize("compat", [None, "vendor"])
@pytest.mark.parametrize("name", [f"{RUNS[0]}.ntff", f"{RUNS[2]}.ntff", f"{RUNS[2]}.json.gz"])
def test_a_converted_folder_reads_back(
    shared: Path, tmp_path: Path, name: str, compat: str | None
) -> None:
    capture = open_capture(shared / "captures" / name, compat)
    write_capture(capture, tmp_path / "out", "parquet")
    folder = open_capture(tmp_path / "out")
    assert folder.format == "explorer-parquet"
    for table, columns in KEYS.items():
        if not capture.has(table):
            continue
        ours, theirs = capture.table(table), folder.table(table)
        # with the vendor's columns only, ``kind`` is read from the text, without the program
        both = [
            column
            for column in ours.column_names
            if column in theirs.column_names and not (compat and column == "kind")
        ]
        assert set(columns) <= set(both)
        for column in both:
            assert theirs[column].to_pylist() == ours[column].to_pylist(), (table, column)
    assert dict(folder.summary) == dict(capture.summary)
    assert folder.metadata["hardware"] == capture.metadata["hardware"]
    assert folder.metadata["lnc"] == capture.metadata["lnc"]
