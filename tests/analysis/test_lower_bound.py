"""The lower bound against arithmetic done by hand and against its own definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.analysis.lower_bound import bound_terms, lower_bound, tensor_seconds
from roofline.errors import HardwareModelError, WorkError
from roofline.hardware.load import load_hardware
from roofline.work.work import OpCount, Work


def make_work(
    *, read: int = 0, write: int = 0, passes: int = 0, tensor: dict[str, int] | None = None
) -> Work:
    flops = {"matmul": sum((tensor or {}).values())}
    return Work(
        name="w",
        mode="fused",
        dtype="bf16",
        ops=(OpCount(name="op", flops=flops, tensor_flops=tensor or {}, element_passes=passes),),
        minimal_read_bytes=read,
        minimal_write_bytes=write,
        element_passes_minimal=passes,
    )


def test_memory_bound_on_both_logical_cores() -> None:
    # LNC 2: two cores pull more than one stack of 716.8 GB/s gives; LNC 1: 16 links of 27.2 GB/s
    work = make_work(read=4_000_000, write=168_000)
    two = lower_bound(work, load_hardware("trn2", lnc=2))
    one = lower_bound(work, load_hardware("trn2", lnc=1))
    assert two.seconds == pytest.approx(4_168_000 / 716.8e9, rel=1e-12)
    assert two.binding == "hbm"
    assert one.seconds == pytest.approx(4_168_000 / 435.2e9, rel=1e-12)
    assert one.binding == "dma"


def test_tensor_bound_adds_dtypes() -> None:
    hardware = load_hardware("trn2", lnc=1)
    work = make_work(read=2, tensor={"bf16": 10**12, "fp32": 10**12})
    bound = lower_bound(work, hardware)
    by_hand = 1e12 / (128 * 128 * 2 * 2.4e9) + 1e12 / (128 * 128 * 2 * 2.4e9 / 4)
    assert bound.seconds == pytest.approx(by_hand, rel=1e-12)
    assert bound.binding == "tensor"


def test_element_work_is_spread_over_every_engine() -> None:
    hardware = load_hardware("trn2", lnc=1)
    bound = lower_bound(make_work(read=2, passes=10**9), hardware)
    assert bound.binding == "elements"
    vector_alone = 1e9 / hardware.element_rate("vector", 4).value
    assert bound.seconds < vector_alone
    assert bound.seconds == pytest.approx(1e9 / hardware.best_element_rate("bf16"), rel=1e-12)


def test_the_published_matmul_peak_is_not_beaten() -> None:
    # 2 x 4096 x 8192 x 8192 in fp32 on one core: 28,198 us published, 27,963 us at the peak
    flops = 2 * 4096 * 8192 * 8192
    bound = lower_bound(make_work(read=2, tensor={"fp32": flops}), load_hardware("trn2", lnc=1))
    assert bound.seconds == pytest.approx(27_963e-6, rel=1e-4)
    assert bound.seconds < 28_197.982e-6


def test_nothing_to_do_is_an_error() -> None:
    with pytest.raises(WorkError, match="nothing to bound"):
        lower_bound(make_work(), load_hardware("trn2"))


def test_a_dtype_the_chip_cannot_multiply_is_named() -> None:
    with pytest.raises(HardwareModelError, match="int32"):
        lower_bound(make_work(read=1, tensor={"int32": 1}), load_hardware("trn2"))


@given(st.integers(0, 10**15), st.integers(0, 10**12), st.integers(0, 10**12), st.floats(1.0, 4.0))
def test_more_work_never_takes_less(flops: int, passes: int, size: int, factor: float) -> None:
    hardware = load_hardware("trn2")
    small = make_work(read=size + 1, passes=passes, tensor={"bf16": flops})
    large = make_work(
        read=int((size + 1) * factor),
        passes=int(passes * factor) + 1,
        tensor={"bf16": int(flops * factor) + 1},
    )
    assert lower_bound(small, hardware).seconds <= lower_bound(large, hardware).seconds * (
        1 + 1e-12
    )


def test_the_core_broadcasts() -> None:
    rows, cols = np.arange(1, 5)[:, None], np.arange(1, 8)
    terms = bound_terms(
        tensor_s=tensor_seconds({"bf16": rows * cols}, {"bf16": 2.0}),
        passes=rows * cols,
        bytes=cols,
        passes_per_s=4.0,
        bytes_per_s=8.0,
    )
    assert np.maximum(np.maximum(*terms[:2]), terms[2]).shape == (4, 7)
    assert terms[0][3, 6] == 14.0
    assert terms[2][6] == 0.875
