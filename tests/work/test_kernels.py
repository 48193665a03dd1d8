from __future__ import annotations

import pytest
import torch

from roofline.errors import WorkError
from roofline.work import Call, Cost, count, counted, formula_names, op_key, register, unregister
from roofline.work.registry import find_formula


def twice(call: Call) -> Cost:
    return Cost(flops={"elementwise": 2 * call.out.numel}, passes=call.out.numel, stages=2)


@pytest.fixture
def scale():
    @counted("tests::scale", twice, result=lambda x: torch.empty_like(x))
    def scale(x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError("needs the device")

    yield scale
    unregister("tests::scale")


def test_a_kernel_is_one_operator_and_never_runs_while_counting(scale):
    x = torch.empty(4, 8, device="meta")
    work = count(lambda x: scale(x) + 1, x, strict=True)
    assert [op.name for op in work.ops] == ["tests::scale", "aten::add.Tensor"]
    assert work.total_flops == 3 * 32
    assert work.dispatched_bytes == 2 * 2 * 4 * 32
    with pytest.raises(NotImplementedError, match="device"):
        scale(x)


def test_a_helper_counts_whole_with_a_formula_that_exists():
    @counted("rms_norm")
    def norm(x: torch.Tensor, shape: list[int], w: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w

    x = torch.empty(4, 512, device="meta", dtype=torch.bfloat16)
    work = count(norm, x, [512], torch.empty(512, device="meta", dtype=torch.bfloat16))
    assert (work.total_flops, work.dispatched_bytes, work.launches) == (8_200, 9_216, 1)


def test_names_have_one_key():
    for name in (
        "mul",
        "aten::mul",
        "aten::mul.Tensor",
        "aten::mul_",
        "torch.mul",
        "aten.mul_.Tensor",
    ):
        assert op_key(name) == "mul"
    assert op_key("torch.nn.functional.rms_norm") == "rms_norm"
    assert op_key("aten::_softmax") == "_softmax"
    assert op_key("mine::mul.default") == "mine::mul"


def test_duplicates_are_refused_and_built_in_ones_stay():
    with pytest.raises(WorkError, match="already has a formula"):
        register("aten::mul", twice)
    with pytest.raises(WorkError, match="no formula of yours"):
        unregister("mul")
    assert find_formula("mine::nothing") is None
    assert len(formula_names()) > 400


def test_tags_give_a_rule_without_an_entry():
    # tagged pointwise by torch, and in no table here
    assert find_formula("special_bessel_j0") is None
    if torch.Tag.pointwise in torch.ops.aten.special_bessel_j0.default.tags:
        work = count(torch.special.bessel_j0, torch.empty(4, 8, device="meta"))
        assert (work.total_flops, work.partial) == (32, False)
