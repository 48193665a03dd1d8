from __future__ import annotations

import math

import numpy as np
import pytest

from roofline.errors import StudyError
from roofline.record.manifest import ReferenceCheck
from roofline.record.reference import TOLERANCES, check_reference, compared


def check(found: list[float], expected: list[float], tolerance: float = 0.01) -> ReferenceCheck:
    return compared([np.array(found)], [np.array(expected)], name="reference", tolerance=tolerance)


def test_errors_are_over_the_value_or_the_root_mean_square() -> None:
    done = check([1.0, 2.02, -4.0], [1.0, 2.0, -4.0])
    assert done.max_abs_error == pytest.approx(0.02)
    assert done.max_rel_error == pytest.approx(0.02 / math.sqrt(7))
    assert done.passed
    # a sum that cancels to nothing has no digits of its own
    assert check([1e-9, 1.0], [0.0, 1.0]).passed
    assert not check([0.1, 1.0], [0.0, 1.0]).passed


@pytest.mark.parametrize(
    ("found", "expected", "passed"),
    [
        ([math.nan], [1.0], False),
        ([1.0], [math.nan], False),
        ([math.nan], [math.nan], True),
        ([math.inf], [math.inf], True),
        ([-math.inf], [math.inf], False),
        ([0.0], [0.0], True),
        ([1.0], [0.0], False),
        ([], [], True),
    ],
)
def test_values_that_are_no_plain_numbers(
    found: list[float], expected: list[float], *, passed: bool
) -> None:
    assert check(found, expected).passed is passed


def test_the_tolerance_is_that_of_the_dtype() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(4)
    for dtype, bits in (("fp32", 32), ("bf16", 16), ("fp16", 16)):
        done = check_reference(lambda: x, lambda one: one, [x], name="r", dtype=dtype)
        assert done.tolerance == TOLERANCES[bits]
    done = check_reference(
        lambda: x, lambda one: one.double(), [x], name="r", dtype="fp32", tolerance=0.5
    )
    assert done.tolerance == 0.5
    assert done.passed


def test_the_reference_is_exact_and_on_the_cpu() -> None:
    torch = pytest.importorskip("torch")
    x = torch.rand(8, 16).bfloat16()
    index = torch.arange(8)
    seen = []

    def reference(value: object, rows: object) -> object:
        seen.extend([value.dtype, rows.dtype])
        return value.softmax(-1)

    done = check_reference(
        lambda: x.softmax(-1), reference, [x, index], name="reference", dtype="bf16"
    )
    assert seen == [torch.float64, torch.int64]
    assert 0 < done.max_rel_error < 2**-7
    with pytest.raises(StudyError, match=r"returns \(8, 16\), its reference \(8,\)"):
        check_reference(
            lambda: x, lambda one, _: one.sum(-1), [x, index], name="reference", dtype="bf16"
        )
