"""The device's path through recording, against a stand-in with the documented interface.

No Neuron device took part. Each trap of recording is fallen into once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from roofline.captures.registry import open_capture
from roofline.record.manifest import Manifest, load_manifest
from tests.record.process import ROOT, STANDIN, roofline

pytestmark = pytest.mark.slow

STUDY = "rmsnorm-4x512-bf16"


@pytest.fixture(autouse=True)
def _needs_torch() -> None:
    torch = pytest.importorskip("torch")
    registration = pytest.importorskip("torch.utils.backend_registration")
    if not hasattr(registration, "_setup_privateuseone_for_python_backend"):
        pytest.skip(f"torch {torch.__version__} has no Python backends for the stand-in")


@pytest.fixture
def device_files(shared: Path, tmp_path: Path) -> dict[str, str]:
    """A device trace and its program with debug information, for the stand-in to leave behind."""
    from roofline.captures.ntff.trace import open_trace
    from tests.captures.neff_builder import NeffFile, debug_file, entry, programs_of

    path = shared / "captures" / "trn2-v6-attention" / "fused_bf16_s512.ntff"
    trace = open_trace(path)
    neff = NeffFile(
        programs=programs_of(trace),
        uuid=trace.header.uuid.ljust(16, b"\0"),
        debug={"debug_info/debug_info_penguin.dbg_sg000000": debug_file([entry(1, "x")])},
    )
    return {
        "STANDIN_NTFF": str(path),
        "STANDIN_NEFF": str(neff.write(tmp_path / "given.neff")),
    }


def record(tmp_path: Path, fault: str = "", **environment: str) -> Manifest:
    done = roofline(
        "record", STUDY, "-o", str(tmp_path / "out"), "--variant", "naive", "--require-device",
        "--active", "2", "--repeats", "2", standin=True, STANDIN_FAULT=fault, **environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return load_manifest(tmp_path / "out")


def problems(manifest: Manifest) -> dict[str, str]:
    return {problem.id: problem.what for problem in manifest.run[0].problems}


def test_every_documented_step(tmp_path: Path, device_files: dict[str, str]) -> None:
    manifest = record(tmp_path, **device_files)
    assert manifest.device == "neuron"
    assert manifest.core == 0
    assert manifest.environment["NEURON_RT_ENABLE_DGE_NOTIFICATIONS"] == "1"
    assert manifest.environment["NEURON_FRAMEWORK_DEBUG"] == "1"
    assert manifest.environment["NEURON_RT_VISIBLE_CORES"] == "0"
    assert manifest.environment["TORCH_NEURONX_NEFF_CACHE_DIR"].startswith(str(tmp_path))
    run = manifest.run[0]
    assert run.launches == 6
    assert run.launch_basis == "driver"
    assert run.window_s == pytest.approx([180e-6] * 2)
    assert run.device_s == pytest.approx([48e-6] * 2)
    assert len(run.host_wall_s) == 2
    assert run.trace.endswith("20261201/trace.json")
    assert [Path(path).name for path in run.device_traces] == ["profile_nc_0_exec_1.ntff"]
    # the study's naive variant keeps epsilon on the CPU: that is what it shows
    assert problems(manifest).keys() == {"host-scalar-copy"}
    assert "aten::add" in problems(manifest)["host-scalar-copy"]
    # the program was copied from the profile's cache to the trace it belongs to
    capture = open_capture(tmp_path / "out" / run.device_traces[0])
    assert capture.metadata["neff"]["file"].startswith("neff_")

    report = json.loads(roofline("report", str(tmp_path / "out"), "--json").stdout)
    assert report["device"] == "neuron"
    assert report["report"]
    text = roofline("report", str(tmp_path / "out")).stdout
    assert "recorded on neuron" in text
    assert "device_execution" in text


@pytest.mark.parametrize(
    ("fault", "problem", "words"),
    [
        ("no_device_events", "no-device-events", "host times"),
        ("no_trace", "no-trace", "no trace.json"),
        ("missing_program", "missing-program", "without any .neff"),
        ("wrong_core", "wrong-core", "core 3, not"),
        ("stale_cache", "stale-cache", "compiled before this recording"),
        ("idle_core", "empty-device-trace", "nothing ran"),
    ],
)
def test_traps(
    tmp_path: Path, device_files: dict[str, str], fault: str, problem: str, words: str
) -> None:
    found = problems(record(tmp_path, fault, **device_files))
    assert words in found[problem]


def test_a_program_that_does_not_wait(tmp_path: Path) -> None:
    script = """
import sys, torch
from roofline.record import Recording
from roofline.record.schedule import Schedule
x = None
with Recording(sys.argv[1], name="mine", schedule=Schedule(active=3)) as recording:
    x = torch.randn(4, 8).to("neuron")
    for name, wait in (("waits", True), ("does-not", False)):
        with recording.run(name) as session:
            for number in session.steps(synchronize=wait):
                x * x
                if number == 2:
                    torch.neuron.synchronize()
"""
    import os

    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "out")], capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{STANDIN}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    waits, does_not = load_manifest(tmp_path / "out").run
    assert waits.launches == 1
    assert "trace-cut-short" not in {problem.id for problem in waits.problems}
    assert does_not.launches is not None
    assert does_not.launches < 1
    cut = {problem.id: problem for problem in does_not.problems}["trace-cut-short"]
    assert "synchronize" in cut.remedy


def test_a_set_inspect_variable_is_refused(tmp_path: Path) -> None:
    done = roofline(
        "record", STUDY, "-o", str(tmp_path / "out"), standin=True, NEURON_RT_INSPECT_ENABLE="1"
    )
    assert done.returncode == 2
    assert "must not be combined" in done.stderr


def test_the_older_package_of_the_same_name_is_told_apart(tmp_path: Path) -> None:
    old = tmp_path / "old" / "torch_neuronx"
    old.mkdir(parents=True)
    (old / "__init__.py").write_text("")
    done = roofline(
        "record", STUDY, "-o", str(tmp_path / "out"), "--require-device",
        PYTHONPATH=f"{ROOT}:{tmp_path / 'old'}",
    )  # fmt: skip
    assert done.returncode == 2
    assert "XLA package" in done.stderr
