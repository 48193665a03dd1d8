from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from roofline.model.estimate import estimate
from roofline.model.kernel import sbuf_partition_bytes
from roofline.record.manifest import load_manifest
from roofline.report.run import study_result
from tests.record.numpy_nki import Machine, tensor
from tests.record.process import ROOT


def kernel_module() -> ModuleType:
    path = ROOT / "captures" / "nki" / "rmsnorm.py"
    spec = importlib.util.spec_from_file_location("nki_rmsnorm", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHAPES = [(4, 512), (128, 512), (129, 64), (300, 33), (1, 1)]


@pytest.mark.parametrize(("rows", "cols"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_tile_program_equals_the_definition(rows: int, cols: int, dtype: type) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, cols)).astype(dtype)
    weight = random.standard_normal(cols).astype(dtype)
    machine = Machine()
    kernel = kernel_module().make_kernel(machine.nl, machine.nisa)
    found = np.asarray(kernel(tensor(x), tensor(weight), 1e-6))
    exact, gain = x.astype(np.float64), weight.astype(np.float64)
    expected = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-6) * gain
    # one rounding to the output type, and fp32 sums of up to 512 squares before it
    tolerance = 2 * np.finfo(dtype).eps + 512 * np.finfo(np.float32).eps
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=np.finfo(dtype).tiny)


@pytest.mark.parametrize(("rows", "cols"), SHAPES)
def test_schedule_counts_what_the_program_does(rows: int, cols: int) -> None:
    module, machine = kernel_module(), Machine()
    x, weight = np.ones((rows, cols), np.float16), np.ones(cols, np.float16)
    module.make_kernel(machine.nl, machine.nisa)(tensor(x), tensor(weight))
    schedule = module.schedule(rows=rows, cols=cols, dtype="fp16")
    assert dict(machine.passes) == schedule["element_passes"]
    assert machine.bytes["hbm_read_bytes"] == schedule["hbm_read_bytes"]
    assert machine.bytes["hbm_write_bytes"] == schedule["hbm_write_bytes"]


@pytest.mark.parametrize("name", ["rmsnorm-4x512-bf16", "rmsnorm-512x3072-bf16", "rmsnorm-2048xK"])
def test_it_is_a_variant_of_the_studies_that_was_never_timed(name: str) -> None:
    result = study_result(name)
    study = result.study
    variant = study.variant("nki-onepass")
    assert (variant.device, variant.requires) == ("neuron", ("nki",))
    mine = [one for one in result.untimed if one.variant == variant]
    assert [one.config for one in mine] == list(study.configs)
    assert "nki-onepass" not in {row.variant.name for row in result.rows}
    for one in mine:
        rows, cols = one.config.shape["rows"], one.config.shape["cols"]
        assert one.work.total_flops == 4 * rows * cols + 2 * rows
        assert one.schedule is not None
        # what is beyond the minimum is the weight on the other partitions of a tile
        size = {"fp32": 4}.get(one.config.dtype, 2)
        more = (min(rows, 128) - 1) * cols * size
        assert one.schedule.hbm_bytes - one.work.minimal_bytes == more
        assert one.placement.bound_s is not None
        if one.schedule.sbuf_partition_bytes > sbuf_partition_bytes(result.hardware):
            assert (one.estimate, one.config.key) == (None, "2048x9728 fp32")
            continue
        assert one.problem == ""
        assert one.estimate is not None
        assert one.placement.bound_s < one.estimate.schedule_bound_s < one.estimate.time_s


def test_the_model_of_it_stands_in_proportion_to_the_published_kernel() -> None:
    """One core and one read against two cores and two reads: half the rate for 2/3 of the bytes."""
    result = study_result("rmsnorm-2048xK")
    published = {
        row.measurement.config: row.time_s for row in result.rows if row.variant.name == "nki"
    }
    ratios = {}
    for one in result.untimed:
        if one.config.dtype != "bf16" or one.variant.name != "nki-onepass":
            continue
        assert one.schedule is not None
        both = replace(one.schedule, cores=2)
        twice = estimate(one.work, result.hardware, variant="nki", kernel=both)
        assert one.estimate is not None
        time_s = published[one.config]
        ratios[one.config.shape["cols"]] = (one.estimate.time_s / time_s, twice.time_s / time_s)
    assert min(ratios) == 512
    assert all(0.95 < one < 1.25 for one, _ in ratios.values())
    assert all(0.6 < both < 0.85 for _, both in ratios.values())


def test_reference_of_torch() -> None:
    torch = pytest.importorskip("torch")
    machine = Machine()
    kernel = kernel_module().make_kernel(machine.nl, machine.nisa)
    x, weight = torch.randn(200, 96), torch.randn(96)
    found = np.asarray(kernel(tensor(x.numpy()), tensor(weight.numpy())))
    expected = torch.rms_norm(x, (96,), weight, 1e-6).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)  # fp32 on both sides


@pytest.mark.slow
def test_the_script_records_every_way(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, str(ROOT / "captures" / "record_rmsnorm.py"), str(tmp_path / "out")],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = load_manifest(tmp_path / "out").run
    assert [(run.variant, run.launches) for run in runs] == [
        ("naive-cpu-epsilon", 6), ("naive-device-epsilon", 6), ("naive-float-epsilon", 6),
        ("fused", 1), ("compiled", 1),
    ]  # fmt: skip


def test_rows_that_do_not_fit_into_sbuf_are_not_modelled() -> None:
    module = kernel_module()
    result = study_result("rmsnorm-2048xK")
    ours = {one.config.key: one for one in result.untimed if one.variant.name == "nki-onepass"}
    large = ours["2048x9728 fp32"]
    # weight, squares, and two tiles with their results, of 9728 fp32 each
    assert large.schedule is not None
    assert large.schedule.sbuf_partition_bytes == 6 * 9728 * 4 > 212_984
    assert large.estimate is None
    assert large.problem == (
        "declared schedule: 233,472 B on an SBUF partition, where trn2 has 212,984 B"
    )
    assert ours["2048x9728 bf16"].estimate is not None
    # a single tile needs no second buffer
    assert module.schedule(rows=4, cols=512, dtype="bf16")["sbuf_partition_bytes"] == 4 * 512 * 2
