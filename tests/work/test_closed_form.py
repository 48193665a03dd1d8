from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.errors import WorkError
from roofline.work.closed_form import closed_form, closed_form_arrays, families, family


@pytest.mark.parametrize(
    ("variant", "dispatched", "aliased", "launches", "intensity"),
    [
        ("eager", 33_840, 29_744, 6, 0.242),
        ("fused", 9_216, 9_216, 1, 0.890),
        ("compiled", 9_216, 9_216, 1, 0.890),
        ("two_pass", 13_312, 13_312, 1, 0.616),
    ],
)
def test_rmsnorm_4x512_bf16(
    variant: str, dispatched: int, aliased: int, launches: int, intensity: float
) -> None:
    work = closed_form("rmsnorm", rows=4, cols=512, dtype="bf16", variant=variant)
    assert work.total_flops == 8_200
    assert work.flops == {"elementwise": 6_148, "reduction": 2_048, "special": 4}
    assert work.dispatched_bytes == dispatched
    assert work.dispatched_aliased_bytes == aliased
    assert work.minimal_bytes == 9_216
    assert work.launches == launches
    assert work.total_flops / work.dispatched_bytes == pytest.approx(intensity, abs=5e-4)
    # square with running sum; scale by the row's factor and the weight
    assert work.element_passes_minimal == 2 * 4 * 512
    assert not work.partial


def test_rmsnorm_intensity_with_aliased_reads_once() -> None:
    work = closed_form("rmsnorm", rows=4, cols=512, dtype="bf16", variant="eager")
    assert work.total_flops / work.dispatched_aliased_bytes == pytest.approx(0.276, abs=5e-4)


@given(
    rows=st.integers(1, 4096),
    cols=st.integers(1, 16384),
    dtype=st.sampled_from(["bf16", "fp16", "fp32"]),
)
@settings(deadline=None, max_examples=40)
def test_rmsnorm_formulas_hold_for_any_shape(rows: int, cols: int, dtype: str) -> None:
    size = {"bf16": 2, "fp16": 2, "fp32": 4}[dtype]
    n = rows * cols
    eager = closed_form("rmsnorm", rows=rows, cols=cols, dtype=dtype, variant="eager")
    assert eager.total_flops == 4 * n + 2 * rows
    assert eager.dispatched_bytes == size * (8 * n + cols + 6 * rows)
    assert eager.minimal_bytes == size * (2 * n + cols)
    for variant in ("fused", "compiled"):
        other = closed_form("rmsnorm", rows=rows, cols=cols, dtype=dtype, variant=variant)
        assert other.total_flops == eager.total_flops
        assert other.dispatched_bytes == eager.minimal_bytes


def test_layernorm_has_the_published_count() -> None:
    # 5 D + 2 without weight and bias, published as 2502 for D = 500; each of the two adds D
    work = closed_form("layernorm", rows=1, cols=500, dtype="fp32")
    assert work.total_flops == 2502 + 2 * 500


@pytest.mark.parametrize("name", families())
def test_arrays_give_what_single_sizes_give(name: str) -> None:
    entry = family(name)
    rng = np.random.default_rng(7)
    sizes = {key: rng.integers(2, 200, size=4) for key in entry.sizes}
    for variant in entry.variants:
        arrays = closed_form_arrays(name, dtype="bf16", variant=variant, **sizes)
        for i in range(4):
            work = closed_form(
                name, dtype="bf16", variant=variant, **{k: int(v[i]) for k, v in sizes.items()}
            )
            for key in ("total_flops", "element_passes", "element_passes_minimal",
                        "dispatched_bytes", "minimal_bytes", "launches"):  # fmt: skip
                assert arrays[key][i] == getattr(work, key), (variant, key)
            assert arrays["tensor_flops"][i] == sum(work.tensor_flops.values())


@pytest.mark.parametrize("name", families())
def test_variants_do_the_same_operations(name: str) -> None:
    sizes = dict.fromkeys(family(name).sizes, 12)
    totals = {
        variant: closed_form(name, dtype="bf16", variant=variant, **sizes)
        for variant in family(name).variants
    }
    assert len({work.minimal_bytes for work in totals.values()}) == 1
    assert len({work.total_flops for work in totals.values()}) == 1


def test_bad_input_says_what_is_allowed() -> None:
    with pytest.raises(WorkError, match=r"known: .*rmsnorm"):
        closed_form("rmsnrm", rows=1, cols=1, dtype="bf16")
    with pytest.raises(WorkError, match=r"missing cols.*rows, cols"):
        closed_form("rmsnorm", rows=1, dtype="bf16")
    with pytest.raises(WorkError, match="whole number"):
        closed_form("rmsnorm", rows=-1, cols=4, dtype="bf16")
    with pytest.raises(WorkError, match="unknown dtype"):
        closed_form("rmsnorm", rows=1, cols=4, dtype="float7")
    with pytest.raises(WorkError, match="eager, fused"):
        closed_form("softmax", rows=1, cols=4, dtype="bf16", variant="magic")


_TILEBENCH = {
    "rmsnorm": lambda p: ("rmsnorm", {"rows": 2048, "cols": p["K"]}),
    "softmax": lambda p: ("softmax", {"rows": 2048, "cols": p["n_cols"]}),
    "relu": lambda p: ("relu", {"n": p["n"]}),
    "mul2": lambda p: ("mul2", {"n": p["n"]}),
    "vector_add": lambda p: ("vector_add", {"n": p["n"]}),
    "mean_reduction": lambda p: ("mean_reduction", {"rows": 2048, "cols": p["N"]}),
    "matrix_copy": lambda p: ("matrix_copy", {"rows": p["N"], "cols": p["N"]}),
    "matmul_fp32_fp16_fp8": lambda p: ("matmul", {"m": 4096, "n": 4096, "k": p["K"]}),
}


def test_minimal_bytes_of_published_measurements(shared: Path) -> None:
    checked = 0
    with (shared / "measured" / "tilebench_trn2.csv").open() as file:
        for row in csv.DictReader(file):
            make = _TILEBENCH.get(row["op"])
            if make is None:
                continue
            name, value = row["params"].split("=")
            op, sizes = make({name: int(value)})
            work = closed_form(op, dtype=row["dtype"], **sizes)
            assert work.minimal_bytes == int(row["min_bytes"]), row
            checked += 1
    assert checked == 520
