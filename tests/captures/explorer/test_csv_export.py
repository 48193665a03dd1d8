from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import csv

from roofline.captures.registry import open_capture
from roofline.errors import CaptureError
from tests.captures.explorer_folder import tables


def write_csv(path: Path, name: str) -> Path:
    table = tables()[name]
    csv.write_csv(
        table.select(sorted(table.column_names, key=lambda c: c != "timeline_track")), path
    )
    return path


def test_a_saved_table_is_read_and_marked_as_sampled(tmp_path: Path) -> None:
    capture = open_capture(write_csv(tmp_path / "saved view.csv", "Instruction"))
    assert capture.format == "explorer-csv"
    assert capture.metadata["sampled"] is True
    assert next((i.id, i.severity) for i in capture.quality) == ("sampled", "lost")
    rows = capture.table("instructions", ["start_ts", "engine", "id", "raw_flops"]).to_pylist()
    assert rows[0] == {"start_ts": 0, "engine": "tensor", "id": 2**61, "raw_flops": 0}
    assert rows[1]["raw_flops"] is None
    assert capture.instructions.num_rows == 40


def test_a_folder_of_saved_tables(tmp_path: Path) -> None:
    for name in ("Instruction", "DmaPacket", "SemaphoreUpdate"):
        write_csv(tmp_path / f"{name}.csv", name)
    capture = open_capture(tmp_path)
    assert sorted(capture.sources) == ["dma", "instructions", "semaphores"]
    assert capture.dma["transfer_bytes"].to_pylist() == [512] * 40
    assert capture.semaphores["id"].to_pylist() == ["7", "8"]


def test_crlf_bom_and_newlines_in_text(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(
        b"\xef\xbb\xbftimeline_track,start_ts,end_ts,duration_ns,engine,opcode,operands\r\n"
        b'TensorMatrix,1,5,4,Tensor,MATMUL,"a\nb,""c"""\r\n'
    )
    row = open_capture(path).instructions.to_pylist()[0]
    assert (row["timeline_track"], row["operands"]) == ("TensorMatrix", 'a\nb,"c"')


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"opcode,operands,start_ts\nMATMUL,x,soon\n", "not a readable CSV"),
        (b"opcode,operands,start_ts\nMATMUL,x\n", "not a readable CSV"),
        (b"opcode,operands,start_ts\nMATMUL,x,99999999999999999999\n", "not a readable CSV"),
        (b"name,flops\na,1\n", "a table: neither"),
    ],
)
def test_bad_csv_is_one_clear_error(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(data)
    with pytest.raises(CaptureError, match=message) as caught:
        _ = open_capture(path).instructions
    assert "\n" not in str(caught.value)
