from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roofline.cli.commands import engines
from roofline.errors import QueryError
from tests.analysis.synthetic import capture, instruction, packet

OPERANDS = "S[5] (Tensor)>=1 src=fp32@0x0[1][96] dst=fp32@0x0[1][96] channels=128 "


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = capture(
        [
            instruction("tensor", "MATMUL", 0, 4, ""),
            instruction("vector", "COPY", 5, 6, OPERANDS),
            instruction("vector", "COPY", 7, 8, OPERANDS),
        ],
        [packet(1, 6, 4096)],
        summary={"total_time": 12e-6},
        metadata={"hardware": "trn2", "lnc": 1},
    )
    monkeypatch.setattr(engines, "open_path", lambda path, **opening: made)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(engines.command, ["x.ntff", *arguments], catch_exceptions=False)

    return invoke


def test_opens_with_split_ideal_and_causes_in_80_columns(run: Any) -> None:
    text = run().stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "window body 8 µs of 12 µs" in text
    vector = next(line for line in text.splitlines() if line.startswith("vector"))
    # 96 fp32 elements at 2 a cycle and 0.96 GHz are 50 ns of each 1 us
    assert vector.split() == [
        "vector",
        "██······",
        "25",
        "%",
        "2.00",
        "2.00",
        *"----",
        "5",
        "%",
    ]
    assert "tensor 6 µs" in text
    assert "\x1b" not in text


def test_json_carries_units_and_null_for_unknown(run: Any) -> None:
    record = json.loads(run("--json", "--bins", "4").stdout)
    active = record["variables"]["active_ps"]
    assert active["units"] == "ps"
    assert active["dims"] == ["engine", "core", "bin"]
    assert sum(active["values"][0][0]) == 4_000_000
    assert record["variables"]["percent_of_ideal"]["values"][0][0] == [None] * 4
    assert record["idle"]["variables"]["idle_ps"]["units"] == "ps"


def test_csv_has_a_line_a_combination(run: Any) -> None:
    rows = list(csv.DictReader(run("--csv", "--by", "opcode").stdout.splitlines()))
    assert len(rows) == 5 * 2
    assert sum(int(row["active_ps [ps]"]) for row in rows) == 6_000_000


def test_by_where_window_and_bins(run: Any) -> None:
    assert "MATMUL" in run("--by", "opcode").stdout
    assert "where opcode" in run("--where", 'opcode == "COPY"').stdout
    assert "window 2us..3us 1 µs" in run("--window", "2us..3us").stdout
    assert "active share in 8 bins" in run("--bins", "8").stdout
    assert "qSyncIO0" in run("--by", "queue").stdout


def test_sql(run: Any) -> None:
    pytest.importorskip("duckdb")
    result = run("--sql", "select count(*) as n from dma", "--json")
    assert json.loads(result.stdout) == {"rows": 1, "columns": ["n"], "values": [[1]]}
    assert run("--sql", "select 7 as n").stdout == "n\n7\n"


def test_a_capture_without_a_chip_is_shown_without_ideals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = capture([instruction("vector", "COPY", 0, 1)], metadata={"hardware": None})
    monkeypatch.setattr(engines, "open_path", lambda path, **opening: made)
    text = CliRunner().invoke(engines.command, ["x"], catch_exceptions=False).stdout
    assert "vector  ████████  100 %" in text
    assert "percent of ideal: not known" in text


@pytest.mark.shared
def test_real_captures_fit_80_columns(shared: Path) -> None:
    runner = CliRunner()
    for name in ("trn2-v6-attention/baseline_bf16_s512", "inf2-v5-matmul/matmul_128x128x512"):
        for suffix in (".ntff", ".json.gz"):
            path = shared / f"captures/{name}{suffix}"
            text = runner.invoke(engines.command, [str(path), "--bins", "40"]).stdout
            assert "idle, and the two causes" in text
            # the first line names the file
            assert max(map(len, text.splitlines()[1:])) <= 80, text


SUMMARY = {
    "instance_type": "trn2.3xlarge",
    "total_time": 40e-6,
    "total_active_time": 20e-6,
    "tensor_engine_active_time_percent": 0.25,
    "vector_engine_active_time": 5e-6,
    "vector_engine_instruction_count": 7,
    "dma_active_time": 16e-6,
    "dma_transfer_total_bytes": 1_600_000,
    "hbm_read_bytes": 1_000_000,
    "nc_idx": 9,
}


@pytest.fixture
def summary(tmp_path: Path) -> Any:
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({"n_1": SUMMARY}))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(engines.command, [str(path), *arguments])

    return invoke


def test_a_summary_gives_totals_over_its_body_and_says_what_it_leaves_out(summary: Any) -> None:
    text = summary().stdout
    assert "window body 20 µs of 40 µs" in text
    assert "2 cores: times are a union over cores" in text
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert lines["tensor"][2:] == ["50", "%", "10.00", "?"]
    assert lines["vector"][2:] == ["25", "%", "5.00", "7"]
    assert lines["scalar"] == ["scalar", "????????", "?", "?", "?"]
    assert "80 %  16 µs, 1.6 MB at 100 GB/s" in text
    assert "hbm     read 1 MB, written ? B" in text
    record = json.loads(summary("--window", "total", "--json").stdout)["variables"]
    assert record["active_share"]["values"] == [0.25, 0.125, None, None, None]
    assert summary("--csv").stdout.splitlines()[2] == "vector,5e-06,0.25,7.0"


@pytest.mark.parametrize("asked", [("--by", "opcode"), ("--bins", "4"), ("--window", "1us..2us")])
def test_a_summary_is_not_asked_for_events(summary: Any, asked: tuple[str, ...]) -> None:
    result = summary(*asked)
    assert isinstance(result.exception, QueryError)
