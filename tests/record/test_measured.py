from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from roofline.record.manifest import Manifest, Run, write_manifest
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
