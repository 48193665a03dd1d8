"""System profiles in the two documented JSON forms; no sample of either is public."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from roofline.analysis.launches import launches
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError

BASE = 1_790_857_026_000_000_123


def runtime_events() -> dict:
    """Two executions on two cores; the last stop is missing."""
    rows = []
    for number in range(2):
        for core in (0, 1):
            tracking = number * 10 + core
            for phase, at in (("start", 1_000 * number + core), ("stop", 1_000 * number + 500)):
                if (number, core, phase) == (1, 1, "stop"):
                    continue
                rows.append(
                    {
                        "event_type": "nc_exec_running", "phase": phase, "id": len(rows),
                        "nc_idx": 0, "tracking_id": tracking, "thread_id": 5, "worker_gid": 0,
                        "timestamp_ns": BASE + at, "nrta_seq_id": (7 << 48) + number,
                        "data": {"exec_id": number, "device_core_idx": core, "nc_timestamp_ns": 1},
                    }
                )  # fmt: skip
    rows.append({"event_type": "dmem_buf_copyin", "phase": "start", "tracking_id": 99,
                 "timestamp_ns": BASE, "data": {"size": 64}})  # fmt: skip
    rows.append({"event_type": "dmem_buf_copyin", "phase": "stop", "tracking_id": 99,
                 "timestamp_ns": BASE + 40})  # fmt: skip
    return {"events": rows, "data_version": 2}


def test_starts_and_stops_of_the_runtime_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(runtime_events()))
    capture = open_capture(path)
    assert capture.format == "neuron_system"
    rows = capture.table("device").to_pylist()
    assert [row["duration_ns"] for row in rows] == [500, 499, 500, None]
    assert rows[0]["start_ts"] == BASE
    assert rows[3]["start_ts"] == BASE + 1_001
    assert rows[2]["nrt_sequence_id"] == (7 << 48) + 1
    assert rows[1]["device_core_idx"] == 1
    copies = capture.table("runtime").to_pylist()
    assert [(row["name"], row["duration_ns"], row["bytes"]) for row in copies] == [
        ("dmem_buf_copyin", 40, 64)
    ]
    assert {issue.id for issue in capture.quality} >= {"no_duration"}
    result = launches(capture)
    assert result.attrs["basis"] == "device"
    assert result["launch_duration_ns"].values.tolist() == [500, 500]


@pytest.mark.parametrize("key", ["trace_event", "trace_events"])
def test_rows_of_the_older_command_line(tmp_path: Path, key: str) -> None:
    row = {
        "name": "nc_exec_running", "timestamp": BASE, "duration": 21_000, "timestamp_unit": "ns",
        "exec_id": 3, "device_core_idx": 4, "lnc_idx": 0, "nc_idx": 0, "process_id": 11,
        "model": "graph.neff", "type": 11, "group": "nrt-nc-000",
    }  # fmt: skip
    other = {"name": "aten::mul", "timestamp": BASE, "duration": 5, "type": 99999,
             "group": "framework-7"}  # fmt: skip
    path = tmp_path / "system_profile.json.gz"
    path.write_bytes(gzip.compress(json.dumps({key: [row, other, 3], "mem_usage": []}).encode()))
    capture = open_capture(path)
    found = capture.table("device").to_pylist()
    assert [(r["start_ts"], r["duration_ns"], r["model_name"], r["pid"]) for r in found] == [
        (BASE, 21_000, "graph.neff", "11")
    ]
    assert capture.table("other")["category"].to_pylist() == ["framework"]


def test_damaged_profiles_are_refused(tmp_path: Path) -> None:
    text = json.dumps(runtime_events())
    path = tmp_path / "events.json"
    for bad in (text[:-30], text.replace('"events"', '"rows"')):
        path.write_text(bad)
        with pytest.raises(CaptureError):
            open_capture(path)
