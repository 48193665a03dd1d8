from __future__ import annotations

import stat
from pathlib import Path

import pytest

from roofline.errors import OptionalDependencyError, QueryError
from roofline.record.explorer import capture_command, capture_programs
from roofline.record.manifest import Manifest, Run, load_manifest, write_manifest

TOOL = """#!/bin/sh
echo "$NEURON_RT_ENABLE_DGE_NOTIFICATIONS $@" > "$(dirname "$0")/called"
{body}
"""


def recorded(folder: Path, programs: list[str]) -> Path:
    for name in programs:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    runs = [Run(variant="naive", folder="naive", programs=programs)]
    write_manifest(
        folder, Manifest(schema_version=1, created="", device="neuron", name="x", run=runs)
    )
    return folder


def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "neuron-explorer"
    path.write_text(TOOL.format(body=body))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder / "called"


def test_each_program_is_traced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the tool is given -n FILE -s FILE ... and writes the trace of the second execution
    called = tool(tmp_path, monkeypatch, 'echo trace > "${5%.ntff}_exec_2.ntff"')
    folder = recorded(tmp_path / "out", ["naive/a.neff"])
    runs = list(capture_programs(folder))
    assert runs[0].device_traces == ["naive/a_exec_2.ntff"]
    assert runs[0].problems == []
    assert load_manifest(folder).run == runs
    program, trace = folder / "naive" / "a.neff", folder / "naive" / "a.ntff"
    expected = " ".join(capture_command(program, trace)[1:])
    assert called.read_text().strip() == f"1 {expected}"
    assert "--num-exec 2 --profile-nth-exec 2" in expected


@pytest.mark.parametrize(
    ("body", "words"),
    [("echo core is busy >&2; exit 3", "exit 3: core is busy"), ("true", "wrote no trace")],
)
def test_what_the_tool_says_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str
) -> None:
    tool(tmp_path, monkeypatch, body)
    run = next(iter(capture_programs(recorded(tmp_path / "out", ["naive/a.neff"]))))
    assert run.device_traces == []
    assert words in run.problems[0].what


def test_without_tool_or_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionalDependencyError, match="aws-neuronx-tools"):
        list(capture_programs(recorded(tmp_path / "a", ["k.neff"])))
    (tmp_path / "b").mkdir()
    with pytest.raises(QueryError, match="no program"):
        list(capture_programs(recorded(tmp_path / "b", [])))
