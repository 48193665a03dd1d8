from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.analysis.bounds_counters import capture_bounds
from roofline.captures.registry import open_capture
from roofline.cli.main import main
from roofline.hardware.load import load_hardware
from roofline.model.estimate import estimate
from roofline.report.alike import skeleton
from roofline.report.blocks import Entries, Table
from roofline.report.data import study_json
from roofline.report.markdown import to_markdown
from roofline.report.run import Settings, result_of
from roofline.report.study_blocks import study_blocks, summary_blocks
from roofline.report.study_report import study_page
from roofline.report.terminal import to_text
from roofline.study.evaluate import StudyResult
from roofline.units import format_time
from roofline.work.closed_form import closed_form

SUMMARY = {
    "total_time": 224.1955e-6,
    "total_active_time_percent": 0.982322,
    "tensor_engine_active_time_percent": 0.0191948,
    "vector_engine_active_time_percent": 0.0178349,
    "scalar_engine_active_time_percent": 0.936025,
    "gpsimd_engine_active_time_percent": 0.0533104,
    "hbm_read_bytes": 3145728,
    "hbm_write_bytes": 3145728,
    "mbu_estimated_percent": 0.0390201,
}


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


@pytest.fixture
def summary(tmp_path: Path) -> Path:
    """The published summary of 28 chained SiLU on trn2, LNC 2."""
    path = tmp_path / "silu.json"
    path.write_text(json.dumps({"n1": SUMMARY}), encoding="utf-8")
    return path


def of(path: Path, **settings: object) -> StudyResult:
    return result_of(str(path), Settings(**settings))


def test_a_summary_is_judged_and_reported(
    summary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    out = tmp_path / "out"
    assert run("report", str(summary), "--hw", "trn2", "-o", str(out)) == 0
    assert "Scalar is the limit: 0.95 of the window busy" in capsys.readouterr().out.replace(
        "\n  ", " "
    )
    data = json.loads((out / "report.json").read_text("utf-8"))
    assert data["kind"] == "capture"
    (row,) = data["rows"]
    assert row["verdict"]["resource"] == "scalar"
    assert row["verdict"]["weak"]  # a union over two cores
    assert row["placement"]["bytes"] == {"measured": 6291456}
    assert row["placement"]["lower_bound_s"] is None  # nothing minimal is known
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((root / "docs" / "schema" / "report-1.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)


def test_sizes_of_a_summary_are_its_lower_bound_unless_they_were_not_touched(
    tmp_path: Path,
) -> None:
    """Table, ladder and gap tree of one page divide by the same bytes."""
    paths = {}
    for name, sizes in (("all", 3145728), ("part", 8388608)):
        fields = {**SUMMARY, "inputs_outputs_weights_size_bytes": sizes}
        paths[name] = tmp_path / f"{name}.json"
        paths[name].write_text(json.dumps({"n1": fields}), encoding="utf-8")
    ((whole,), (part,)) = (of(path, hardware="trn2").rows for path in paths.values())
    rate = whole.placement.hardware.memory_ceiling("theoretical").value
    assert whole.placement.bound_s == 3145728 / rate
    assert part.placement.bound_s is None  # 6.3 of 8.4 MB were moved: no minimum
    assert any("8,388,608 B of inputs and outputs" in note for note in part.placement.notes)
    hardware = whole.placement.hardware
    for path, useful in ((paths["all"], 3145728), (paths["part"], 6291456)):
        found = capture_bounds(open_capture(path), hardware)
        level = found.bound_s.sel(family="dma", level="useful")
        assert float(level) == pytest.approx(useful / rate, rel=1e-12)


def test_a_capture_without_a_chip_asks_for_it(
    summary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("report", str(summary)) == 2
    assert "name the hardware" in capsys.readouterr().err


def test_a_folder_of_captures_is_one_report(summary: Path, tmp_path: Path) -> None:
    (tmp_path / "second.json").write_text(summary.read_text("utf-8"), "utf-8")
    (tmp_path / "notes.txt").write_text("not a capture", "utf-8")
    result = of(tmp_path, hardware="trn2")
    assert [row.variant.name for row in result.rows] == ["second.json", "silu.json"]


def test_the_same_is_found_in_many_captures_and_said_once(
    summary: Path, tmp_path: Path, root: Path
) -> None:
    counters = json.loads(summary.read_text("utf-8"))["n1"]
    for scale, name in enumerate(("run2", "run10", "run30", "run4"), 1):
        slower = counters | {
            "total_time": counters["total_time"] * scale,
            "dma_active_time_percent": 0.9,
        }
        (tmp_path / f"{name}.json").write_text(json.dumps({"n1": slower}), "utf-8")
    summary.unlink()
    result = of(tmp_path, hardware="trn2")
    # numbers in names count as numbers
    names = ["run2.json", "run4.json", "run10.json", "run30.json"]
    assert [row.variant.name for row in result.rows] == names
    ids = [one.id for one in result.findings]
    assert len(set(ids)) < len(ids)
    (entries,) = (block for block in summary_blocks(result) if isinstance(block, Entries))
    kinds = {(one.id, skeleton(one.what)) for one in result.findings}
    assert len(entries.items) == len(kinds)
    every = next(entry for entry in entries.items if "all 4 captures" in entry.title)
    assert every.each is not None
    assert {row[0] for row in every.each.rows} == set(names)
    stakes = dict(every.lines)["at stake"]
    worst = max(one.at_stake_s or 0 for one in result.findings)
    assert stakes.startswith(f"at most {format_time(worst)} in run4.json")
    assert "and 1 more" in stakes
    text = to_text(summary_blocks(result))
    assert text.count(every.title.split(" (")[0][:30]) == 1
    assert len(study_json(result)["findings"]) == len(result.findings)
    assert every.title in to_markdown(study_blocks(result))
    page = study_page(result)
    assert page.count('<details class="each">') == sum(
        entry.each is not None for entry in entries.items
    )


def test_files_of_one_execution_are_one_result_and_named(summary: Path, tmp_path: Path) -> None:
    text = summary.read_text("utf-8")
    (tmp_path / "silu.summary.json").write_text(text, "utf-8")
    (tmp_path / "other.json").write_text(text, "utf-8")
    result = of(tmp_path, hardware="trn2")
    assert [row.variant.name for row in result.rows] == ["other.json", "silu.json"]
    assert result.same_execution == {"silu.json": ("silu.summary.json",)}
    assert study_json(result)["same_execution"] == {"silu.json": ["silu.summary.json"]}
    assert "3 captures of 2 executions" in to_text(summary_blocks(result))
    tables = [block for block in study_blocks(result) if isinstance(block, Table)]
    (same,) = [table for table in tables if table.columns[0].startswith("execution")]
    assert same.rows == (("silu.json", "silu.summary.json"),)


def test_a_capture_joins_its_work_and_an_unprofiled_time(
    summary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "kernels.py").write_text(
        "import torch\n\ndef silu(x):\n    return torch.nn.functional.silu(x)\n", "utf-8"
    )
    monkeypatch.chdir(tmp_path)
    joined = {
        "target": "kernels.py:silu",
        "arguments": ("x=512x3072:bf16",),
        "hardware": "trn2",
        "time": "210us",
        "clock": "nki_benchmark",
    }
    result = of(summary, **joined)
    profiled, plain = result.rows
    assert profiled.work.minimal_bytes == 2 * 512 * 3072 * 2
    assert profiled.work.measured_bytes == 6291456
    assert profiled.placement.bound is not None
    assert plain.time_s == pytest.approx(210e-6)
    assert plain.placement.clock == "nki_benchmark"
    alone = result_of(None, Settings(**joined))
    assert [row.time_s for row in alone.rows] == [pytest.approx(210e-6)]


def test_a_time_of_a_closed_form_has_the_model_beside_it(
    capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    given = [
        *("report", "--work", "rmsnorm:fused", "--hw", "trn2"),
        *("--arg", "rows=512", "--arg", "cols=3072", "--arg", "dtype=bf16"),
        *("--time", "33us", "--clock", "device_execution"),
    ]
    assert run(*given, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    (row,) = data["rows"]
    assert row["placement"]["bytes"]["minimal"] == 2 * (2 * 512 * 3072 + 3072)
    model = data["estimates"][row["key"]]
    wanted = estimate(
        closed_form("rmsnorm", rows=512, cols=3072, dtype="bf16"), load_hardware("trn2")
    )
    assert model["time_s"] == pytest.approx(wanted.time_s)
    assert model["range_s"] == pytest.approx([wanted.low_s, wanted.high_s])
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((root / "docs" / "schema" / "report-1.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)
    assert run(*given) == 0
    out = capsys.readouterr().out
    assert "Modelled beside the time" in out
    assert f"{33e-6 / wanted.time_s:.3g}x" in out
    assert "and not measured" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--work", "m:f"], "needs --time and --clock"),
        (["--work", "m:f", "--time", "3us"], "needs --clock"),
        (["--work", "m:f", "--time", "3", "--clock", "host_wall"], "no unit"),
        (["--work", "m:f", "--time", "-3us", "--clock", "host_wall"], "more than 0"),
        ([], "nothing to report on"),
    ],
)
def test_incomplete_questions(
    args: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "m.py").write_text("def f(): pass\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("roofline.report.run._work", lambda settings: None)
    assert run("report", *args) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_captures_of_a_study_are_rows_with_the_work_of_their_variant(
    summary: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "run.json").write_text(summary.read_text("utf-8"), "utf-8")
    (folder / "study.toml").write_text(
        """\
schema_version = 1
name = "mine"
title = "A capture in a study"
op = "rmsnorm"
hardware = ["trn2"]

[[config]]
params = { rows = 512, cols = 3072 }
dtype = "bf16"

[sources.me]
title = "measured here"

[[variant]]
name = "fused"
mode = "fused"

[[variant.capture]]
path = "run.json"
source = "me"
""",
        "utf-8",
    )
    (row,) = of(folder).rows
    assert row.measurement.key == "fused, run.json"
    assert row.verdict.resource == "scalar"
    assert row.work.minimal_bytes == 2 * (2 * 512 * 3072 + 3072)
    assert row.work.measured_bytes == 6291456
    assert run("report", str(folder), "-o", str(tmp_path / "out")) == 0


def test_a_file_that_is_no_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.bin"
    bad.write_bytes(b"\0\1\2 nothing")
    assert run("report", str(bad)) == 2
    assert "not a capture" in capsys.readouterr().err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run("report", str(empty)) == 2


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "label", "busiest"),
    [
        ("trn2-v6-attention/fused_bf16_s1024.ntff", "serialization", "tensor"),
        ("trn2-v6-attention/fused_bf16_s1024.json.gz", "serialization", "tensor"),
        ("trn2-v6-attention/baseline_bf16_s512.ntff", "serialization", "dma"),
        ("trn2-summary-json/gather_mean_nki.json", "dma:small-transfers", "dma"),
        ("trn2-summary-text/vector_add_fd1000.txt", "serialization", "dma"),
        ("inf2-v5-matmul/matmul_128x128x1024.ntff", "serialization", "dma"),
    ],
)
def test_public_captures_have_a_report(
    shared: Path, tmp_path: Path, name: str, label: str, busiest: str
) -> None:
    out = tmp_path / "out"
    assert run("report", str(shared / "captures" / name), "-o", str(out)) == 0
    data = json.loads((out / "report.json").read_text("utf-8"))
    (row,) = data["rows"]
    assert row["verdict"]["label"] == label
    assert row["verdict"]["busiest"] == busiest
    assert (out / "ladder.svg").stat().st_size > 1000
    # what was measured takes no longer than the window it was measured in
    window = next(rung["value_s"] for rung in row["ladder"] if rung["key"] == "measured")
    assert all(rung["value_s"] <= window * 1.001 for rung in row["ladder"] if rung["key"] == "busy")


@pytest.mark.shared
def test_the_same_execution_in_two_formats_is_judged_alike(shared: Path) -> None:
    folder = shared / "captures" / "trn2-v6-attention"
    raw, vendor = (
        of(folder / f"fused_bf16_s512.{suffix}").rows[0] for suffix in ("ntff", "json.gz")
    )
    assert raw.verdict.label == vendor.verdict.label
    assert raw.time_s == pytest.approx(vendor.time_s, rel=0.01)
    for one in raw.evidence.resources:
        other = vendor.evidence.resource(one.resource)
        if one.active is not None and other.active is not None:
            assert one.active == pytest.approx(other.active, abs=0.02)


@pytest.mark.shared
def test_a_folder_of_traces_says_each_finding_once(shared: Path) -> None:
    result = of(shared / "captures" / "trn2-v6-attention")
    assert len(result.rows) == 5
    assert {len(others) for others in result.same_execution.values()} == {1}
    (entries,) = (block for block in summary_blocks(result) if isinstance(block, Entries))
    assert len(entries.items) < len(result.findings) / 3
    waits = next(entry for entry in entries.items if "waits" in entry.title)
    assert waits.title.endswith("(all 5 captures)")
    assert len(to_text(summary_blocks(result)).splitlines()) < 140
