from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.analysis.bounds import FAMILIES, Busy, Times, bounds_of, vendor_bounds
from roofline.analysis.bounds_counters import bounds_from_counters, capture_bounds
from roofline.analysis.bounds_inputs import bounds
from roofline.captures.hardware import hardware_of
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError, QueryError
from roofline.hardware.load import load_hardware
from roofline.report.bounds import bounds_text
from tests.analysis.synthetic import capture, instruction, packet

HW = load_hardware("trn2", lnc=1)

# AWS, neuron-agentic-development, example-bounds-analysis: a 4096^3 bf16 matmul on trn2
FLOPS = 2 * 4096**3
NECESSARY = 3 * 4096**2 * 2


def example(total: float, dma: float, tensor: float, moved: int) -> dict[str, float]:
    found = bounds_from_counters(
        HW,
        total_s=total * 1e-6,
        active_s={"dma": dma * 1e-6, "tensor": tensor * 1e-6, "vector": 176e-6},
        dma_bytes=moved,
        necessary_bytes=NECESSARY,
        flops=FLOPS,
        roofs="vendor",
    )
    return {name: value * 1e6 for name, value in vendor_bounds(found).items()}


def test_the_vendors_worked_example_version_0() -> None:
    found = example(8602, 7906, 4806, 1207697408)
    # printed in whole microseconds
    assert found == {
        "memory_bound": pytest.approx(7906, abs=0.5),
        "memory_bound_ideal": pytest.approx(2776, abs=0.5),
        "memory_bound_ideal_no_reloads": pytest.approx(231, abs=0.5),
        "compute_bound": pytest.approx(4806, abs=0.5),
        "compute_bound_ideal_flops": pytest.approx(1748, abs=0.5),
        "compute_bound_ideal_useful_flops": pytest.approx(1748, abs=0.5),
        "perfect_pipeline": pytest.approx(7906, abs=0.5),
        "total_time": pytest.approx(8602, abs=0.5),
    }


def test_the_vendors_worked_examples_1_and_2() -> None:
    for total, dma, tensor in ((2451, 1325, 2163), (1801, 819, 1781)):
        found = example(total, dma, tensor, 201326592)
        assert found["memory_bound_ideal"] == pytest.approx(463, abs=0.5)
        assert found["perfect_pipeline"] == pytest.approx(tensor, abs=0.5)


def test_transposes_are_not_useful() -> None:
    """A 2048^3 matmul with 2.15 GFLOP of transposes: a gap of 27.3 us above 218 us."""
    useful = 2 * 2048**3
    found = bounds_from_counters(
        HW, total_s=1e-3, active_s={}, flops=useful + 2.15e9, transpose_flops=2.15e9
    ).bound_s.sel(family="tensor")
    assert float(found.sel(level="useful")) * 1e6 == pytest.approx(218, abs=0.5)
    gap = float(found.sel(level="ideal") - found.sel(level="useful"))
    assert gap * 1e6 == pytest.approx(27.3, abs=0.05)


def test_fp32_is_held_against_the_fp32_peak() -> None:
    found = bounds_from_counters(HW, total_s=1.0, active_s={}, flops=FLOPS, dtype="fp32")
    ideal = float(found.bound_s.sel(family="tensor", level="ideal"))
    assert ideal == pytest.approx(FLOPS / (128 * 128 * 2 * 2.4e9 / 4), rel=1e-12)


def test_a_speedup_stops_at_the_slowest_other_resource() -> None:
    found = bounds_of(
        {
            "dma": Busy(actual=6.0, ideal=1.0, useful=0.5),
            "tensor": Busy(actual=4.0, ideal=3.0),
        },
        Times(window_s=8.0),
        HW,
    )
    assert found.attrs["bottleneck"] == "dma"
    assert float(found.speedup.sel(family="dma", level="actual")) == pytest.approx(8 / 6)
    assert float(found.speedup.sel(family="dma", level="useful")) == pytest.approx(8 / 4)
    assert float(found.speedup.sel(family="tensor", level="ideal")) == pytest.approx(8 / 6)
    assert math.isnan(float(found.speedup.sel(family="tensor", level="useful")))


known = st.one_of(st.none(), st.floats(0, 1e3))


@given(
    st.lists(st.tuples(known, known, known, known, known), min_size=5, max_size=5),
    st.floats(1e-6, 1e3),
    st.floats(0, 10),
    st.floats(0, 10),
    known,
)
def test_the_tree_adds_up_to_the_total_and_no_step_is_negative(
    table: Any, window: float, start: float, tail: float, lower: float | None
) -> None:
    busy = {
        family: Busy(actual=a, achievable=b, streamed=c, ideal=d, useful=e)
        for family, (a, b, c, d, e) in zip(FAMILIES, table, strict=True)
    }
    times = Times(window_s=window, start_up_s=start, tail_s=tail)
    found = bounds_of(busy, times, HW, lower_bound_s=lower)
    assert float(found.step_s.sum()) == pytest.approx(window + start + tail, rel=1e-9)
    assert float(found.step_s.min()) >= 0
    assert bounds_text(found)


MATMUL = "src=bfloat16@0x100[1,0,0][512,1,1] dst=0x2000000[1,0,0][512,1,1] 128*64 "
TRANSPOSE = "src=bfloat16@0x100[1,0,0][128,1,1] dst=0x2000000[1,0,0][128,1,1] 128*128 "
ADD = (
    "op=ADD src0=bfloat16@0x0[1][960] src1=bfloat16@0x900[1][960] dst=bfloat16@0x0[1][960] "
    "channels=128 "
)
COPY = "src=fp32@0x2000000[1][960] dst=fp32@0x0[1][960] channels=128 "


def kernel(**more: Any) -> Any:
    return capture(
        [
            instruction("tensor", "MATMUL", 0, 1, MATMUL, tensor_instruction_type="REGULAR"),
            instruction("tensor", "MATMUL", 1, 2, TRANSPOSE, tensor_instruction_type="TRANSPOSE"),
            instruction("vector", "TENSOR_TENSOR", 2, 4, ADD),
            instruction("vector", "COPY", 4, 6, COPY),
        ],
        [
            *(packet(1, 2, 4352, engine_idx=at) for at in range(16)),
            packet(2, 2, 4),
            packet(3, 3.1, 64, queue_type="instruction"),
        ],
        **more,
    )


def test_levels_of_a_small_kernel_from_first_principles() -> None:
    found = bounds(kernel(), HW, necessary_bytes=43520)
    at = {
        family: dict(zip(found.level.values, found.bound_s.sel(family=family).values, strict=True))
        for family in FAMILIES
    }
    # 512 + 128 moving columns at 2.4 GHz; the first matmul fills half of the array
    assert at["tensor"]["streamed"] == pytest.approx(640 / 2.4e9)
    assert at["tensor"]["ideal"] == pytest.approx((512 / 2 + 128) / 2.4e9)
    assert at["tensor"]["useful"] == pytest.approx(512 / 2 / 2.4e9)
    # 960 bf16 sums in SBUF at 2 a cycle, 960 fp32 copies from PSUM at 1
    assert at["vector"]["ideal"] == pytest.approx((480 + 960) / 0.96e9)
    assert at["vector"]["useful"] == pytest.approx(480 / 0.96e9)
    assert at["vector"]["achievable"] > at["vector"]["ideal"]
    assert at["vector"]["actual"] == pytest.approx(4e-6)
    # packets with data over the 435.2 GB/s of 16 engines
    assert at["dma"]["ideal"] == pytest.approx(16 * 4352 / 435.2e9)
    assert at["dma"]["useful"] == pytest.approx(43520 / 435.2e9)
    assert at["dma"]["achievable"] >= 4352 / 27.2e9 + 2.4e-9 - 1e-15
    assert found.attrs["lower_bound_source"] == "useful part of the executed work"


def test_a_limit_on_the_clock_lies_between_streamed_and_achievable() -> None:
    limited = kernel(
        throttle=[
            {"timestamp": 0, "duration": 1000, "k": 4, "n": 8, "pcore_idx": 0},
            {"timestamp": 1000, "duration": 9000, "k": 8, "n": 8, "pcore_idx": 0},
        ]
    )
    line = bounds(limited, HW).bound_s.sel(family="tensor")
    assert float(line.sel(level="achievable")) == pytest.approx((512 * 2 + 128) / 2.4e9)


def test_unknown_shapes_leave_levels_unknown() -> None:
    plain = capture([instruction("tensor", "MATMUL", 0, 1), instruction("vector", "COPY", 1, 2)])
    line = bounds(plain, HW).bound_s
    assert np.isnan(line.sel(family="tensor", level="ideal"))
    assert np.isnan(line.sel(family="vector", level="ideal"))
    assert float(line.sel(family="tensor", level="actual")) == pytest.approx(1e-6)


def test_a_summary_has_body_and_total_only() -> None:
    summary = capture(
        summary={
            "total_time": 10e-6,
            "total_active_time": 4e-6,
            "vector_engine_active_time_percent": 0.3,
            "dma_active_time": 2e-6,
        }
    )
    found = capture_bounds(summary, HW)
    assert found.attrs["window_s"] == pytest.approx(4e-6)
    assert float(found.step_s.sel(step="start_up")) == pytest.approx(6e-6)
    assert found.attrs["bottleneck"] == "vector"
    with pytest.raises(QueryError, match="only body and total"):
        capture_bounds(summary, HW, "1us..2us")
    with pytest.raises(CaptureError, match="total_time"):
        capture_bounds(capture(summary={"total_time": 0}), HW)


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "trn2-v6-attention/baseline_bf16_s512.ntff",
        "trn2-v6-attention/fused_bf16_s1024.json.gz",
        "inf2-v5-matmul/matmul_128x128x512.json.gz",
        "trn2-v5-vector-add/vector_add_fd1000.ntff",
        "trn2-v5-conv2d/conv2d_fp16_small.ntff",
        "trn1-v4-vector-add/vector_add_fd1000.ntff",
    ],
)
def test_levels_of_real_captures_fall_and_the_tree_adds_up(shared: Path, name: str) -> None:
    """No resource was faster than its theoretical rate: the oracle is the machine itself."""
    made = open_capture(shared / "captures" / name)
    found = bounds(made, hardware_of(made, working_cores=1))
    total = found.attrs["total_s"]
    assert float(found.step_s.sum()) == pytest.approx(total, rel=1e-9)
    for family in FAMILIES:
        line = found.bound_s.sel(family=family).values
        line = line[np.isfinite(line)]
        assert np.all(np.diff(line) <= 1e-12), (family, line)
    for row in bounds_text(found).splitlines()[1:]:
        assert len(row) <= 80
