from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from roofline.errors import MissingFormulaError, WorkError
from roofline.work import Cost, Counter, count, parse_spec, register, unregister
from roofline.work.closed_form import closed_form
from roofline.work.work import MODES
from tests.work.blocks import LlamaBlock, ResNetBlock

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def meta(*shape: int, dtype: str = "bf16", grad: bool = False) -> torch.Tensor:
    return torch.empty(shape, dtype=DTYPES[dtype], device="meta", requires_grad=grad)


def naive(x: torch.Tensor, w: torch.Tensor, eps: float | torch.Tensor = 1e-6) -> torch.Tensor:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * w


def fused(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, (x.shape[-1],), w, 1e-6)


FIGURES = ("total_flops", "flops", "minimal_read_bytes", "minimal_write_bytes", "dispatched_bytes",
           "dispatched_aliased_bytes", "element_passes", "element_passes_minimal", "launches",
           "tensor_flops", "dtype")  # fmt: skip


@given(
    rows=st.integers(1, 600),
    cols=st.integers(2, 3000),
    dtype=st.sampled_from(sorted(DTYPES)),
)
@settings(deadline=None, max_examples=25)
def test_rmsnorm_counts_equal_the_closed_form(rows: int, cols: int, dtype: str) -> None:
    x, w = meta(rows, cols, dtype=dtype), meta(cols, dtype=dtype)
    for variant, fn in (("eager", naive), ("fused", fused)):
        counted = count(fn, x, w)
        expected = closed_form("rmsnorm", rows=rows, cols=cols, dtype=dtype, variant=variant)
        for figure in FIGURES:
            assert getattr(counted, figure) == getattr(expected, figure), (variant, figure)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fn", [naive, fused])
def test_rmsnorm_4x512_in_every_mode(mode: str, fn: object) -> None:
    work = count(fn, meta(4, 512), meta(512), mode=mode)  # type: ignore[arg-type]
    assert work.total_flops == 8_200
    assert work.minimal_bytes == 9_216
    whole = fn is fused or mode != "eager"
    assert work.dispatched_bytes == (9_216 if whole else 33_840)
    assert work.launches == (1 if whole else 6)
    assert work.element_passes_minimal == 2 * 4 * 512


@pytest.mark.parametrize(
    "gradient", [torch.enable_grad, torch.no_grad, torch.inference_mode], ids=lambda c: c.__name__
)
@pytest.mark.parametrize("leaf", [False, True])
def test_a_native_operator_stays_whole_under_every_grad_mode(gradient: object, leaf: bool) -> None:
    with gradient():  # type: ignore[operator]
        work = count(fused, meta(4, 512, grad=leaf), meta(512, grad=leaf))
    assert [op.name for op in work.ops] == ["rms_norm"]
    assert (work.total_flops, work.dispatched_bytes) == (8_200, 9_216)


@pytest.mark.parametrize("mode", MODES)
def test_a_scalar_on_the_cpu_is_a_host_copy(mode: str) -> None:
    work = count(naive, meta(4, 512), meta(512), torch.tensor(1e-6), mode=mode)
    assert work.host_copy_bytes == 4
    assert work.minimal_bytes == 9_216
    assert count(naive, meta(4, 512), meta(512), mode=mode).host_copy_bytes == 0


def test_inputs_may_be_written_as_specs() -> None:
    work = count(naive, parse_spec("4x512:bf16"), parse_spec("512:bf16"))
    assert work.dispatched_bytes == 33_840


BLOCKS = {
    "llama": (lambda: LlamaBlock().to(torch.bfloat16), LlamaBlock.inputs),
    "resnet": (ResNetBlock, lambda: (meta(2, 16, 32, 32, dtype="fp32"),)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_covered_completely_and_alike_in_every_mode(name: str) -> None:
    make, inputs = BLOCKS[name]
    block = make()
    works = {mode: count(block, *inputs(), mode=mode, strict=True) for mode in MODES}
    assert not any(work.partial for work in works.values())
    assert len({tuple(work.flops.items()) for work in works.values()}) == 1
    for work in works.values():
        assert sum(work.tensor_flops.values()) == work.flops["matmul"]
        assert 0 < work.element_passes_minimal <= work.element_passes
        assert work.minimal_bytes <= work.dispatched_bytes
    assert works["fused"].dispatched_bytes == works["eager"].minimal_bytes
    assert works["compiled"].dispatched_bytes <= works["eager"].dispatched_bytes


@pytest.mark.parametrize("name", BLOCKS)
def test_products_equal_the_flop_counter_of_torch(name: str) -> None:
    make, inputs = BLOCKS[name]
    block = make().to("meta")
    with FlopCounterMode(display=False) as counter:
        block(*inputs())
    assert count(block, *inputs()).flops["matmul"] == counter.get_total_flops()


@pytest.mark.parametrize("name", BLOCKS)
def test_forward_and_backward(name: str) -> None:
    make, inputs = BLOCKS[name]
    block = make()

    def step(*args: torch.Tensor) -> None:
        block(*args).sum().backward()

    forward, eager = count(block, *inputs()), count(step, *inputs(), strict=True)
    compiled = count(step, *inputs(), mode="compiled", strict=True)
    assert eager.total_flops > 2 * forward.total_flops
    assert compiled.total_flops == eager.total_flops
    assert compiled.launches == 3  # forward, the gradient of the result (ones), backward
    assert compiled.minimal_bytes == eager.minimal_bytes
    assert {op.module for op in eager.ops} >= {"backward"}


def test_what_is_not_captured_counts_operator_by_operator() -> None:
    @torch._dynamo.disable
    def outside(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * 3

    def partly(x: torch.Tensor) -> torch.Tensor:
        return outside(torch.exp(x)) + 1

    def broken(x: torch.Tensor) -> torch.Tensor:
        y = torch.exp(x) * 2
        torch._dynamo.graph_break()
        return (y + 1).sum()

    x = meta(4, 8, dtype="fp32")
    for fn, launches in ((partly, 4), (broken, 2)):
        compiled, eager = count(fn, x, mode="compiled"), count(fn, x)
        assert compiled.flops == eager.flops
        assert compiled.launches == launches
        assert compiled.minimal_bytes == eager.minimal_bytes


def test_attention_inside_torchs_own_modules_stays_whole() -> None:
    attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def attend(x: torch.Tensor) -> torch.Tensor:
        return attention(x, x, x, need_weights=False)[0]

    works = [count(attend, meta(2, 8, 32, dtype="fp32"), mode=mode) for mode in MODES]
    assert len({work.total_flops for work in works}) == 1
    assert "scaled_dot_product_attention" in {op.name for op in works[0].ops}


@pytest.mark.parametrize("mode", MODES)
def test_compiled_functions_and_modules_count_like_plain_ones(mode: str) -> None:
    x = meta(4, 8, dtype="fp32")
    function = torch.compile(lambda x: torch.exp(x) * 2, backend="eager")
    module = torch.compile(nn.Linear(8, 4), backend="eager")
    assert count(function, x, mode=mode).total_flops == 64
    assert count(module, x, mode=mode).flops["matmul"] == 2 * 4 * 8 * 4


def test_nested_blocks_each_count_what_runs_inside() -> None:
    x, q = meta(4, 8), meta(1, 2, 16, 8)
    with Counter() as outer:
        torch.exp(x)
        with Counter() as inner:
            torch.exp(x)
            F.scaled_dot_product_attention(q, q, q)
    assert outer.work().flops["special"] == inner.work().flops["special"] + 32
    assert outer.work().flops["matmul"] == inner.work().flops["matmul"]
    with pytest.raises(ZeroDivisionError), Counter():
        raise ZeroDivisionError
    assert F.scaled_dot_product_attention.__name__ == "scaled_dot_product_attention"
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def test_parts_of_tensors_are_read_as_parts() -> None:
    x = meta(4, 8, dtype="fp32")
    cases = [
        (lambda x: x[:, :4] + x[:, 4:], 128 + 64),
        (lambda x: x + x[0], 128 + 128),
        (lambda x: x, 0),
        (lambda x: x.view(8, 4).t(), 0),
        (lambda x: x.fill_(0), 128),
        (lambda x: x.add_(1), 128 + 128),
        (lambda x: x[:2].clone(), 64 + 64),
        (
            lambda x: F.embedding(torch.empty(3, dtype=torch.int64, device="meta"), x),
            3 * 8 + 2 * 96,
        ),
        (lambda x: x[:1].expand(4, 8) * 2, 32 + 128),
    ]
    for number, (fn, expected) in enumerate(cases):
        assert count(fn, x).minimal_bytes == expected, number


def test_collectives_are_bytes() -> None:
    import torch.distributed._functional_collectives

    x = meta(4, 8, dtype="fp32")
    work = count(lambda x: torch.ops._c10d_functional.all_reduce(x, "sum", "group"), x, strict=True)
    assert (work.total_flops, work.dispatched_bytes) == (0, 2 * 128)
    assert work.ops[0].family == "collective"


def test_fake_tensors_count_like_meta_tensors() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x, w = torch.empty(4, 512, dtype=torch.bfloat16), torch.empty(512, dtype=torch.bfloat16)
        work = count(naive, x, w)
    assert (work.total_flops, work.dispatched_bytes, work.launches) == (8_200, 33_840, 6)


def test_real_tensors_count_alike_and_give_results() -> None:
    x, w = torch.ones(4, 512, dtype=torch.bfloat16), torch.ones(512, dtype=torch.bfloat16)
    with Counter() as counter:
        out = naive(x, w)
    assert counter.work().dispatched_bytes == 33_840
    assert float(out[0, 0]) == pytest.approx(1.0, rel=1e-2)  # bf16 keeps 8 bits


def test_a_very_large_model_needs_no_memory() -> None:
    with torch.device("meta"):
        block = LlamaBlock(width=16_384, heads=128, hidden=53_248).to(torch.bfloat16)
    inputs = LlamaBlock.inputs(batch=1, length=8_192, width=16_384, heads=128)
    work = count(block, *inputs)
    weights = 4 * 16_384**2 + 3 * 16_384 * 53_248
    attention = 4 * 8_192**2 * 16_384
    assert work.flops["matmul"] == 2 * weights * 8_192 + attention
    assert work.minimal_read_bytes > 2 * weights


def test_per_engine_work_adds_up() -> None:
    for name, (make, inputs) in BLOCKS.items():
        work = count(make(), *inputs())
        engines = work.passes_by_engine
        assert sum(engines.values()) == work.element_passes, name
        assert set(engines) <= {"vector", "scalar", "gpsimd"}


def test_every_parameter_gradient_is_written() -> None:
    layer = nn.Linear(32, 16, bias=False, device="meta")

    def step(x: torch.Tensor) -> None:
        layer(x).sum().backward()

    work = count(step, meta(8, 32, dtype="fp32"))
    # the gradient of the weight is a product too; that of the input is not asked for
    assert work.flops["matmul"] == 2 * (2 * 8 * 32 * 16)
    assert work.minimal_write_bytes == 4 * 32 * 16


def test_wrapping_a_module_changes_nothing() -> None:
    block, inputs = LlamaBlock().to(torch.bfloat16), LlamaBlock.inputs()

    class Wrapper(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, *args: torch.Tensor) -> torch.Tensor:
            return self.inner(*args)

    plain, twice = count(block, *inputs), count(Wrapper(Wrapper(block)), *inputs)
    for figure in FIGURES:
        assert getattr(plain, figure) == getattr(twice, figure), figure


def test_more_batch_is_more_work() -> None:
    block = LlamaBlock().to(torch.bfloat16)
    works = [count(block, *LlamaBlock.inputs(batch=batch)) for batch in range(1, 9)]
    for smaller, larger in pairwise(works):
        assert larger.total_flops > smaller.total_flops
        assert larger.dispatched_bytes > smaller.dispatched_bytes
        assert larger.element_passes_minimal > smaller.element_passes_minimal
    assert works[7].flops["matmul"] == 8 * works[0].flops["matmul"]


def test_module_names_follow_the_tree() -> None:
    work = count(LlamaBlock().to(torch.bfloat16), *LlamaBlock.inputs())
    modules = {op.module for op in work.ops}
    assert {"norm1", "qkv", "out", "norm2", "gate", "up", "down"} <= modules


class TestUnknownOperators:
    @pytest.fixture
    def mystery(self) -> Iterator[object]:
        with torch.library._scoped_library("roofline_tests", "DEF") as library:
            library.define("mystery(Tensor x) -> Tensor")
            library.impl("mystery", torch.clone, "CompositeExplicitAutograd")
            yield torch.ops.roofline_tests.mystery

    @pytest.mark.parametrize("mode", MODES)
    def test_is_named_and_makes_the_total_partial(self, mystery: object, mode: str) -> None:
        work = count(lambda x: mystery(x) * 2, meta(4, 8), mode=mode)  # type: ignore[operator]
        assert work.partial
        assert work.unknown_ops == ("roofline_tests::mystery",)
        assert work.total_flops == 32

    @pytest.mark.parametrize("mode", MODES)
    def test_strict_raises(self, mystery: object, mode: str) -> None:
        with pytest.raises(MissingFormulaError, match="roofline_tests::mystery"):
            count(mystery, meta(4, 8), mode=mode, strict=True)  # type: ignore[arg-type]

    def test_a_registered_formula_is_used(self, mystery: object) -> None:
        register(
            "roofline_tests::mystery",
            lambda call: Cost(flops={"elementwise": 3 * call.out.numel}, passes=call.out.numel),
        )
        try:
            work = count(mystery, meta(4, 8), strict=True)  # type: ignore[arg-type]
            assert work.total_flops == 96
            with pytest.raises(WorkError, match="already has a formula"):
                register("roofline_tests::mystery", lambda call: Cost())
        finally:
            unregister("roofline_tests::mystery")


def test_the_context_manager_counts_what_runs_inside() -> None:
    x, w = meta(4, 512), meta(512)
    with Counter() as counter:
        naive(x, w)
    naive(x, w)
    work = counter.work("norm")
    assert (work.total_flops, work.dispatched_bytes, work.minimal_bytes) == (8_200, 33_840, 9_216)


def test_causal_attention_counts_by_a_stated_convention() -> None:
    q = meta(1, 2, 64, 32)

    def attend(q: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)

    full, half = count(attend, q), count(attend, q, causal="half")
    assert full.flops["matmul"] == 4 * 2 * 64 * 64 * 32
    assert half.flops["matmul"] == 4 * 2 * (64 * 65 // 2) * 32
    assert "full" in full.ops[0].note
    assert "half" in half.ops[0].note
    with pytest.raises(WorkError, match="full, half"):
        count(attend, q, causal="third")


def test_bad_input_is_a_work_error() -> None:
    with pytest.raises(WorkError, match="eager, fused"):
        count(naive, meta(4, 8), meta(8), mode="magic")
    with pytest.raises(WorkError, match="cannot be captured"):
        count(lambda x: x @ x, meta(4, 8), mode="compiled")
