"""Converted generated traces: the vendor's shape, from this project's own encoder."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from roofline.captures.capture import Capture
from roofline.captures.explorer.schema import TABLE_NAMES, vendor_schema
from roofline.captures.export.metadata_row import metadata_row
from roofline.captures.export.targets import write_capture
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError, MissingTableError
from tests.captures.explorer_folder import tables as explorer_tables
from tests.captures.ntff.test_hostile import sample
from tests.captures.vendor_json import profile, write_json


def trace(folder: Path, compat: str | None = None) -> Capture:
    path = folder / "kernel.ntff"
    path.write_bytes(sample(6))
    return open_capture(path, compat)


def test_tables_have_what_the_schema_promises(tmp_path: Path) -> None:
    write_capture(trace(tmp_path, "vendor"), tmp_path / "out", "parquet")
    for name in ("Instruction", "DmaPacket", "SemaphoreUpdate", "ActiveTime", "Throttle"):
        names = pq.read_schema(tmp_path / f"out/{name}.parquet").names
        promised = vendor_schema()[name]
        assert set(promised.required) <= set(names) <= {*promised.required, *promised.optional}
    described = pq.read_table(tmp_path / "out/SchemaFields.parquet").to_pylist()
    for name in ("Instruction", "Summary", "Warning"):
        held = pq.read_schema(tmp_path / f"out/{name}.parquet").names
        assert {r["field_name"] for r in described if r["table_name"] == name} == set(held)
    units = {(r["table_name"], r["field_name"]): r["field_unit"] for r in described}
    assert units["Instruction", "start_ts"] == "nanoseconds"
    assert units["DmaPacket", "transfer_bytes"] == "bytes"
    sources = pq.read_table(tmp_path / "out/SemaphoreUpdate.parquet")["update_source"]
    assert set(sources.to_pylist()) == {"Tensor"}


def test_metadata_row_knows_the_hardware(tmp_path: Path) -> None:
    row = metadata_row(trace(tmp_path), "1.0")
    assert set(vendor_schema()["Metadata"].required) <= set(row)
    assert row["hbm_ddr_bandwidth"] == 716e9  # what the vendor prints for trn2
    assert row["dma_ddr_bandwidth"] == 435e9
    assert row["neuroncore_clock_freq"] == pytest.approx(1.2)
    assert (row["num_physical_cores"], row["vnc_enabled"]) == (2, True)


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "old.json"
    target.write_text("kept")
    bare = Capture(path=tmp_path / "x", format="none")
    with pytest.raises(MissingTableError, match="nothing to draw"):
        write_capture(bare, target, "perfetto")
    with pytest.raises(CaptureError, match="this is a file"):
        write_capture(bare, target, "parquet")
    assert target.read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]


def test_timeline_into_a_folder_takes_the_name_of_the_capture(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    written = write_capture(trace(tmp_path), tmp_path / "out", "perfetto")
    events = json.loads((tmp_path / "out/kernel.perfetto.json").read_text())["traceEvents"]
    assert len(events) == sum(written.values())
    limits = [event["args"]["k/n"] for event in events if event["name"] == "Tensor limit"]
    assert limits[:2] == [0.5, 1.0]


@pytest.mark.parametrize("zero", [0, -5_000, 1_700_000_000_000_000_000, -(2**62)])
def test_a_timeline_holds_negative_times_and_times_of_day(tmp_path: Path, zero: int) -> None:
    starts, durations = [zero, zero + 1, zero + 7_000], [1, 2_500, 0]
    span = {"start_ts": starts, "duration_ns": durations}
    tables = {
        "instructions": pa.table({**span, "engine": ["vector"] * 3}),
        "dma": pa.table({**span, "transfer_bytes": [4096] * 3}),
        "throttle": pa.table(
            {"timestamp": starts, "duration": durations, "k": [4] * 3, "n": [8] * 3}
        ),
    }
    capture = Capture(
        path=tmp_path / "k",
        format="none",
        sources={name: (lambda _, held=held: held) for name, held in tables.items()},
    )
    write_capture(capture, tmp_path / "out.json", "perfetto")
    written = json.loads((tmp_path / "out.json").read_text(), parse_float=Decimal)
    shift = Decimal(int(written["otherData"].get("zero_ns", 0)))
    assert bool(shift) == (abs(zero) > 2**53)
    for process in (1, 2):
        drawn = [e for e in written["traceEvents"] if e["ph"] == "X" and e["pid"] == process]
        assert [e["ts"] * 1000 + shift for e in drawn] == starts
        assert [e["dur"] * 1000 for e in drawn] == durations
    limits = [e["ts"] * 1000 + shift for e in written["traceEvents"] if "limit" in e["name"]]
    assert limits == [*starts, starts[-1]]


NOT_HELD = {"core_numbers", "constants", "instance_id", "neff_header", "summary_absent", "versions",
            "ntff_version", "total_time_ps"}  # fmt: skip
"""Metadata for which the vendor's tables have no column, or another form."""


def generated(folder: Path, kind: str) -> Path:
    if kind == "trace":
        (folder / "kernel.ntff").write_bytes(sample(6))
        return folder / "kernel.ntff"
    if kind == "old trace":
        (folder / "kernel.ntff").write_bytes(sample(5))
        return folder / "kernel.ntff"
    if kind == "profile":
        document = profile(rows=30)
        document["neff_header"][0]["uuid"] = "0f" * 16
        return write_json(folder, document)
    (folder / "tables").mkdir()
    for name, table in explorer_tables().items():
        pq.write_table(table, folder / f"tables/{name}.parquet")
    return folder / "tables"


@pytest.mark.parametrize("kind", ["trace", "old trace", "profile", "tables"])
def test_what_is_converted_reads_back_the_same(tmp_path: Path, kind: str) -> None:
    capture = open_capture(generated(tmp_path, kind))
    write_capture(capture, tmp_path / "out", "parquet")
    back = open_capture(tmp_path / "out")
    compared = 0
    for name in set(capture.sources) & set(TABLE_NAMES):
        for column, held in zip(
            capture.table(name).column_names, capture.table(name).columns, strict=True
        ):
            assert back.table(name)[column].to_pylist() == held.to_pylist(), (name, column)
            compared += 1
    assert compared > 10
    assert dict(back.summary) == dict(capture.summary)
    for name in capture.metadata.keys() - NOT_HELD:
        assert back.metadata.get(name) == capture.metadata[name], name
