from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.captures.registry import open_capture
from roofline.captures.summary.capture import select_program
from roofline.captures.summary.fields import clean_summary, fraction_scale, logical_cores
from roofline.errors import CaptureError

A = "n_" + "a" * 40
B = "n_" + "b" * 40
RECORD: dict[str, Any] = {
    "instance_type": "trn2.3xlarge",
    "profiler_version": "2.28.23.0",
    "nc_idx": 4,
    "total_time": 0.0001,
    "vector_engine_active_time": 0.00005,
    "vector_engine_active_time_percent": 0.5,
    "hbm_read_bytes": 4096,
}
LOG = 'time="2026-03-18T18:37:07Z" level=warning msg="NeuronCore {buffer} usage [off]"\n'


def write(folder: Path, text: str, name: str = "summary.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def as_text(key: str, record: dict[str, Any]) -> str:
    return "\n".join([key, *(f"    {name:<44}{value}" for name, value in record.items())])


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({A: RECORD}),
        json.dumps({A: RECORD}, indent=4) + "\n",
        LOG + LOG + json.dumps({A: RECORD}) + "\nWARN[0000] done {\n",
        "\ufeff" + json.dumps({A: RECORD}),
        json.dumps([{A: RECORD}]),
        "(venv) user@host:~$ neuron-profile view\n" + as_text(A, RECORD),
        "WARN[0000] text\n" + as_text(A, RECORD) + "(venv) user@host:~$ ",
        as_text(A, RECORD) + "\n(venv) user@host:~$ exit\n",
    ],
)
def test_a_record_is_found_in_its_noise(tmp_path: Path, text: str) -> None:
    capture = open_capture(write(tmp_path, text))
    assert capture.summary == dict(sorted(RECORD.items()))
    assert capture.metadata["hardware"] == "trn2"
    assert capture.metadata["lnc"] == 1
    assert capture.metadata["program_key"] == A
    assert not capture.has("instructions")
    assert "summary-only" in [issue.id for issue in capture.quality]


def test_several_programs_are_kept_and_can_be_selected(tmp_path: Path) -> None:
    long = {**RECORD, "total_time": 0.3}
    system = {"total_duration_ns": 5, "message_count": 2}
    text = json.dumps({A: RECORD, B: long, "s_" + "c" * 40: system})
    capture = open_capture(write(tmp_path, text))
    assert capture.summary["total_time"] == 0.3
    assert [item["key"] for item in capture.metadata["programs"]] == [A, B]
    assert capture.metadata["system"][0]["summary"]["message_count"] == 2
    assert "several-programs" in [issue.id for issue in capture.quality]
    assert capture.table("programs")["total_time"].to_pylist() == [0.0001, 0.3]
    for choice in (A, "n_aa", "1"):
        assert select_program(capture, choice).summary["total_time"] == 0.0001
    with pytest.raises(CaptureError, match="more than one program fits 'n_'"):
        select_program(capture, "n_")
    with pytest.raises(CaptureError, match="no program fits '3'; held: 1: n_a"):
        select_program(capture, "3")


def test_records_appended_one_after_the_other(tmp_path: Path) -> None:
    text = LOG + json.dumps({A: RECORD}) + "\n" + LOG + json.dumps({B: RECORD})
    assert len(open_capture(write(tmp_path, text)).metadata["programs"]) == 2
    text = as_text(A, RECORD) + "\n" + as_text(B, RECORD)
    assert len(open_capture(write(tmp_path, text)).metadata["programs"]) == 2


@pytest.mark.parametrize("value", [None, "n/a", "N/A", "", "nan", -1, -1.0, float("nan"), 1e999])
def test_not_available_is_left_out_and_zero_is_kept(value: Any) -> None:
    assert clean_summary({"transpose_flops": value, "model_flops": 0}) == {"model_flops": 0}


def test_not_available_in_files(tmp_path: Path) -> None:
    text = json.dumps({A: {**RECORD, "transpose_flops": float("nan"), "model_flops": -1}})
    assert "NaN" in text
    assert open_capture(write(tmp_path, text)).summary == dict(sorted(RECORD.items()))
    text = as_text(A, {**RECORD, "transpose_flops": "NaN", "model_flops": "n/a"})
    assert open_capture(write(tmp_path, text)).summary == dict(sorted(RECORD.items()))


def test_old_spellings(tmp_path: Path) -> None:
    record = {"latency": 2e-5, "sb_read_bytes": 7, "dma_total_bytes": 9}
    summary = open_capture(write(tmp_path, json.dumps({A: record}))).summary
    assert summary == {"total_time": 2e-5, "sbuf_read_bytes": 7, "dma_transfer_total_bytes": 9}


def test_a_unit_column_decides_the_scale(tmp_path: Path) -> None:
    text = (
        f"{A}\n  Overall\n    total_time  100 us\n"
        "    vector_engine_active_time   50 us\n"
        "    vector_engine_active_time_percent   50.0 %\n"
        "    throttle_active_nc0_time_ns   12 ns\n    hbm_read_bytes  4096 bytes\n"
    )
    assert open_capture(write(tmp_path, text)).summary == {
        "total_time": pytest.approx(1e-4, rel=1e-12),  # one rounding of a decimal product
        "vector_engine_active_time": pytest.approx(5e-5, rel=1e-12),
        "vector_engine_active_time_percent": 0.5,
        "throttle_active_nc0_time_ns": 12,
        "hbm_read_bytes": 4096,
    }


def test_percentages_copied_from_the_interface_become_fractions(tmp_path: Path) -> None:
    record = {**RECORD, "vector_engine_active_time_percent": 50.0, "mbu_estimated_percent": 83}
    capture = open_capture(write(tmp_path, json.dumps({A: record})))
    assert capture.summary["vector_engine_active_time_percent"] == 0.5
    assert capture.summary["mbu_estimated_percent"] == pytest.approx(0.83, rel=1e-12)
    assert "percent-scale" in [issue.id for issue in capture.quality]


@pytest.mark.parametrize(
    ("summary", "scale"),
    [
        ({}, 1.0),
        ({"vector_engine_active_time_percent": 0.83}, 1.0),
        ({"vector_engine_active_time_percent": 83}, 0.01),
        (
            {
                "total_time": 1.0,
                "vector_engine_active_time": 0.004,
                "vector_engine_active_time_percent": 0.4,
            },
            0.01,
        ),
    ],
)
def test_the_scale_follows_from_the_times(summary: dict[str, float], scale: float) -> None:
    assert fraction_scale(summary)[0] == scale


@pytest.mark.parametrize(
    ("nc_idx", "hardware", "lnc"),
    [(4, "trn2", 1), (3, "trn2", 1), (9, "trn2", 2), (5, "trn2", 2), (1, "inf2", 1)],
)
def test_cores_from_the_core_number(nc_idx: int, hardware: str, lnc: int) -> None:
    assert logical_cores({"nc_idx": nc_idx}, hardware)[0] == lnc


@pytest.mark.parametrize("cores", [1, 2])
def test_cores_from_utilisation(cores: int) -> None:
    peak, bandwidth, seconds = 78.6432e12, 716e9, 1e-4
    summary = {
        "hardware_flops": 1e9,
        "hfu_estimated_percent": 1e9 / (peak * cores * seconds),
        "peak_flops_bandwidth_ratio": peak / bandwidth,
        "hbm_read_bytes": 1_000_000,
        "mbu_estimated_percent": 1_000_000 / (bandwidth * seconds),
    }
    assert logical_cores(summary, "trn2")[0] == cores


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps({A: RECORD})[:200], "truncated or malformed"),
        (json.dumps({A: None}), "no summary record"),
        (
            json.dumps({A: RECORD}).replace('"nc_idx": 4', '"nc_idx": 4, "nc_idx": 5'),
            "'nc_idx' is there twice",
        ),
        (json.dumps({"s_" + "c" * 40: {"x_engine_active_time": 1}}), "."),
        (json.dumps({A: {**RECORD, "nc_idx": 0}}).replace(": 0,", ": " + "9" * 5000 + ","), "."),
        (as_text(A, {"vector_engine_active_time": 1.0}), "no summary record"),
        (as_text(A, RECORD) + "\n    total_time  7\n", "there twice"),
    ],
)
def test_bad_summaries_are_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CaptureError, match=message) as caught:
        open_capture(write(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (json.dumps({A: RECORD}).encode("utf-16"), "UTF-16"),
        (json.dumps({A: RECORD}).encode("utf-16-le"), "UTF-16"),
        (b"", "empty"),
        (b"  \n", "white space"),
        (b'{"cells": [], "nbformat": 4}', "JSON of something else: an object with cells"),
        (b"[1, 2]", "an array with 2 items"),
        (b'{"a": [', "damaged"),
        (b"PAR1....", "one Parquet file"),
        (b"PK\x03\x04", "zip"),
    ],
)
def test_other_files_are_named(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(CaptureError, match=message) as caught:
        open_capture(path)
    assert "\n" not in str(caught.value)


def test_every_shared_summary_opens(shared: Path) -> None:
    paths = sorted((shared / "captures").glob("trn2-summary-*/*"))
    paths.append(shared / "captures/trn2-v5-vector-add/vector_add_fd1000.summary.txt")
    found = {path.name: open_capture(path) for path in paths}
    assert len(found) == 6
    for capture in found.values():
        summary = capture.summary
        assert len(summary) >= 77
        assert capture.metadata["hardware"] == "trn2"
        moved = summary["hbm_read_bytes"] + summary["hbm_write_bytes"]
        # MBU's definition, with the one HBM stack of 716 GB/s
        assert summary["mbu_estimated_percent"] == pytest.approx(
            moved / summary["total_time"] / 716e9, rel=1e-6
        )
    assert found["gather_mean_nki.json"].metadata["lnc"] == 1
    assert found["vector_add_fd1000.txt"].metadata["lnc"] == 2
