from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from roofline.analysis.compare import compare_runs
from roofline.analysis.compare_dataset import compare_dataset
from roofline.errors import CaptureError, QueryError
from roofline.study.observe import observe, observe_all
from roofline.study.observe_trace import ALL
from roofline.study.options import Options
from tests.captures.trace_builder import WINDOWS_US, naive_rmsnorm


def summary(path: Path, total_us: float, **fields: float) -> Path:
    total = total_us * 1e-6
    data = {
        "total_time": total,
        "total_active_time": total * 0.9,
        "vector_engine_active_time": total * 0.5,
        "dma_active_time": total * 0.6,
        "hbm_read_bytes": 1000000,
        "hbm_write_bytes": 500000,
        "instance_type": "trn2.3xlarge",
        **fields,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"n": data}), encoding="utf-8")
    return path


def test_a_summary_tells_times_use_bytes_and_a_bound(tmp_path: Path):
    (one,) = observe(str(summary(tmp_path / "k.json", 100.0))).observed
    assert {t.clock: t.seconds for t in one.timings} == {
        "device_body": pytest.approx(90e-6),
        "device_total": pytest.approx(100e-6),
    }
    use = one.use("device_body")
    assert use is not None
    assert use.active_s == {"vector": pytest.approx(50e-6), "dma": pytest.approx(60e-6)}
    assert one.bytes == {"measured": 1500000}
    assert one.verdict
    assert one.findings is not None


def test_the_window_orders_the_times(tmp_path: Path):
    path = str(summary(tmp_path / "k.json", 100.0))
    first = [
        observe(path, Options(window=w)).observed[0].timings[0].clock for w in ("body", "total")
    ]
    assert first == ["device_body", "device_total"]


def test_executions_of_a_folder_are_repeats_of_their_program(tmp_path: Path):
    for number, time in enumerate((100.0, 110.0, 90.0)):
        summary(tmp_path / "runs" / f"gelu_exec_{number}.json", time)
    summary(tmp_path / "runs" / "add.v2.json", 5.0)
    run = observe(str(tmp_path / "runs"))
    found = {one.kernel: one.timings[-1] for one in run.observed}
    assert sorted(found) == ["add.v2", "gelu"]
    assert sorted(found["gelu"].samples) == pytest.approx([90e-6, 100e-6, 110e-6])
    assert found["add.v2"].samples == ()


def test_a_folder_can_be_repeats_of_one_kernel(tmp_path: Path):
    for name, time in (("a", 100.0), ("b", 110.0)):
        summary(tmp_path / "runs" / f"{name}.json", time)
    (one,) = observe(str(tmp_path / "runs"), Options(repeats=True)).observed
    assert (one.kernel, one.timings[0].n) == ("runs", 2)


def test_an_empty_folder_is_named(tmp_path: Path):
    with pytest.raises(CaptureError, match="no capture in this folder"):
        observe(str(tmp_path))


def test_operators_of_a_trace_are_kernels_with_their_shapes(tmp_path: Path):
    path = naive_rmsnorm().write(tmp_path / "trace.json")
    run = observe(str(path))
    whole = next(one for one in run.observed if one.kernel == ALL)
    assert whole.launches == 6
    assert whole.timings[0].clock == "framework_window"
    assert whole.timings[0].seconds == pytest.approx(sum(WINDOWS_US) * 1e-6)
    names = {one.kernel for one in run.observed}
    assert {"aten::mul", "aten::mean", "aten::rsqrt"} <= names
    assert sum(one.launches or 0 for one in run.observed if one.kernel != ALL) == 6


def test_a_trace_of_more_steps_gives_times_of_one(tmp_path: Path):
    one = observe(str(naive_rmsnorm(1).write(tmp_path / "one.json")))
    many = observe(str(naive_rmsnorm(4).write(tmp_path / "many.json")))
    (all_one,), (all_many,) = ([o for o in run.observed if o.kernel == ALL] for run in (one, many))
    assert all_many.launches == all_one.launches
    assert all_many.timings[0].seconds == pytest.approx(all_one.timings[0].seconds)


def test_an_operator_that_vanished_from_a_trace_is_shown(tmp_path: Path):
    full = naive_rmsnorm()
    naive = str(full.write(tmp_path / "naive.json"))
    full.events = [text for text in full.events if "aten::rsqrt" not in text]
    fused = str(full.write(tmp_path / "fused.json"))
    pairs = compare_runs(observe_all([naive, fused], Options())).pairs
    gone = [pair.key for pair in pairs if pair.outcome == "gone"]
    assert len(gone) == 1
    assert gone[0].startswith("aten::rsqrt")
    whole = next(pair for pair in pairs if pair.key == ALL)
    assert whole.terms[0].id in ("launches", "per-launch")


def test_labels_tell_paths_apart(tmp_path: Path):
    paths = [str(summary(tmp_path / d / "k.json", 100.0)) for d in ("old", "new")]
    assert [run.label for run in observe_all(paths, Options())] == ["old/k.json", "new/k.json"]


def test_a_kernel_of_a_path_can_be_taken(tmp_path: Path):
    path = naive_rmsnorm().write(tmp_path / "trace.json")
    assert observe(f"{path}::aten::mean").kernels == ("aten::mean",)
    with pytest.raises(QueryError, match="no kernel 'x'; known: "):
        observe(f"{path}::x")


def test_a_comparison_is_a_dataset(tmp_path: Path):
    paths = [str(summary(tmp_path / f"{n}.json", t)) for n, t in (("a", 100.0), ("b", 80.0))]
    data = compare_dataset(compare_runs(observe_all(paths, Options())))
    assert dict(data.sizes) == {"run": 1, "kernel": 1}
    assert all("units" in data[name].attrs for name in data.variables)
    assert data["change"].values == pytest.approx(np.array([[-18e-6]]))
    assert data["outcome"].values.tolist() == [["unproven"]]
