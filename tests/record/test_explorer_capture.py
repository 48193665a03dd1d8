from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from roofline.cli.main import main
from roofline.errors import OptionalDependencyError, QueryError
from roofline.record import explorer
from roofline.record.explorer import capture_command, capture_programs
from roofline.record.host import logical_cores
from roofline.record.manifest import Manifest, Run, load_manifest, write_manifest

TOOL = f"""#!{sys.executable}
# neuron-explorer capture as it is documented: -n NEFF -s NTFF --num-exec N --profile-nth-exec M
# writes <NTFF without its suffix>_exec_M.ntff
import argparse, json, os, pathlib, subprocess, sys, time

FAULT = os.environ.get("FAKE_FAULT", "")
if FAULT == "old":
    sys.exit("unknown command " + repr(sys.argv[1]) + " for neuron-explorer")
parser = argparse.ArgumentParser(prog="neuron-explorer")
commands = parser.add_subparsers(required=True)
capture = commands.add_parser("capture")
capture.add_argument("-n", required=True, type=pathlib.Path)
capture.add_argument("-s", required=True, type=pathlib.Path)
capture.add_argument("--num-exec", type=int, default=1)
capture.add_argument("--profile-nth-exec", type=int, default=1)
given = parser.parse_args()
log = pathlib.Path(__file__).with_name("called")
said = {{key: os.environ.get(key) for key in
        ("NEURON_RT_ENABLE_DGE_NOTIFICATIONS", "NEURON_RT_VISIBLE_CORES")}}
with log.open("a") as file:
    file.write(json.dumps([sys.argv[1:], said]) + "\\n")
if not given.n.is_file() or given.profile_nth_exec > given.num_exec:
    sys.exit("no such program, or nothing to profile")
if FAULT == "busy":
    print("nrt_init failed: core 0 is held by pid 4711", file=sys.stderr)
    sys.exit(3)
if FAULT == "hangs":
    child = subprocess.Popen(["/bin/sleep", "600"])
    log.with_name("child").write_text(str(child.pid))
    time.sleep(600)
out = given.s.with_name(given.s.stem + "_exec_" + str(given.profile_nth_exec) + ".ntff")
if FAULT != "silent":
    out.write_bytes(b"" if FAULT == "empty" else b"trace")
"""


def recorded(folder: Path, programs: dict[str, bytes], core: int | None = 0) -> Path:
    for name, content in programs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    runs = [Run(variant="naive", folder="naive", programs=list(programs))]
    folder.mkdir(exist_ok=True)
    manifest = Manifest(
        schema_version=1, created="", device="neuron", name="x", core=core, run=runs
    )
    write_manifest(folder, manifest)
    return folder


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the tool on PATH; what it was called with, a line each."""
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "neuron-explorer"
    path.write_text(TOOL)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder / "called"


def test_each_program_is_traced_once_as_documented(tmp_path: Path, called: Path) -> None:
    programs = {"naive/a.neff": b"x", "naive/neff/copy.neff": b"x", "naive/b.neff": b"y"}
    folder = recorded(tmp_path / "out", programs, core=2)
    runs = list(capture_programs(folder))
    assert runs[0].explorer_traces == ["naive/a_exec_2.ntff", "naive/b_exec_2.ntff"]
    assert runs[0].device_traces == []
    assert runs[0].problems == []
    assert load_manifest(folder).run == runs
    lines = [json.loads(line) for line in called.read_text().splitlines()]
    program, trace = folder / "naive" / "a.neff", folder / "naive" / "a.ntff"
    asked = {"NEURON_RT_ENABLE_DGE_NOTIFICATIONS": "1", "NEURON_RT_VISIBLE_CORES": "2"}
    assert lines[0] == [capture_command(program, trace)[1:], asked]
    assert lines[0][0] == [
        "capture", "-n", str(program), "-s", str(trace),
        "--num-exec", "2", "--profile-nth-exec", "2",
    ]  # fmt: skip
    assert len(lines) == 2
    list(capture_programs(folder, dge=False))
    last = json.loads(called.read_text().splitlines()[-1])
    assert last[1]["NEURON_RT_ENABLE_DGE_NOTIFICATIONS"] is None


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("busy", "exit code 3: nrt_init failed: core 0 is held by pid 4711"),
        ("silent", "ended without an error but wrote no a_exec_2.ntff"),
        ("empty", "wrote no a_exec_2.ntff"),
        ("old", "unknown command 'capture' for neuron-explorer"),
        ("hangs", "did not finish within 3 s and was stopped"),
    ],
)
def test_what_goes_wrong_is_said_where_a_user_reads_it(
    tmp_path: Path, called: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], fault: str, words: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("FAKE_FAULT", fault)
    monkeypatch.setattr(explorer, "_TIMEOUT_S", 3.0)
    folder = recorded(tmp_path / "out", {"naive/a.neff": b"x"})
    with pytest.raises(SystemExit) as stop:
        main(["record", str(folder), "--explorer"])
    assert stop.value.code == 1
    said = capsys.readouterr()
    assert words in said.err
    assert words in said.out
    run = load_manifest(folder).run[0]
    assert run.explorer_traces == []
    assert words in run.problems[0].what
    assert "neuron-ls" in run.problems[0].remedy
    if fault == "hangs":
        child = int(called.with_name("child").read_text())
        assert (
            not Path(f"/proc/{child}/cmdline").is_file()
            or not Path(f"/proc/{child}/cmdline").read_bytes()
        )  # gone, or not yet waited for
    # a second attempt that works leaves no word of the first
    monkeypatch.setenv("FAKE_FAULT", "")
    (run,) = capture_programs(folder)
    assert run.explorer_traces == ["naive/a_exec_2.ntff"]
    assert run.problems == []


def test_without_tool_or_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionalDependencyError, match="aws-neuronx-tools"):
        list(capture_programs(recorded(tmp_path / "a", {"k.neff": b"x"})))
    with pytest.raises(QueryError, match="no program"):
        list(capture_programs(recorded(tmp_path / "b", {})))


def test_the_logical_core_setting_is_the_hosts_or_unknown() -> None:
    listed = [{"instance_type": "trn2.48xlarge", "logical_neuroncore_config": 2}]
    assert logical_cores({}, listed) == 2
    assert logical_cores({"NEURON_RT_VIRTUAL_CORE_SIZE": "1"}, listed) == 1
    assert logical_cores({"NEURON_LOGICAL_NC_CONFIG": "1"}, None) == 1
    assert logical_cores({"NEURON_RT_VIRTUAL_CORE_SIZE": ""}, {"text": "no JSON"}) is None
