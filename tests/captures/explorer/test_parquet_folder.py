from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from roofline.captures.distinct import memory_of
from roofline.captures.explorer.parquet_folder import table_parts
from roofline.captures.registry import open_capture
from roofline.captures.streaming import column_names, iter_pieces
from roofline.errors import CaptureError, MissingTableError
from tests.captures.explorer_folder import tables, write_folder


def test_tables_get_our_names_and_types(tmp_path: Path) -> None:
    capture = open_capture(write_folder(tmp_path / "p", tables()))
    assert capture.format == "explorer-parquet"
    table = capture.instructions
    assert table["start_ts"].to_pylist()[:3] == [0, 100, 200]
    assert table.schema.field("start_ts").type == pa.int64()
    assert table["engine"].to_pylist()[:5] == ["tensor", "vector", "scalar", "gpsimd", "sync"]
    assert pa.types.is_dictionary(table.schema.field("opcode").type)
    assert table["raw_flops"].to_pylist()[:6] == [0, None, None, None, None, 10]
    assert table["id"].to_pylist()[0] == 2**61
    assert table["new_in_13_0"].to_pylist()[:3] == ["v0", "v1", "v2"]  # unknown columns are kept
    assert capture.semaphores["id"].to_pylist() == ["7", "8"]
    assert capture.table("Warning").num_rows == 1  # tables of the vendor keep their names


def test_metadata_and_summary(tmp_path: Path) -> None:
    capture = open_capture(write_folder(tmp_path / "p", tables()))
    assert capture.metadata["hardware"] == "trn2"
    assert (capture.metadata["lnc"], capture.metadata["cores"]) == (2, 2)
    assert capture.metadata["uuid"] == "00ff"
    assert capture.metadata["versions"] == {"profiler": "2.31.0", "schema": "7.4.0", "ntff": "6"}
    assert capture.summary["vector_engine_active_time_percent"] == 0.5
    assert "transpose_flops" not in capture.summary
    assert "model_flops" not in capture.summary


def test_an_absent_table_is_not_an_empty_one(tmp_path: Path) -> None:
    content = tables()
    del content["SemaphoreUpdate"]
    content["Throttle"] = pa.table(
        {"timestamp": pa.array([], pa.int64()), "type": pa.array([], pa.string())}
    )
    capture = open_capture(write_folder(tmp_path / "p", content))
    assert not capture.has("semaphores")
    assert capture.has("throttle")
    assert capture.throttle.num_rows == 0
    with pytest.raises(MissingTableError):
        _ = capture.semaphores
    issues = {(issue.id, issue.table): issue for issue in capture.quality}
    assert ("absent-table", "semaphores") in issues
    assert ("absent-table", "throttle") not in issues
    assert issues["vendor-warning", ""].what == "no DGE"
    assert "performance_mode" in issues["missing-optional-columns", "instructions"].what
    assert "crc" in issues["missing-promised-columns", "dma"].what


def test_split_tables_are_joined_and_a_missing_part_is_lost(tmp_path: Path) -> None:
    whole = tables(40)["Instruction"]
    content = {name: table for name, table in tables().items() if name != "Instruction"}
    parts = [whole.slice(0, 15), whole.slice(15, 15).drop_columns(["raw_flops"]), whole.slice(30)]
    folder = write_folder(tmp_path / "p", content, Instruction=parts)
    assert list(table_parts(folder)["DmaPacket"]) == [folder / "DmaPacket.parquet"]
    capture = open_capture(folder)
    assert capture.instructions["start_ts"].to_pylist() == whole["start_ts"].to_pylist()
    assert capture.instructions["raw_flops"].null_count > 15
    (folder / "Instruction_1.parquet").unlink()
    issues = {issue.id: issue for issue in open_capture(folder).quality}
    assert issues["missing-part"].what == "parts 1 of Instruction are not there"


def test_parts_beyond_ten_are_in_order(tmp_path: Path) -> None:
    whole = tables(48)["Instruction"]
    folder = write_folder(
        tmp_path / "p", {}, Instruction=[whole.slice(4 * i, 4) for i in range(12)]
    )
    assert open_capture(folder).instructions["pc"].to_pylist() == list(range(48))


@pytest.mark.parametrize("inside", ["", "profiles", "profiles/global", "profiles/global/k@latest"])
def test_the_data_path_layout(tmp_path: Path, inside: str) -> None:
    write_folder(tmp_path / "profiles/global/k@latest", tables())
    assert open_capture(tmp_path / inside).instructions.num_rows == 40


def test_several_profiles_have_to_be_chosen_from(tmp_path: Path) -> None:
    write_folder(tmp_path / "profiles/global/a@latest", tables())
    write_folder(tmp_path / "profiles/global/b@latest", tables())
    with pytest.raises(CaptureError, match="2 profiles, open one of them: a@latest, b@latest"):
        open_capture(tmp_path)


def test_a_query_reads_only_its_columns(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "p", tables())
    path = folder / "Instruction.parquet"
    layout = pq.ParquetFile(path).metadata.row_group(0)
    data = bytearray(path.read_bytes())
    for index in range(layout.num_columns):
        column = layout.column(index)
        if column.path_in_schema not in ("start_ts", "engine"):
            start = column.dictionary_page_offset or column.data_page_offset
            data[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(bytes(data))
    capture = open_capture(folder)
    assert capture.table("instructions", ["start_ts", "engine"]).num_rows == 40
    with pytest.raises(CaptureError, match="not a readable Parquet file"):
        capture.table("instructions", ["operands"])


def test_row_groups_outside_the_window_are_not_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "p", tables(), row_group_size=10)
    capture = open_capture(folder)
    names = ["start_ts", "end_ts", "engine"]
    whole = pa.concat_tables(iter_pieces(capture, "instructions", names)).unify_dictionaries()
    assert whole.to_pylist() == capture.table("instructions", names).to_pylist()
    # row groups begin at 0, 1000, 2000 and 3000 ns and end 57 ns after their last start
    for window, groups in (((0, 10), 1), ((957, 1000), 0), ((956, 1001), 2), ((-9, 9999), 4)):
        assert len(list(iter_pieces(capture, "instructions", names, window))) == groups
    assert "raw_flops" in column_names(capture, "instructions")
    with pytest.raises(MissingTableError, match="no column 'nope'"):
        list(iter_pieces(capture, "instructions", ["nope"]))


def test_any_capture_can_be_read_in_pieces(tmp_path: Path) -> None:
    from tests.captures.vendor_json import profile, write_json

    capture = open_capture(write_json(tmp_path, profile(rows=5)))
    assert [piece.num_rows for piece in iter_pieces(capture, "dma")] == [2]
    assert "start_ts" in column_names(capture, "dma")


def test_packets_get_their_memories_from_the_transfers(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "p", tables(), row_group_size=16)
    capture = open_capture(folder)
    rows = capture.table("dma", ["start_ts", "source_memory", "dest_memory"]).to_pylist()
    assert [row["source_memory"] for row in rows[:8]] == ["hbm"] * 4 + ["sbuf"] * 4
    assert rows[0]["dest_memory"] == "sbuf"
    assert rows[-1]["source_memory"] is None  # no transfer is recorded for it
    pieces = list(iter_pieces(capture, "dma", ["source_memory"]))
    assert [value for piece in pieces for value in piece["source_memory"].to_pylist()] == [
        row["source_memory"] for row in rows
    ]


@pytest.mark.parametrize(
    ("places", "memory"),
    [
        ("[SB]", "sbuf"),
        ("[[SB], [SB]]", "sbuf"),
        ("[[INPUT]]", "hbm"),
        ("[VIRTUAL]", "hbm"),
        ("[[SB],[INPUT]]", "unknown"),
        ("unknown", "unknown"),
        ("['WEIGHT']", "hbm"),
        (["OUTPUT"], "hbm"),
        ([], "unknown"),
        ("[]", "unknown"),
    ],
)
def test_place_names(places: object, memory: str) -> None:
    assert memory_of(places) == memory


def test_old_names_and_derived_times(tmp_path: Path) -> None:
    table = pa.table(
        {
            "Timestamp": [5, 10],
            "duration": [3, 4],
            "subgroup": ["Pool", "newengine"],
            "opcode": ["A", "B"],
            "operands": ["", ""],
        }
    )
    capture = open_capture(write_folder(tmp_path / "p", {"Instruction": table}))
    names = ["start_ts", "end_ts", "duration_ns", "engine"]
    assert capture.table("instructions", names).to_pylist() == [
        {"start_ts": 5, "end_ts": 8, "duration_ns": 3, "engine": "gpsimd"},
        {"start_ts": 10, "end_ts": 14, "duration_ns": 4, "engine": "newengine"},
    ]
    assert set(names) <= set(capture.instructions.column_names)


def test_the_profiles_own_units_win(tmp_path: Path) -> None:
    content = tables()
    content["SchemaFields"] = pa.table(
        {
            "table_name": ["Instruction", "Instruction"],
            "field_name": ["start_ts", "duration_ns"],
            "field_unit": ["microseconds", None],
        }
    )
    capture = open_capture(write_folder(tmp_path / "p", content))
    assert capture.instructions["start_ts"].to_pylist()[1] == 100_000
    content["SchemaFields"] = content["SchemaFields"].set_column(
        2, "field_unit", pa.array(["furlongs", None])
    )
    capture = open_capture(write_folder(tmp_path / "q", content))
    with pytest.raises(CaptureError, match="'furlongs' is not a unit of time"):
        _ = capture.instructions


def test_a_later_schema_continues_with_a_note(tmp_path: Path) -> None:
    content = tables()
    content["Metadata"] = content["Metadata"].set_column(
        0, "profile_schema_version", pa.array(["12.0.1"])
    )
    capture = open_capture(write_folder(tmp_path / "p", content))
    assert capture.instructions.num_rows == 40
    assert "schema 12.0.1" in next(i.what for i in capture.quality if i.id == "schema-version")


def test_damaged_and_unfinished_folders(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "p", tables())
    path = folder / "Instruction.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CaptureError, match=r"Instruction\.parquet: not a readable Parquet file"):
        _ = open_capture(folder).instructions
    path.write_bytes(b"")
    with pytest.raises(CaptureError, match="not a readable Parquet file"):
        _ = open_capture(folder).instructions
    content = {"Summary": tables()["Summary"].slice(0, 0)}
    capture = open_capture(write_folder(tmp_path / "q", content))
    assert capture.summary == {}
    assert "had not ended" in next(i.what for i in capture.quality if i.id == "absent-summary")


def test_times_with_fractions_are_refused(tmp_path: Path) -> None:
    content = {"ActiveTime": pa.table({"start_ts": [1.5], "end_ts": [2.0], "engine": ["tensor"]})}
    with pytest.raises(CaptureError, match="column 'start_ts'"):
        _ = open_capture(write_folder(tmp_path / "p", content)).active
