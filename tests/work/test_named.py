from __future__ import annotations

import pytest

from roofline.errors import WorkError
from roofline.work.closed_form import closed_form
from roofline.work.named import is_named, named_work


def test_a_name_with_sizes_is_its_closed_form() -> None:
    sizes = ("rows=512", "cols = 3072", "dtype=bf16")
    for variant in ("eager", "fused", "compiled"):
        wanted = closed_form("rmsnorm", rows=512, cols=3072, dtype="bf16", variant=variant)
        assert named_work(f"rmsnorm:{variant}", sizes) == wanted
        assert named_work("rmsnorm", sizes, variant=variant) == wanted


def test_a_function_of_that_name_is_no_closed_form() -> None:
    assert is_named("softmax")
    assert not is_named("rmsnorm:forward")
    assert not is_named("rmsnorm.py:fused")
    assert not is_named("kernels:rmsnorm")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rows=4", "cols=8"], "no dtype"),
        (["rows=4", "dtype=bf16"], "missing cols"),
        (["rows=4", "cols=8", "heads=2", "dtype=bf16"], "unknown heads"),
        (["rows=4x2", "cols=8", "dtype=bf16"], "whole number"),
        (["rows=4", "rows=5", "cols=8", "dtype=bf16"], "given twice"),
        (["rows"], "not NAME=VALUE"),
        (["rows=4", "cols=8", "dtype=bf61"], "bf61"),
    ],
)
def test_what_is_no_size_is_named(arguments: list[str], message: str) -> None:
    with pytest.raises(WorkError, match=message):
        named_work("rmsnorm", arguments)
