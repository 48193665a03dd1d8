from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.analysis.from_time import evidence_from_time
from roofline.analysis.ladder import device_time, ladder
from roofline.analysis.placement import place
from roofline.analysis.verdict import decide
from roofline.errors import QueryError, UnitError, WorkError
from roofline.hardware.load import load_hardware
from roofline.work.work import OpCount, Work

TRN2 = load_hardware("trn2")
TRN2_LNC1 = load_hardware("trn2", lnc=1)


def rmsnorm(rows: int, cols: int, itemsize: int = 2, **kwargs: object) -> Work:
    """A fused RMSNorm: two passes, x and the weight read once, the result written once."""
    elements = rows * cols
    read, write = (elements + cols) * itemsize, elements * itemsize
    op = OpCount(
        name="rms_norm",
        flops={"elementwise": 3 * elements + rows, "reduction": elements, "special": rows},
        element_passes=2 * elements,
        read_bytes=read,
        aliased_read_bytes=read,
        write_bytes=write,
    )
    return Work(
        name="rmsnorm",
        mode="fused",
        dtype="bf16" if itemsize == 2 else "fp32",
        ops=(op,),
        minimal_read_bytes=read,
        minimal_write_bytes=write,
        element_passes_minimal=2 * elements,
        params={"rows": rows, "cols": cols},
        **kwargs,
    )


def matmul(m: int, n: int, k: int) -> Work:
    flops, read, write = 2 * m * n * k, 2 * (m * k + k * n), 2 * m * n
    op = OpCount(
        name="mm",
        flops={"matmul": flops},
        tensor_flops={"bf16": flops},
        engines=("tensor",),
        usual_engine="tensor",
        read_bytes=read,
        aliased_read_bytes=read,
        write_bytes=write,
    )
    return Work(
        name="mm",
        mode="eager",
        dtype="bf16",
        ops=(op,),
        minimal_read_bytes=read,
        minimal_write_bytes=write,
    )


def test_rates_and_intensities_are_plain_quotients() -> None:
    placed = place(rmsnorm(4, 512), TRN2, time_s=375.5e-6, clock="framework_window")
    assert placed.flops == 8200
    assert placed.bytes == {"minimal": 9216, "dispatched": 9216}
    assert placed.intensity("minimal") == pytest.approx(0.890, abs=5e-4)
    assert placed.pass_intensity("minimal") == pytest.approx(4096 / 9216)
    assert placed.flops_per_s == pytest.approx(8200 / 375.5e-6)
    assert placed.bytes_per_s("minimal") == pytest.approx(24.54e6, rel=1e-3)
    assert placed.intensity("measured") is None
    # 9,216 B at 716.8 GB/s are 12.86 ns, 29,200 times less than the window
    assert placed.headroom == pytest.approx(375.5e-6 / (9216 / 716.8e9))


def test_the_headline_is_the_engine_that_works_and_the_memory_that_binds() -> None:
    norm = place(rmsnorm(2048, 4096), TRN2)
    assert (norm.headline.compute.name, norm.headline.memory.name) == ("Vector 1x", "HBM stack")
    assert norm.headline.unit == "pass"
    assert norm.side == "compute"  # 0.5 passes/B, right of 245.76 / 716.8 = 0.343
    assert norm.headline.ridge == pytest.approx(245.76 / 716.8)
    square = place(matmul(4096, 4096, 4096), TRN2_LNC1)
    assert (square.headline.compute.name, square.headline.memory.name) == (
        "Tensor bf16",
        "DMA link",
    )
    assert square.headline.ridge == pytest.approx(180.7, abs=0.05)
    assert square.side == "compute"
    assert square.vendor_ridge == pytest.approx(109.84, abs=0.01)
    thin = place(matmul(16, 4096, 4096), TRN2_LNC1)
    assert thin.side == "memory"
    assert thin.headline.attainable == pytest.approx(thin.headline.intensity * 435.2e9)


def test_a_side_that_depends_on_the_mode_says_so() -> None:
    words = place(rmsnorm(2048, 4096), TRN2).side_words
    assert words.startswith("at 0.5 passes/B on the compute side of Vector 1x (ridge 0.343)")
    assert "on the memory side of Vector 2x" in words
    square = place(matmul(4096, 4096, 4096), TRN2)
    assert square.side_words == "on the compute side of every roof pair at 1,365 FLOP/B"


def test_a_mixed_kernel_stands_by_the_engine_whose_own_work_takes_longest() -> None:
    square = matmul(1024, 1024, 1024)
    moved = replace(square.ops[0], name="mm32", tensor_flops={"fp32": 2 * 1024**3})
    passes = {"element_passes": 12 * 2**20, "engines": ("vector", "scalar")}
    copies = [
        OpCount(name=f"on {engine}", usual_engine=engine, **passes)
        for engine in ("vector", "scalar")
    ]
    placed = place(replace(square, ops=(square.ops[0], moved, *copies)), TRN2_LNC1)
    # Tensor takes 137 us; all passes on Vector would be 205 us, but its own are 102
    assert placed.headline.compute.resource == "tensor"
    share = f"{placed.headline.intensity:.3g} FLOP/B"
    assert placed.side_words == f"on the compute side of every roof pair at {share}"


def test_a_point_above_a_roof_is_kept_and_explained() -> None:
    placed = place(rmsnorm(2048, 4096), TRN2, time_s=10e-6, clock="device_execution")
    assert placed.headroom is not None
    assert placed.headroom < 1
    assert "faster than the lower bound" in placed.notes[0]
    verdict = decide(evidence_from_time(placed))
    assert verdict.label == "unknown"
    assert "faster than the lower bound" in verdict.explanation


def test_measured_bytes_below_the_minimum_are_explained() -> None:
    work = rmsnorm(512, 3072, measured_read_bytes=1000, measured_write_bytes=1000)
    assert "fewer than the minimum" in place(work, TRN2).notes[0]


def test_the_ladder_of_a_launch_bound_kernel() -> None:
    placed = place(rmsnorm(4, 512), TRN2, time_s=375.5e-6, clock="framework_window")
    rungs = {rung.key: rung for rung in ladder(placed)}
    assert list(rungs) == ["bytes", "engines", "dma", "device-start", "measured"]
    assert rungs["bytes"].value_s == pytest.approx(12.86e-9, rel=1e-3)
    # 4 rows fill 4 lanes: 2 passes x 512 columns at 0.96 GHz
    assert rungs["engines"].high_s == pytest.approx(2 * 512 / 0.96e9)
    assert (rungs["device-start"].low_s, rungs["device-start"].high_s) == (9e-6, 22e-6)
    for rung in rungs.values():
        assert rung.low_s <= rung.value_s <= rung.high_s
        assert rung.source


def test_a_framework_window_that_is_not_device_time_is_overhead_of_the_host() -> None:
    for seconds, work in ((375.5e-6, rmsnorm(4, 512)), (5e-3, rmsnorm(2048, 4096))):
        placed = place(work, TRN2, time_s=seconds, clock="framework_window")
        verdict = decide(evidence_from_time(placed))
        assert verdict.label == "overhead:host"
        assert verdict.stable
    long = place(rmsnorm(65536, 8192), TRN2, time_s=6e-3, clock="framework_window")
    assert decide(evidence_from_time(long)).label != "overhead:host"


def test_a_device_time_of_a_large_kernel_excludes_memory_and_names_no_engine() -> None:
    placed = place(rmsnorm(2048, 10240), TRN2, time_s=292.1e-6, clock="device_execution")
    verdict = decide(evidence_from_time(placed))
    assert verdict.label == "unknown"
    assert verdict.excluded == ("hbm",)


@given(rows=st.integers(1, 1 << 16), cols=st.integers(1, 1 << 14), slow=st.floats(1.0, 1e4))
def test_device_time_contains_the_bound_and_fractions_agree(
    rows: int, cols: int, slow: float
) -> None:
    bound = place(rmsnorm(rows, cols), TRN2).bound.seconds
    placed = place(rmsnorm(rows, cols), TRN2, time_s=bound * slow, clock="device_execution")
    low, high = device_time(placed) or (0.0, 0.0)
    assert bound <= low <= high
    assert placed.bound_fraction == pytest.approx(1 / slow)
    assert placed.headroom == pytest.approx(slow)
    for pair in placed.pairs:
        assert pair.attainable <= pair.compute.value
        assert (pair.side == "memory") == (pair.attainable < pair.compute.value)


@pytest.mark.parametrize("time_s", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_is_none_is_refused(time_s: float) -> None:
    with pytest.raises(QueryError, match="more than 0 s"):
        place(rmsnorm(4, 512), TRN2, time_s=time_s)


def test_an_unknown_clock_and_a_work_without_bytes_are_refused() -> None:
    with pytest.raises(UnitError, match="unknown clock"):
        place(rmsnorm(4, 512), TRN2, clock="sundial")
    with pytest.raises(WorkError, match="moves and computes nothing"):
        place(Work(name="nothing", mode="eager", dtype="bf16"), TRN2)
    with pytest.raises(WorkError, match="zero bytes were measured"):
        place(rmsnorm(4, 512, measured_read_bytes=0, measured_write_bytes=0), TRN2)


def test_a_copy_is_on_the_memory_side_and_has_no_pairs() -> None:
    copy = Work(
        name="copy",
        mode="eager",
        dtype="bf16",
        minimal_read_bytes=1 << 20,
        minimal_write_bytes=1 << 20,
    )
    placed = place(copy, TRN2, time_s=20e-6, clock="device_execution")
    assert placed.side == "memory"
    assert placed.pairs == ()
    assert placed.headline is None
    assert placed.bound_fraction == pytest.approx((2 << 20) / 716.8e9 / 20e-6)
    assert next(rung.key for rung in ladder(placed)) == "bytes"


def test_counters_alone_have_a_place_without_a_bound() -> None:
    counted = Work(
        name="summary",
        mode="executed",
        dtype="bf16",
        measured_read_bytes=1 << 20,
        measured_write_bytes=1 << 20,
    )
    placed = place(counted, TRN2, time_s=20e-6, clock="device_body")
    assert placed.bound is None
    assert placed.headroom is None
    assert placed.bytes_per_s("measured") == pytest.approx((2 << 20) / 20e-6)
