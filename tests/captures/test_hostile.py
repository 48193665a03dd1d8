"""Whatever bytes a file holds, only CaptureError comes out of reading it."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import csv

from roofline.captures.registry import open_capture
from roofline.errors import CaptureError
from tests.captures.explorer_folder import tables
from tests.captures.vendor_json import profile

SUMMARY = json.dumps({"n_" + "a" * 40: {"total_time": 1e-4, "nc_idx": 4, "hfu_percent": 0.5}})
SEEDS = (
    json.dumps(profile(rows=6), separators=(",", ":")).encode(),
    json.dumps(profile(rows=2, cores=1), indent=1).encode(),
    SUMMARY.encode(),
    b"n_" + b"a" * 40 + b"\n    total_time   0.1\n    vector_engine_active_time   0.05\n",
)
PIECES = (b"{", b"}", b"[", b"]", b'"', b",", b":", b"NaN", b"-", b"1e999", b"null", b"\\", b"\0")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        action = draw(st.integers(0, 3))
        if action == 0:
            del data[at : at + draw(st.integers(1, 200))]
        elif action == 1:
            data[at:at] = draw(st.sampled_from(PIECES))
        elif action == 2:
            data[at : at + 1] = draw(st.binary(min_size=1, max_size=3))
        else:
            data = data[:at]
    return gzip.compress(bytes(data)) if draw(st.booleans()) else bytes(data)


def read_everything(path: Path) -> str:
    """Read all there is; return the error's text, or nothing. Other errors come through."""
    try:
        capture = open_capture(path)
        for name in list(capture.sources):
            assert capture.table(name).num_rows >= 0
        assert len(capture.summary) >= 0
        assert len(capture.quality) + len(capture.metadata) >= 0
    except CaptureError as error:
        return str(error)
    return ""


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=damaged())
def test_only_capture_errors_escape(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "capture"
    path.write_bytes(data)
    assert "\n" not in read_everything(path).strip()


def explorer_seeds() -> dict[str, bytes]:
    """A CSV file and a Parquet file of the same table."""
    table = tables(8)["Instruction"]
    text, pages = io.BytesIO(), io.BytesIO()
    csv.write_csv(table, text)
    pq.write_table(table, pages)
    return {"Instruction.csv": text.getvalue(), "Instruction.parquet": pages.getvalue()}


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(["Instruction.csv", "Instruction.parquet"]),
    edits=st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=4)), min_size=1, max_size=4),
)
def test_damaged_tables(tmp_path: Path, name: str, edits: list[tuple[int, bytes]]) -> None:
    data = bytearray(explorer_seeds()[name])
    for at, piece in edits:
        data[at % len(data) : at % len(data) + 1] = piece
    folder = tmp_path / name.partition(".")[2]
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(bytes(data))
    assert "\n" not in read_everything(folder).strip()


@pytest.mark.parametrize(
    "data",
    [
        b'{"instruction":' + b"[" * 100_000,
        b'{"instruction":[' + b'{"a":' * 100_000,
        b'{"summary":' + b"[" * 100_000,
        b'{"unknown_table":[' + b"[" * 50_000 + b"]" * 50_000 + b'],"dma":[]}',
        b'{"n_' + b"a" * 40 + b'":{"total_time":' + b"[" * 100_000,
        b'{"dma":{"a":1}}',
        b'{"dma":[1,2,3]}',
        b'{"dma":[[1],[2]]}',
        b'{"dma":[],"summary":7,"metadata":[null],"warnings":{"x":1}}',
        b'{"summary":[{"total_time":"soon","static_dma_size":"x"}],"dma":[]}',
        b'{"metadata":[{"num_physical_cores":"two"}],"warnings":[1],"active_time":[]}',
    ],
    ids=range(11),
)
def test_hostile_documents(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "capture.json"
    path.write_bytes(data)
    assert "\n" not in read_everything(path).strip()
