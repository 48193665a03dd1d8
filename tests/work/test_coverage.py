from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from roofline.work import count
from roofline.work.work import MODES


def t(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def i(*shape: int) -> torch.Tensor:
    return t(*shape, dtype=torch.int64)


X = (4, 6, 8)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    # products
    "mm": (torch.mm, (t(3, 4), t(4, 5))),
    "bmm": (torch.bmm, (t(2, 3, 4), t(2, 4, 5))),
    "addmm": (torch.addmm, (t(5), t(3, 4), t(4, 5))),
    "baddbmm": (torch.baddbmm, (t(2, 3, 5), t(2, 3, 4), t(2, 4, 5))),
    "matmul broadcast": (torch.matmul, (t(2, 1, 3, 4), t(7, 4, 5))),
    "matrix vector": (torch.matmul, (t(3, 4), t(4))),
    "dot": (torch.dot, (t(4), t(4))),
    "linear": (F.linear, (t(2, 3, 4), t(5, 4), t(5))),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), (t(2, 3, 4), t(2, 4, 5))),
    "outer": (torch.outer, (t(3), t(4))),
    "baddbmm scaled": (
        lambda a, b, c: torch.baddbmm(a, b, c, beta=0.5, alpha=2.0),
        (t(2, 3, 5), t(2, 3, 4), t(2, 4, 5)),
    ),
    # convolutions
    "conv1d": (F.conv1d, (t(2, 3, 9), t(4, 3, 3), t(4))),
    "conv2d": (F.conv2d, (t(2, 3, 9, 9), t(4, 3, 3, 3))),
    "conv3d": (F.conv3d, (t(1, 2, 5, 5, 5), t(3, 2, 3, 3, 3))),
    "grouped": (lambda x, w: F.conv2d(x, w, groups=2), (t(2, 4, 9, 9), t(6, 2, 3, 3))),
    "transposed": (F.conv_transpose2d, (t(2, 3, 5, 5), t(3, 4, 3, 3))),
    # attention
    "attention": (F.scaled_dot_product_attention, (t(2, 2, 8, 4),) * 3),
    "attention mask": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        (t(2, 2, 8, 4), t(8, 8)),
    ),
    "attention by hand": (
        lambda q: torch.softmax(q @ q.transpose(-1, -2) / 2, -1) @ q,
        (t(2, 2, 8, 4),),
    ),
    # norms
    "rms_norm": (lambda x, w: F.rms_norm(x, (8,), w), (t(*X), t(8))),
    "layer_norm": (lambda x, w: F.layer_norm(x, (8,), w, w), (t(*X), t(8))),
    "group_norm": (lambda x, w: F.group_norm(x, 3, w, w), (t(2, 6, 5, 5), t(6))),
    "batch_norm": (
        lambda x, m: F.batch_norm(x, m, m, m, m, training=True),
        (t(2, 6, 5, 5), t(6)),
    ),
    "batch_norm inference": (lambda x, m: F.batch_norm(x, m, m), (t(2, 6, 5, 5), t(6))),
    "instance_norm": (F.instance_norm, (t(2, 6, 5, 5),)),
    "normalize": (F.normalize, (t(*X),)),
    # softmax and losses
    "softmax": (lambda x: F.softmax(x, -1), (t(*X),)),
    "log_softmax": (lambda x: F.log_softmax(x, -1), (t(*X),)),
    "logsumexp": (lambda x: torch.logsumexp(x, -1), (t(*X),)),
    "cross_entropy": (F.cross_entropy, (t(5, 7), i(5))),
    "nll_loss": (F.nll_loss, (t(5, 7), i(5))),
    "mse_loss": (F.mse_loss, (t(5, 7), t(5, 7))),
    "l1_loss": (F.l1_loss, (t(5, 7), t(5, 7))),
    "smooth_l1": (F.smooth_l1_loss, (t(5, 7), t(5, 7))),
    "bce": (F.binary_cross_entropy, (t(5, 7), t(5, 7))),
    "bce logits": (F.binary_cross_entropy_with_logits, (t(5, 7), t(5, 7))),
    "kl_div": (lambda a, b: F.kl_div(a, b, reduction="batchmean"), (t(5, 7), t(5, 7))),
    # activations
    **{
        name: (getattr(F, name), (t(*X),))
        for name in str.split(
            "relu gelu silu sigmoid tanh elu selu celu softplus mish hardswish hardsigmoid "
            "leaky_relu hardtanh relu6 logsigmoid softsign tanhshrink hardshrink softshrink"
        )
    },
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), (t(*X),)),
    "glu": (F.glu, (t(*X),)),
    "prelu": (F.prelu, (t(2, 6, 5), t(6))),
    "swiglu": (lambda a, b: F.silu(a) * b, (t(*X), t(*X))),
    "rope": (
        lambda x, c: x * c + torch.cat((-x[..., 4:], x[..., :4]), -1) * c,
        (t(*X), t(6, 8)),
    ),
    # elementwise and in place
    **{
        name: (getattr(torch, name), (t(*X), t(6, 1)))
        for name in str.split(
            "add sub mul div maximum minimum pow atan2 fmod remainder lt eq"
        )
    },
    **{
        name: (getattr(torch, name), (t(*X),))
        for name in str.split(
            "exp log sqrt rsqrt sin cos neg abs reciprocal square sign floor ceil round erf isnan "
            "log1p expm1 tan sinh cosh asin acos atan trunc frac exp2 log2 log10 sgn"
        )
    },
    "clamp": (lambda x: torch.clamp(x, 0, 1), (t(*X),)),
    "where": (lambda x: torch.where(x > 0, x, 0.0), (t(*X),)),
    "masked_fill": (lambda x: x.masked_fill(x > 0, 1.0), (t(*X),)),
    "addcmul": (torch.addcmul, (t(*X), t(*X), t(*X))),
    "lerp": (lambda a, b: torch.lerp(a, b, 0.3), (t(*X), t(*X))),
    "in place": (lambda x: x.add_(1).mul_(2).relu_().clamp_(0, 1), (t(*X),)),
    "bits": (lambda x: (x & 3) | (x << 1), (i(*X),)),
    "logical": (lambda x: torch.logical_and(x, x), (t(*X),)),
    # reductions, scans, order
    **{
        name: (lambda x, n=name: getattr(torch, n)(x, -1), (t(*X),))
        for name in str.split(
            "sum mean prod amax amin argmax argmin cumsum cumprod max min var std all any sort "
            "argsort median logcumsumexp cummax"
        )
    },
    "sum of all": (torch.sum, (t(*X),)),
    "var_mean": (torch.var_mean, (t(*X),)),
    "norm": (torch.linalg.vector_norm, (t(*X),)),
    "topk": (lambda x: torch.topk(x, 3), (t(*X),)),
    "count_nonzero": (lambda x: torch.count_nonzero(x, -1), (t(*X),)),
    # moving data
    "gather": (lambda x, n: torch.gather(x, 0, n), (t(5, 6), i(5, 6))),
    "scatter": (lambda x, n: torch.scatter(x, 0, n, x), (t(5, 6), i(5, 6))),
    "scatter_add": (lambda x, n: torch.scatter_add(x, 0, n, x), (t(5, 6), i(5, 6))),
    "embedding": (F.embedding, (i(3, 4), t(100, 8))),
    "index_select": (lambda x, n: torch.index_select(x, 0, n), (t(5, 6), i(3))),
    "index": (lambda x, n: x[n], (t(5, 6), i(3))),
    "index_put": (lambda x, n: x.index_put_((n,), x[:3]), (t(5, 6), i(3))),
    "index_add": (lambda x, n: torch.index_add(x, 0, n, x[:3]), (t(5, 6), i(3))),
    "cat": (lambda x: torch.cat((x, x)), (t(*X),)),
    "stack": (lambda x: torch.stack((x, x)), (t(*X),)),
    "clone": (torch.clone, (t(*X),)),
    "cast": (lambda x: x.to(torch.bfloat16), (t(*X),)),
    "contiguous": (lambda x: x.transpose(0, 1).contiguous(), (t(*X),)),
    "roll flip": (lambda x: x.roll(1, 0).flip(0), (t(*X),)),
    "pad": (lambda x: F.pad(x, (1, 1)), (t(*X),)),
    "repeat": (lambda x: x.repeat(2, 1, 1), (t(*X),)),
    "tril": (torch.tril, (t(6, 6),)),
    "zeros": (lambda x: torch.zeros_like(x) + x, (t(*X),)),
    "arange": (lambda x: torch.arange(8, device=x.device) + x, (t(*X),)),
    "one_hot": (lambda n: F.one_hot(n, 10), (i(5),)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2), (t(1, 2, 4, 4),)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (t(1, 4, 4, 4),)),
    # pooling
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (t(1, 2, 8, 8),)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), (t(1, 2, 8, 8),)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 2), (t(1, 2, 8, 8),)),
    # random, quantised
    "dropout": (lambda x: F.dropout(x, 0.5), (t(*X),)),
    "rand": (lambda x: torch.rand_like(x) + x, (t(*X),)),
    "quantise": (
        lambda x: (torch.clamp(torch.round(x / 0.1) + 3, -128, 127).to(torch.int8) - 3) * 0.1,
        (t(*X),),
    ),
    "fp8 product": (
        lambda a, b, s: torch._scaled_mm(a, b.t(), s, s, out_dtype=torch.bfloat16),
        (t(32, 32, dtype=torch.float8_e4m3fn), t(16, 32, dtype=torch.float8_e4m3fn), t()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operators_have_formulas(name: str) -> None:
    fn, inputs = CASES[name]
    work = count(fn, *inputs)
    assert not work.partial, work.unknown_ops
    assert work.minimal_bytes > 0
    assert work.launches > 0


# capturing a graph takes longer: all modes on some of each family
SOME = ["linear", "conv2d", "attention", "layer_norm", "group_norm", "batch_norm", "softmax",
        "cross_entropy", "gelu", "swiglu", "rope", "clamp", "in place", "sum", "cumsum", "topk",
        "embedding", "gather", "cat", "cast", "dropout", "max_pool2d", "mse_loss"]  # fmt: skip


@pytest.mark.parametrize("name", SOME)
def test_every_mode_counts_the_same_operations(name: str) -> None:
    fn, inputs = CASES[name]
    works = [count(fn, *inputs, mode=mode, strict=True) for mode in MODES]
    assert len({work.total_flops for work in works}) == 1, [work.flops for work in works]


def test_optimizer_steps() -> None:
    layer = torch.nn.Linear(8, 4, device="meta")
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        optimizer = make(layer.parameters(), lr=1e-3)

        def step(x: torch.Tensor, optimizer: torch.optim.Optimizer = optimizer) -> None:
            optimizer.zero_grad()
            layer(x).sum().backward()
            optimizer.step()

        work = count(step, t(2, 8))
        assert not work.partial, work.unknown_ops
