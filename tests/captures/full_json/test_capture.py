from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roofline.captures.full_json import sections as json_sections
from roofline.captures.registry import open_capture
from roofline.engines import ENGINES, engine_key
from roofline.errors import CaptureError, MissingTableError
from tests.captures.vendor_json import profile, write_json


def expected(document: dict[str, list[dict[str, Any]]], name: str) -> list[dict[str, Any]]:
    """The same rows by the plainest possible code."""
    cores = document["metadata"][0]["num_physical_cores"]

    def core(row: dict[str, Any]) -> int | None:
        return int(row["subgraph"][2:]) if "subgraph" in row else (0 if cores == 1 else None)

    if name == "instructions":
        return [
            {
                "start_ts": row["timestamp"],
                "duration_ns": row["duration"],
                "end_ts": row["timestamp"] + row["duration"],
                "engine": engine_key(row["subgroup"]),
                "pcore_idx": core(row),
                "opcode": row["opcode"],
                "operands": row["operands"],
                "timeline_track": row["label"],
                "id": row["id"],
                "evt_wait_time_ns": row["evt_wait_time"],
                "tensor_instruction_type": row["instruction_type"] or None,
                "raw_flops": 2 * row["elements"] if "elements" in row else None,
            }
            for row in document["instruction"]
        ]
    memory = {"unknown": "unknown", "INPUT": "hbm", "WEIGHT": "hbm", "SB": "sbuf"}
    return [
        {
            "start_ts": row["timestamp"],
            "duration_ns": row["duration"],
            "end_ts": row["timestamp"] + row["duration"],
            "pcore_idx": core(row),
            "transfer_bytes": row["transfer_size"],
            "queue_type": row["queue_type"],
            "engine_idx": int(row["dma_engine"]),
            "queue_idx": int(row["dma_queue"]),
            "source_memory": memory[row["source"][0][0]],
            "dest_memory": memory[row["dest"][0]],
            "is_cc_dma": row["is_cc_dma"] == "yes",
            "queue_name": "qSyncIO0" if row["subgroup"].startswith("q") else None,
        }
        for row in document["dma"]
        if (row["aggregated"] == "yes") == (name == "transfers")
    ]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("block", [600, 4096, 4 << 20])
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("name", ["ntff.json", "ntff.json.gz"])
def test_tables_are_the_records(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    indent: int | None,
    block: int,
    cores: int,
    name: str,
) -> None:
    monkeypatch.setattr(json_sections, "BLOCK_BYTES", block)
    document = profile(rows=80, cores=cores)
    path = write_json(tmp_path, document, name, indent)
    for table in ("instructions", "dma", "transfers"):
        rows = expected(document, table)
        capture = open_capture(path)
        assert capture.table(table, list(rows[0])).to_pylist() == rows
        # after the first walk the section is read again for what is lacking
        assert capture.table(table).select(list(rows[0])).to_pylist() == rows


def test_small_tables_and_metadata(tmp_path: Path) -> None:
    capture = open_capture(write_json(tmp_path, profile(rows=5, aggregated=0)))
    assert capture.throttle.to_pylist() == [
        {"timestamp": 5, "duration": 9, "k": 4, "n": 8, "type": "activity_1", "pcore_idx": 0}
    ]
    assert capture.tensors.to_pylist() == [
        {"variable_name": "x", "type": "IN", "format": "NC", "shape": "[4 512]", "size": 4096}
    ]
    assert capture.semaphores["value"].to_pylist() == [0, 1, 2, 3, 4]
    assert set(capture.active["engine"].to_pylist()) == set(ENGINES)
    assert not capture.has("transfers")
    assert capture.metadata["hardware"] == "trn2"
    assert capture.metadata["lnc"] == 2
    assert capture.metadata["uuid"] == "00ff"
    assert capture.metadata["constants"]["tensor_engine_num_rows"] == 128
    assert capture.summary["mfu_estimated_percent"] == 0.25
    assert "transpose_flops" not in capture.summary  # -1 is how "none" is written
    ids = [issue.id for issue in capture.quality]
    assert "vendor-warning" in ids
    assert "summary-union" in ids
    assert "dma-bytes" not in ids


def test_strings_are_dictionary_encoded_and_times_int64(tmp_path: Path) -> None:
    import pyarrow as pa

    table = open_capture(write_json(tmp_path, profile())).instructions
    assert pa.types.is_dictionary(table.schema.field("engine").type)
    assert table.schema.field("start_ts").type == pa.int64()


def test_numbers_as_text_and_null(tmp_path: Path) -> None:
    document = profile(rows=4)
    document["instruction"][1]["timestamp"] = "100"
    document["instruction"][2]["evt_wait_time"] = None
    table = open_capture(write_json(tmp_path, document)).instructions
    assert table["start_ts"].to_pylist() == [0, 100, 200, 300]
    assert table["evt_wait_time_ns"].null_count == 1


def test_a_missing_table_is_not_an_empty_one(tmp_path: Path) -> None:
    document = profile(rows=3)
    del document["dma"]
    document["semaphore_update"] = []
    capture = open_capture(write_json(tmp_path, document))
    assert not capture.has("dma")
    assert capture.has("semaphores")
    assert capture.semaphores.num_rows == 0
    with pytest.raises(MissingTableError, match="no table 'dma'"):
        _ = open_capture(capture.path).dma
    assert ("absent-table", "dma") in [(issue.id, issue.table) for issue in capture.quality]


def test_a_wrong_byte_total_is_a_contradiction(tmp_path: Path) -> None:
    document = profile(rows=9)
    document["summary"][0]["static_dma_size"] += 5
    issues = {issue.id: issue for issue in open_capture(write_json(tmp_path, document)).quality}
    assert issues["dma-bytes"].severity == "contradiction"
    assert issues["dma-bytes"].count == -5


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda data: data[: len(data) // 2], "truncated"),
        (lambda data: data[:-2], "truncated|the file ends"),
        (lambda data: data + b"x", "something follows"),
        (lambda data: data.replace(b'"dma":', b'"instruction":'), "twice"),
        (lambda data: data.replace(b'"duration":', b'"duration":NaN,"x":', 1), "malformed"),
        (lambda data: data.replace(b'"pc":0', b'"pc":' + b"9" * 30), "does not fit|out of range"),
        (lambda data: data.replace(b'"timestamp":0,', b'"timestamp":[0],', 1), "not a int"),
    ],
)
def test_bad_json_is_one_clear_error(
    tmp_path: Path, edit: Callable[[bytes], bytes], message: str
) -> None:
    path = write_json(tmp_path, profile(rows=5))
    path.write_bytes(edit(path.read_bytes()))
    with pytest.raises(CaptureError, match=message) as caught:
        _ = open_capture(path).instructions, open_capture(path).dma
    assert "\n" not in str(caught.value)


def test_damaged_gzip(tmp_path: Path) -> None:
    path = write_json(tmp_path, profile(rows=50), "a.json.gz")
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    with pytest.raises(CaptureError, match="truncated"):
        open_capture(path)
    path.write_bytes(data[:400] + bytes(60) + data[460:])
    with pytest.raises(CaptureError, match="gzip"):
        open_capture(path)


def test_every_shared_profile_opens_with_the_summarys_bytes(shared: Path) -> None:
    paths = sorted((shared / "captures").glob("*/*.json.gz"))
    assert len(paths) == 20
    for path in paths:
        capture = open_capture(path, "vendor")
        document = json.loads(gzip.decompress(path.read_bytes()))
        assert "dma-bytes" not in [issue.id for issue in capture.quality]
        flops = sum(value for value in capture.instructions["raw_flops"].to_pylist() if value)
        assert flops == document["summary"][0]["hardware_flops"]
        rows = expected(document, "instructions")
        assert capture.table("instructions", list(rows[0])).to_pylist() == rows
