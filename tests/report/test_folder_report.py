"""Folders that hold captures and framework traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.cli.main import main
from roofline.report.compare_run import compare
from roofline.report.run import Settings, result_of
from roofline.report.study_blocks import study_blocks
from roofline.report.study_report import study_figures
from roofline.report.terminal import to_text
from tests.captures.trace_builder import naive_rmsnorm

SUMMARY = {
    "total_time": 2e-4,
    "total_active_time": 1.9e-4,
    "scalar_engine_active_time": 1.8e-4,
    "dma_active_time": 2e-5,
    "hardware_flops": 1e9,
    "hbm_read_bytes": 3145728,
    "hbm_write_bytes": 3145728,
}
TRN2 = Settings(hardware="trn2")


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def folder(path: Path, *traces: str, total_s: float | None = 2e-4) -> Path:
    path.mkdir()
    if total_s is not None:
        (path / "kernel.json").write_text(json.dumps({**SUMMARY, "total_time": total_s}))
    for name in traces:
        naive_rmsnorm().write(path / name)
    return path


def test_operators_of_a_trace_stand_beside_captures(tmp_path: Path) -> None:
    result = result_of(str(folder(tmp_path / "both", "trace.json")), TRN2)
    alone = result_of(str(folder(tmp_path / "one", "trace.json", total_s=None)), TRN2)
    names = [row.measurement.key for row in result.rows]
    assert names[0] == "kernel.json"
    assert names[1:] == [f"trace.json: {row.measurement.key}" for row in alone.rows]
    text = " ".join(to_text(study_blocks(result), width=200).split())
    assert "framework trace" in text
    assert "trace.json: its operators are judged on trn2, LNC 2, 2 cores work" in text


def test_several_traces_alone_are_one_report(tmp_path: Path) -> None:
    path = folder(tmp_path / "two", "a.json", "b.json", total_s=None)
    result = result_of(str(path), Settings())
    starts = [row.measurement.key.split(":")[0] for row in result.rows]
    assert starts == ["a.json"] * (len(starts) // 2) + ["b.json"] * (len(starts) // 2)
    findings = {one.subject for one in result.findings}
    assert {"a.json", "b.json"} <= findings


def test_what_a_folder_holds_and_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = folder(tmp_path / "both", "trace.json")
    (path / "broken.ntff").write_bytes(b"not a trace")
    (path / "sub").mkdir()
    (path / "sub" / "kernel.json").write_text(json.dumps(SUMMARY))
    result = result_of(str(path), TRN2)
    assert any("broken.ntff" in note for note in result.study.notes)
    names = {row.measurement.key for row in result.rows}
    assert {"kernel.json", "sub/kernel.json"} <= names


def test_folders_with_traces_are_written_whole(tmp_path: Path) -> None:
    path = folder(tmp_path / "both", "trace.json")
    assert run("report", str(path), "--hw", "trn2", "-o", str(tmp_path / "out")) == 0
    points = (tmp_path / "out" / "points.csv").read_text("utf-8")
    assert "kernel.json" in points
    assert points.count("trace.json") >= 7


def test_two_folders_compare_captures_and_operators(tmp_path: Path) -> None:
    old = folder(tmp_path / "old", "trace.json")
    new = folder(tmp_path / "new", "trace.json", total_s=4e-4)
    pairs = {pair.key: pair for pair in compare([str(old), str(new)]).comparison.pairs}
    assert pairs["kernel"].delta("time:device_total").relative == pytest.approx(1.0)  # type: ignore[union-attr]
    assert pairs["(all launches)"].outcome == "same"
    assert sum(key.startswith("aten::") for key in pairs) == 6


def test_operators_of_several_traces_are_not_taken_for_repeats(tmp_path: Path) -> None:
    old = folder(tmp_path / "old", "a.json", "b.json", total_s=None)
    new = folder(tmp_path / "new", "a.json", "c.json", total_s=None)
    (versus,) = compare([str(old), str(new)]).comparison.versus
    kinds = {outcome: len(versus.of(outcome)) for outcome in ("same", "gone", "new")}
    assert kinds == {"same": 7, "gone": 7, "new": 7}
    assert all(pair.key.startswith("b: ") for pair in versus.of("gone"))


def test_a_figure_says_how_many_captures_it_leaves_out(tmp_path: Path) -> None:
    """Of two summaries one has products: the roofline has one point, and names the lack."""
    for name, more in (("products", {"hardware_flops": 2e9}), ("none", {})):
        fields = {
            "total_time": 1e-4,
            "total_active_time": 9e-5,
            "dma_active_time": 5e-5,
            "tensor_engine_active_time": 1e-5,
            "hbm_read_bytes": 1000000,
            "hbm_write_bytes": 500000,
            "instance_type": "trn2.3xlarge",
            **more,
        }
        (tmp_path / f"{name}.json").write_text(json.dumps({"n": fields}), encoding="utf-8")
    figures = {one.key: one for one in study_figures(result_of(str(tmp_path), Settings()))}
    assert len(figures["roofline"].points) == 1
    assert "not drawn: 1 of which no FLOP are known" in figures["roofline"].notes
    assert figures["roofline"].subtitle.split(" on ")[0] == f"{tmp_path.name} 2 captures"
