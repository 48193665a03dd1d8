from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from roofline.captures.folder import (
    _only_with_prefix,
    is_folder,
    one_each,
    open_captures,
    scan_folder,
)
from roofline.captures.neff.beside import neffs_beside
from roofline.captures.ntff.trace import open_trace
from roofline.captures.registry import open_capture
from roofline.cli.main import cli
from roofline.errors import CaptureError
from tests.captures.neff_builder import NeffFile, programs_of
from tests.captures.trace_builder import naive_rmsnorm


def neff_of(path: Path, uuid: bytes | None = None) -> NeffFile:
    trace = open_trace(path)
    return NeffFile(programs=programs_of(trace), uuid=uuid or trace.header.uuid.ljust(16, b"\1"))


@pytest.fixture
def folder(shared: Path, tmp_path: Path) -> Path:
    """Two executions and the vendor's output of one program, another trace, a framework trace."""
    source = shared / "captures" / "trn2-v6-attention"
    run = tmp_path / "i-1_pid_2" / "run"
    run.mkdir(parents=True)
    for number in (1, 2):
        shutil.copy(source / "fused_bf16_s512.ntff", run / f"fused_exec_{number}.ntff")
    shutil.copy(source / "fused_bf16_s512.json.gz", run / "fused.json.gz")
    shutil.copy(source / "fused_bf16_s1024.ntff", run / "other_vnc_3.ntff")
    neff_of(source / "fused_bf16_s512.ntff").write(run / "neff_1_vnc_0.neff")
    naive_rmsnorm().write(tmp_path / "trace.json.gz")
    (tmp_path / "notes.txt").write_text("not a capture\n")
    (run / "ntrace.pb").write_bytes(b"\x0a\x01x")
    (run / "idle_vnc_1.ntff").write_bytes(b"")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.ntff").write_bytes(b"junk")
    return tmp_path


def test_a_folder_is_paired_and_grouped(folder: Path) -> None:
    found = scan_folder(folder)
    assert len(found.captures) == 5
    groups = {tuple(member.path.name for member in group.members): group for group in found.groups}
    same = groups["fused.json.gz", "fused_exec_1.ntff", "fused_exec_2.ntff"]
    assert same.program is not None
    assert same.program.name == "neff_1_vnc_0.neff"
    assert [member.execution for member in same.members] == [None, 1, 2]
    assert same.members[1].cores == (4, 5)
    assert "neff" in same.members[1].capture.metadata
    other = groups["other_vnc_3.ntff",]
    assert other.program is None
    assert other.members[0].core == 3
    assert found.programs == ()
    assert found.passed == 1
    assert len(found.problems) == 2
    assert any("nothing ran on this core" in problem for problem in found.problems)
    assert any("ntrace.pb" in problem and "neuron-explorer view" in problem
               for problem in found.problems)  # fmt: skip
    assert [capture.path for capture in open_captures(folder)] == [
        capture.path for capture in found.captures
    ]


def test_info_lists_a_folder(folder: Path) -> None:
    shown = CliRunner().invoke(cli, ["info", str(folder)])
    assert shown.exit_code == 0, shown.output
    assert "5 captures of 3 programs" in shown.output
    assert "execution 2" in shown.output
    assert "no program beside the trace is its own" in shown.output
    record = json.loads(CliRunner().invoke(cli, ["info", str(folder), "--json"]).output)
    assert len(record["groups"]) == 3
    assert record["other_files"] == 1


def test_a_swapped_program_is_told_in_one_line(shared: Path, tmp_path: Path) -> None:
    source = shared / "captures" / "trn2-v6-attention"
    shutil.copy(source / "fused_bf16_s512.ntff", tmp_path / "a.ntff")
    neff_of(source / "fused_fp32_s512.ntff").write(tmp_path / "a.neff")
    capture = open_capture(tmp_path / "a.ntff")
    assert "neff" not in capture.metadata
    said = [issue for issue in capture.quality if issue.id == "program-not-found"]
    assert len(said) == 1
    assert "a.neff" in said[0].what
    assert "no-program" in {issue.id for issue in capture.quality}
    assert scan_folder(tmp_path).programs == (tmp_path / "a.neff",)


def test_a_damaged_program_beside_is_told(shared: Path, tmp_path: Path) -> None:
    source = shared / "captures" / "trn2-v6-attention" / "fused_bf16_s512.ntff"
    shutil.copy(source, tmp_path / "a.ntff")
    path = neff_of(source).write(tmp_path / "a.neff")
    path.write_bytes(path.read_bytes()[:3000])
    issues = {issue.id: issue.what for issue in open_capture(tmp_path / "a.ntff").quality}
    assert "cut short" in issues["program-damaged"]


def test_programs_alone(tmp_path: Path) -> None:
    NeffFile(programs={}).write(tmp_path / "empty.neff")
    with pytest.raises(CaptureError, match="no capture in this folder"):
        scan_folder(tmp_path)
    from tests.captures.neff_builder import Program

    NeffFile(programs={"sg00": Program()}).write(tmp_path / "k.neff")
    found = scan_folder(tmp_path)
    assert found.programs == (tmp_path / "k.neff",)
    capture = open_capture(tmp_path / "k.neff")
    assert capture.format == "neff"
    assert capture.tensors.num_rows == 0
    assert "neuron-explorer capture" in capture.quality[0].what


def test_a_summary_joins_the_trace_of_its_name(shared: Path) -> None:
    found = scan_folder(shared / "captures" / "trn2-v5-vector-add")
    assert [[member.capture.format for member in group.members] for group in found.groups] == [
        ["ntff", "summary-text"]
    ]


def test_one_execution_is_taken_once(tmp_path: Path) -> None:
    for name in ("a.json", "a.json.gz", "b.json"):
        naive_rmsnorm().write(tmp_path / name)
    taken = one_each(open_captures(tmp_path))
    assert sorted(capture.path.name.split(".")[0] for capture in taken) == ["a", "b"]


def test_a_trace_is_taken_before_the_output_of_the_vendor(shared: Path) -> None:
    both = open_captures(shared / "captures" / "trn2-v5-vector-add")
    assert [capture.format for capture in one_each(both)] == ["ntff"]
    assert one_each(both[::-1]) == one_each(both)


def test_what_is_no_folder(tmp_path: Path) -> None:
    assert is_folder(tmp_path)
    with pytest.raises(CaptureError, match="no such folder"):
        scan_folder(tmp_path / "absent")
    with pytest.raises(CaptureError, match="no capture"):
        scan_folder(tmp_path)
    shown = CliRunner().invoke(cli, ["info", str(tmp_path)])
    assert isinstance(shown.exception, CaptureError)


def test_a_manifest_is_shown_and_a_broken_one_is_a_problem(tmp_path: Path) -> None:
    naive_rmsnorm().write(tmp_path / "trace.json")
    manifest = tmp_path / "manifest.toml"
    manifest.write_text('schema_version = 1\ncreated = "now"\ndevice = "cpu"\nname = "mine"\n')
    shown = CliRunner().invoke(cli, ["info", str(tmp_path)]).output
    assert "recorded now on cpu: mine, 0 runs" in shown
    manifest.write_text("broken")
    shown = CliRunner().invoke(cli, ["info", str(tmp_path)]).output
    assert "1 capture of 1 program" in shown
    assert "problem: " in shown


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    naive_rmsnorm().write(tmp_path / "trace.json")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert len(open_captures(tmp_path)) == 1


def test_a_trace_is_found_by_the_start_of_its_uuid_and_only_where_one_fits() -> None:
    ordered = ["aa11", "aa22", "bb33"]
    assert _only_with_prefix(ordered, "bb") == "bb33"
    assert _only_with_prefix(ordered, "aa1") == "aa11"
    for none in ("aa", "cc", "", "aa111"):
        assert _only_with_prefix(ordered, none) == ""


def test_thousands_of_traces_of_one_folder_list_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.neff").write_bytes(b"x")
    os.utime(tmp_path, (1e9, 1e9))
    listed: list[Path] = []
    glob = Path.glob
    monkeypatch.setattr(Path, "glob", lambda self, what: listed.append(self) or glob(self, what))
    for number in range(50):
        assert neffs_beside(tmp_path / f"k{number}.ntff") == (tmp_path / "a.neff",)
    assert listed == [tmp_path]
    (tmp_path / "b.neff").write_bytes(b"x")
    assert len(neffs_beside(tmp_path / "k.ntff")) == 2


def test_progress_is_told_for_every_file(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.json").write_text('{"total_time": 0.001}')
    told: list[int] = []
    scan_folder(tmp_path, progress=told.append)
    assert told == [1, 2, 3, 4, 5]
