"""Numbers that no run can have reached are refused by name, before anything is added up."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from roofline.captures import memory
from roofline.captures.explorer.quality import parquet_issues
from roofline.captures.info import describe
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError
from tests.captures.explorer_folder import tables
from tests.captures.vendor_json import profile

Change = Callable[[pa.Table], pa.Table]


def folder(root: Path, changed: Mapping[str, Change]) -> Path:
    for name, table in tables().items():
        pq.write_table(changed.get(name, lambda held: held)(table), root / f"{name}.parquet")
    return root


def column(name: str, values: Any) -> Change:
    def change(table: pa.Table) -> pa.Table:
        array = pa.array(values) if len(values) > 1 else pa.array(values * table.num_rows)
        return table.set_column(table.column_names.index(name), name, array)

    return change


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("Instruction", column("start_ts", [0] * 39 + [2**62]), "longer than any run"),
        ("Instruction", column("pcore_idx", [2**40]), "no physical core"),
        ("Instruction", column("pcore_idx", [-5]), "-5 is no physical core"),
        ("Instruction", column("end_ts", [None] * 39 + [7]), "39 of 40 rows have no value"),
        ("Instruction", column("engine", [3]), "cannot be decoded"),
        ("Instruction", column("opcode", [b"\xff"]), "cannot be decoded"),
        ("DmaPacket", column("transfer_bytes", [-4096]), "-4096 is negative"),
        ("DmaPacket", column("transfer_bytes", [2**60]), "is more than 64 bits hold"),
        ("DmaPacket", column("packet_aggregation_id", ["x"]), "cannot be decoded"),
        (
            "Instruction",
            lambda held: pa.Table.from_arrays(
                [*held.columns, held.column(0)], names=[*held.column_names, "start_ts"]
            ),
            "column 'start_ts' is there twice",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_no_run_can_say_is_refused(
    tmp_path: Path, table: str, change: Change, said: str
) -> None:
    with pytest.raises(CaptureError, match=said) as refused:
        describe(open_capture(folder(tmp_path, {table: change})), full=True)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("instruction", {"timestamp": 2**63 - 2}),
        ("instruction", {"elements": 2**62, "opcode": "MATMUL"}),
        ("dma", {"transfer_size": 2**62}),
    ],
)
def test_sums_of_a_profile_never_wrap_around(
    tmp_path: Path, section: str, change: Mapping[str, Any]
) -> None:
    document = profile(rows=9)
    for row in document[section]:
        row.update(change)
    (tmp_path / "profile.json").write_text(json.dumps(document))
    with pytest.raises(CaptureError):
        describe(open_capture(tmp_path / "profile.json"), full=True)


def test_a_time_beyond_every_counter_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({"total_time": 1e-3, "dma_active_time": 1e300}))
    assert dict(open_capture(path).summary) == {"total_time": 1e-3}


def test_a_table_larger_than_memory_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = open_capture(folder(tmp_path, {}))
    monkeypatch.setattr(memory, "free_bytes", lambda: 100)
    with pytest.raises(CaptureError, match=r"40 rows of \d+ columns need .* GiB are free"):
        capture.table("instructions")
    assert dict(describe(capture).counts)["instructions"] == 40  # the footer tells


def test_a_part_with_a_huge_number_costs_nothing(tmp_path: Path) -> None:
    parts = {
        "DmaPacket": [tmp_path / "DmaPacket_0.parquet", tmp_path / "DmaPacket_99999999.parquet"]
    }
    issues = parquet_issues(parts, {}, lambda _: [], {}, "")
    (lost,) = (issue for issue in issues if issue.id == "missing-part")
    assert lost.count == 99_999_998
    assert lost.what.startswith("parts 1, 2, 3")


def test_a_stream_that_grows_as_no_capture_does_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roofline.captures.plainfile._BOMB_BYTES", 1 << 20)
    path = tmp_path / "bomb.json.gz"
    event = b'{"ph":"X","name":"a","cat":"cpu_op","ts":1,"dur":1,"pid":1,"tid":1},'
    for text in (
        b'{"instruction":[' + b" " * (8 << 20) + b"]}",
        b'{"traceEvents":[' + event * 100_000 + event[:-1] + b"]}",
    ):
        path.write_bytes(gzip.compress(text))
        with pytest.raises(CaptureError, match="gzip that grows more than 200 times"):
            describe(open_capture(path))
