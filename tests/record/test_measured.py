from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from roofline.record.manifest import Manifest, Problem, Run, load_manifest, write_manifest
from roofline.record.measured import measured_study
from tests.captures.trace_builder import naive_rmsnorm
from tests.record.process import ROOT

STUDY = ROOT / "captures" / "rmsnorm-4x512-bf16"


def recorded(folder: Path, device: str) -> Path:
    """Three variants: six launches, one launch with a device trace, and one that failed."""
    (folder / "study").mkdir(parents=True)
    for name in ("study.toml", "variants.py"):
        shutil.copy(STUDY / name, folder / "study" / name)
    for name in ("naive", "fused", "compiled"):
        (folder / name).mkdir()
        (folder / name / "a.ntff").write_bytes(b"x")
    naive_rmsnorm(2).write(folder / "naive" / "trace.json")
    common = {"params": {"rows": 4, "cols": 512}, "dtype": "bf16"}
    runs = [
        Run(variant="naive", folder="naive", trace="naive/trace.json", launches=6.0,
            device_traces=["naive/a.ntff"], window_s=[3e-3, 1e-3, 2e-3], device_s=[1e-4] * 3,
            host_wall_s=[4e-3], **common),
        Run(variant="fused", folder="fused", trace="naive/trace.json", launches=1.0,
            device_traces=["fused/a.ntff"], device_s=[2e-5], **common),
        Run(variant="compiled", folder="compiled", **common),
        Run(variant="not of the study", folder="other", device_s=[1.0], **common),
    ]  # fmt: skip
    write_manifest(
        folder,
        Manifest(
            schema_version=1, created="2026-12-01T00:00:00+00:00", device=device, name="x",
            instance_type="trn2.48xlarge", versions={"torch": "2.13"}, run=runs,
        ),
    )  # fmt: skip
    return folder


def test_recorded_times_become_those_of_the_study(tmp_path: Path) -> None:
    study = measured_study(recorded(tmp_path / "out", "neuron"))
    assert study is not None
    found = {(one.variant, one.clock.key): one for one in study.measurements}
    assert found.keys() == {
        ("naive", "framework_window"), ("naive", "device_execution"), ("naive", "host_wall"),
        ("fused", "device_execution"),
    }  # fmt: skip
    window = found["naive", "framework_window"]
    assert window.time_s == pytest.approx(2e-3)
    assert window.n == 3
    assert window.clock.profiled
    assert [op.count for op in window.ops] == [1] * 6
    assert sum(op.time_s for op in window.ops) == pytest.approx(2.428e-3)
    assert found["naive", "host_wall"].clock.profiled is False
    assert study.sources["recording"].title == "recorded on trn2.48xlarge"
    # only a run of one launch has a trace that is the whole work of its variant
    assert [(ref.variant, ref.path.name) for ref in study.captures] == [("fused", "a.ntff")]


def test_times_without_a_device_are_no_measurements(tmp_path: Path) -> None:
    assert measured_study(recorded(tmp_path / "out", "cpu")) is None


def test_a_clean_execution_stands_for_the_run_and_a_foreign_trace_for_none(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "out", "neuron")
    manifest = load_manifest(folder)
    naive, fused, *others = manifest.run
    (folder / "fused" / "k_exec_2.ntff").write_bytes(b"y")
    foreign = [Problem(id="wrong-core", what="core 3")]

    def captures(**changes: object) -> list[str]:
        run = msgspec.structs.replace(fused, **changes)
        write_manifest(folder, msgspec.structs.replace(manifest, run=[naive, run, *others]))
        study = measured_study(folder)
        assert study is not None
        return [ref.path.name for ref in study.captures]

    clean = {"explorer_traces": ["fused/k_exec_2.ntff"]}
    assert captures() == ["a.ntff"]
    assert captures(**clean) == ["k_exec_2.ntff"]
    assert captures(problems=foreign) == []
    assert captures(problems=foreign, **clean) == ["k_exec_2.ntff"]


def test_the_chip_and_its_setting_are_the_hosts(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "out", "neuron")
    manifest = load_manifest(folder)
    for instance, lnc, expected in (
        ("trn1.32xlarge", 1, (("trn1",), 1)),
        ("trn2.48xlarge", None, (("trn2",), None)),
        ("no such instance", None, (("trn2", "trn3"), None)),
        ("", 2, (("trn2", "trn3"), 2)),
    ):
        changed = msgspec.structs.replace(manifest, instance_type=instance, lnc=lnc)
        write_manifest(folder, changed)
        study = measured_study(folder)
        assert study is not None
        assert (study.hardware, study.lnc) == expected
