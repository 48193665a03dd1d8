"""The device's path through recording, against a stand-in with the documented interface.

No Neuron device took part. Each trap of recording is fallen into once; the command lines share
one process, because importing torch takes longer than what is tested.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from roofline.captures.registry import open_capture
from roofline.record.manifest import Manifest, load_manifest
from roofline.record.traps import DEVICE_CHECKS
from tests.record.device_files import write_all
from tests.record.process import ROOT, STANDIN, roofline

pytestmark = pytest.mark.slow

STUDY = "rmsnorm-4x512-bf16"
VARIANTS = ["naive", "fused", "compiled", "nki-onepass"]

TRAPS = {
    # fault: (variant, problem, what a user reads)
    "no_trace": ("fused", "no-trace", "the profiler left no framework trace"),
    "two_processes": ("fused", "several-traces", "the first one is used: 2 files"),
    "cut_trace": ("fused", "bad-trace", "the framework trace cannot be read"),
    "no_device_events": ("fused", "no-device-events", "only host times are known"),
    "no_executions": ("fused", "no-executions", "windows without executions"),
    "dropped_executions": ("naive", "launches-without-execution", "launches have no execution"),
    "cpu_epsilon": ("naive", "host-scalar-copy", "aten::add copies a fp32 scalar from the host"),
    "cpu_fallback": ("naive", "cpu-fallback", "aten::mean ran on the CPU"),
    "no_device_trace": ("fused", "no-device-trace", "no .ntff in the folder"),
    "idle_core": ("fused", "empty-device-trace", "nothing ran on a core"),
    "wrong_core": ("fused", "wrong-core", "core 3, not core 0"),
    "wrong_lnc": ("fused", "wrong-lnc", "LNC 2, the host says 1"),
    "missing_program": ("fused", "missing-program", "1 .ntff, no .neff"),
    "other_program": ("fused", "missing-program", "none of 1 .neff has its uuid"),
    "damaged_trace": ("fused", "bad-device-trace", "a device trace cannot be read"),
    "helper_program": ("fused", "helper-program", "4 B moved"),
    "lost_records": ("fused", "records-lost", "a queue of notifications overflows"),
    "no_dma_notifications": ("fused", "no-dma-notifications", "dynamic DMA is not linked"),
    "stale_cache": ("fused", "stale-cache", ".neff are older"),
    "no_debug": ("fused", "no-debug-information", "no names of layers or source lines"),
    "kernel_is_wrong": ("nki-onepass", "reference-mismatch", "relative error 0.5"),
    "kernel_fails": ("nki-onepass", "variant-failed", "the compiler refused the kernel"),
}
ENVIRONMENT = {"wrong_lnc": {"NEURON_RT_VIRTUAL_CORE_SIZE": "1"}}
UNTIMED = ("kernel_is_wrong", "kernel_fails")


@dataclass(frozen=True)
class Done:
    """One command line, and the report on what it recorded."""

    folder: Path
    code: int
    err: str
    report: str
    data: dict

    @property
    def manifest(self) -> Manifest:
        return load_manifest(self.folder)

    def problems(self, run: int = 0) -> dict[str, str]:
        return {problem.id: problem.what for problem in self.manifest.run[run].problems}


def jobs(folder: Path, files: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    common = ["--require-device", "--active", "2", "--repeats", "2", "--wait", "0"]

    def job(name: str, *arguments: str, **environment: str):
        out = str(folder / name)
        return (
            ["record", STUDY, "-o", out, *common, *arguments],
            {"STANDIN_FILES": str(files), "STANDIN_FAULT": name, **environment},
        )

    found = {"sound": job("sound"), "session": job("session", "--variant", "fused")}
    found["two-lncs"] = job(
        "two-lncs", NEURON_RT_VIRTUAL_CORE_SIZE="1", NEURON_LOGICAL_NC_CONFIG="2"
    )
    found["inspect"] = job("inspect", NEURON_RT_INSPECT_ENABLE="1")
    found["own-settings"] = job(
        "own-settings", "--variant", "fused", "--no-dge", NEURON_RT_VISIBLE_CORES="2",
        NEURON_RT_VIRTUAL_CORE_SIZE="2",
    )  # fmt: skip
    for fault, (variant, _, _) in TRAPS.items():
        found[fault] = job(fault, "--variant", variant, **ENVIRONMENT.get(fault, {}))
    return found


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """Every command line of this file, run by one process."""
    torch = pytest.importorskip("torch")
    registration = pytest.importorskip("torch.utils.backend_registration")
    if not hasattr(registration, "_setup_privateuseone_for_python_backend"):
        pytest.skip(f"torch {torch.__version__} has no Python backends for the stand-in")
    folder = tmp_path_factory.mktemp("standin")
    asked = jobs(folder, write_all(folder / "files"))
    lines = []
    for name, (arguments, environment) in asked.items():
        lines.append({"arguments": arguments, "environment": environment})
        for more in ([], ["--json"]):
            report = ["report", str(folder / name), *more]
            lines.append({"arguments": report, "environment": {}})
    (folder / "jobs.json").write_text(json.dumps(lines))
    command = ["tests.record.drive", str(folder / "jobs.json"), str(folder / "results.json")]
    paths = os.pathsep.join(map(str, (ROOT, STANDIN)))
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False,
        timeout=600, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads((folder / "results.json").read_text())
    return {
        name: Done(
            folder=folder / name,
            code=recorded["code"],
            err=recorded["err"],
            report=text["out"],
            data=json.loads(data["out"]) if data["code"] == 0 else {},
        )
        for name, recorded, text, data in zip(
            asked, results[::3], results[1::3], results[2::3], strict=True
        )
    }


def test_every_documented_step(driven: dict[str, Done]) -> None:
    done = driven["sound"]
    manifest = done.manifest
    assert done.code == 0, done.err
    assert manifest.complete
    assert (manifest.device, manifest.core, manifest.lnc) == ("neuron", 0, None)
    assert manifest.environment == {
        "NEURON_FRAMEWORK_DEBUG": "1",
        "NEURON_RT_ENABLE_DGE_NOTIFICATIONS": "1",
        "NEURON_RT_VISIBLE_CORES": "0",
        "NKI_DEBUG_INFO": "True",
        "TORCH_NEURONX_NEFF_CACHE_DIR": str(done.folder / "neff-cache"),
        "XLA_HLO_DEBUG": "1",
        "XLA_IR_DEBUG": "1",
    }
    assert manifest.clocks == {
        "host_wall_s": "host_wall",
        "window_s": "framework_window",
        "device_s": "device_execution",
    }
    assert [run.variant for run in manifest.run] == VARIANTS
    for run, launches in zip(manifest.run, (6, 1, 1, 1), strict=True):
        assert run.launches == launches
        assert run.launch_basis == "driver"
        assert run.window_s == pytest.approx([launches * 30e-6] * 2)
        assert run.device_s == pytest.approx([launches * 8e-6] * 2)
        assert len(run.host_wall_s) == 2
        assert run.trace.endswith("20261201/trace.json")
        assert [Path(path).name for path in run.device_traces] == ["profile_nc_0_exec_1.ntff"]
        # the program was copied from the profile's cache to the trace it belongs to
        capture = open_capture(done.folder / run.device_traces[0])
        assert capture.metadata["neff"]["file"].startswith("neff_")
        left = {path.name for path in (done.folder / run.trace).parent.iterdir()}
        assert {"ntrace.pb", "trace_info.pb"} <= left
    # the study's naive variant keeps epsilon on the CPU: that is what it shows
    assert list(done.problems(0)) == ["host-scalar-copy"]
    assert [done.problems(number) for number in (1, 2, 3)] == [{}, {}, {}]


def test_the_kernel_is_compared_with_torch_before_it_is_timed(driven: dict[str, Done]) -> None:
    done = driven["sound"]
    *others, kernel = done.manifest.run
    assert [run.reference for run in others] == [None] * 3
    check = kernel.reference
    assert check is not None
    assert check.callable == "variants.py:fused"
    assert check.passed
    # half a unit in the last of 8 bits of bf16
    assert 0 < check.max_rel_error <= 2**-8
    assert "nki-onepass: agrees with variants.py:fused: largest error" in done.report


def test_the_report_places_what_was_recorded(driven: dict[str, Done]) -> None:
    done = driven["sound"]
    assert "recorded on neuron" in done.report
    times = {(row["variant"], row["clock"]): row for row in done.data["report"]["rows"]}
    for variant, launches in zip(VARIANTS, (6, 1, 1, 1), strict=True):
        row = times[variant, "device_execution"]
        assert row["time_s"] == pytest.approx(launches * 8e-6)
        window = times[variant, "framework_window"]["time_s"]
        assert window == pytest.approx(launches * 30e-6)
    rungs = {rung["key"] for rung in times["nki-onepass", "device_execution"]["ladder"]}
    assert "schedule" in rungs
    naive, fused, _, kernel = done.data["run"]
    ops = [op for op in naive["trace_launches"]["ops"] if op["launches"]]
    assert [(op["name"], op["shapes"]) for op in ops] == [
        ("aten::mul", "[[4,512],[4,512]]"), ("aten::mean", "[[4,512],[],[],[]]"),
        ("aten::add", "[[4,1],[],[]]"), ("aten::rsqrt", "[[4,1]]"),
        ("aten::mul", "[[4,512],[4,1]]"), ("aten::mul", "[[4,512],[512]]"),
    ]  # fmt: skip
    assert naive["work"]["launches"] == 6
    assert fused["work"] == kernel["work"]


@pytest.mark.parametrize("fault", TRAPS)
def test_traps(driven: dict[str, Done], fault: str) -> None:
    variant, problem, words = TRAPS[fault]
    done = driven[fault]
    assert done.code == (1 if fault in UNTIMED else 0), done.err
    assert words in done.problems()[problem]
    assert f"{problem}: " in done.err
    assert words in done.err
    line = next(line for line in done.report.splitlines() if f"problem [{variant}]" in line
                and f" {problem}: " in line)  # fmt: skip
    assert words in line
    assert problem == "bad-device-trace" or "Try: " in line
    run = done.manifest.run[0]
    assert bool(run.host_wall_s) == (fault not in UNTIMED)


def test_every_check_of_a_device_is_fallen_into() -> None:
    assert set(DEVICE_CHECKS.by_id) <= {problem for _, problem, _ in TRAPS.values()}


def test_a_session_needs_no_program_of_its_own(driven: dict[str, Done]) -> None:
    run = driven["session"].manifest.run[0]
    assert [Path(path).name for path in run.device_traces] == ["profile_nc_0_session_0.ntff"]
    assert run.problems == []


def test_settings_that_exclude_each_other_are_refused(driven: dict[str, Done]) -> None:
    for name, words in (
        ("inspect", "must not be combined with torch.profiler; unset it"),
        ("two-lncs", "NEURON_RT_VIRTUAL_CORE_SIZE=1 and NEURON_LOGICAL_NC_CONFIG=2"),
    ):
        done = driven[name]
        assert done.code == 2
        assert words in done.err
        assert done.err.count("\n") == 1
        assert not done.folder.exists()


def test_what_the_user_has_set_stays_and_is_said(driven: dict[str, Done]) -> None:
    done = driven["own-settings"]
    manifest = done.manifest
    assert manifest.lnc == 2
    assert manifest.environment["NEURON_RT_VISIBLE_CORES"] == "2"
    assert "NEURON_RT_ENABLE_DGE_NOTIFICATIONS" not in manifest.environment
    assert any("NEURON_RT_VISIBLE_CORES=2 was set before" in note for note in manifest.notes)
    assert "note: NEURON_RT_VISIBLE_CORES=2" in done.report


def test_a_program_that_does_not_wait(tmp_path: Path) -> None:
    files = write_all(tmp_path / "files")
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
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "out")], capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{STANDIN}",
                             "STANDIN_FILES": str(files)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    waits, does_not = load_manifest(tmp_path / "out").run
    assert waits.launches == 1
    assert "trace-cut-short" not in {problem.id for problem in waits.problems}
    assert does_not.launches is not None
    assert does_not.launches < 1
    cut = {problem.id: problem for problem in does_not.problems}["trace-cut-short"]
    assert "synchronize" in cut.remedy


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
