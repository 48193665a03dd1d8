from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from roofline.record.manifest import load_manifest
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
    schedule = module.schedule(rows, cols, 2)
    assert machine.passes["scalar"] == schedule["scalar_element_passes"]
    assert machine.passes["vector"] == schedule["vector_element_passes"]
    assert machine.bytes["hbm_read_bytes"] == schedule["hbm_read_bytes"]
    assert machine.bytes["hbm_write_bytes"] == schedule["hbm_write_bytes"]


def test_work_is_that_of_a_fused_rmsnorm_and_a_lower_limit_of_the_schedule() -> None:
    module = kernel_module()
    work = module.work(2048, 512, "bf16")
    assert work.total_flops == 4 * 2048 * 512 + 2 * 2048
    schedule = module.schedule(2048, 512, 2)
    moved = schedule["hbm_read_bytes"] + schedule["hbm_write_bytes"]
    assert work.minimal_bytes <= moved
    # what is beyond it is the weight on 127 more partitions
    assert moved - work.minimal_bytes == 127 * 512 * 2


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
