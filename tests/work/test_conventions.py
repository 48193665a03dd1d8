"""Published counts: those we follow come out exactly, and those we do not are stated with ours."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from roofline.work import count, from_signature
from roofline.work.closed_form import closed_form


def meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta", dtype=torch.bfloat16)


def signature(op: str, *arguments: Any, **keywords: Any) -> int:
    return from_signature(op, arguments, **keywords).total_flops


def form(op: str, **sizes: int) -> int:
    return closed_form(op, dtype="bf16", **sizes).total_flops


def resnet18() -> int:
    """Return products of ResNet-18 at 224 x 224: a list of its convolutions and its head."""
    layers = [(3, 64, 7, 112, 1), (64, 64, 3, 56, 4)]
    for width, size in ((128, 28), (256, 14), (512, 7)):
        half = width // 2
        layers += [(half, width, 3, size, 1), (half, width, 1, size, 1), (width, width, 3, size, 3)]
    total = 0
    for channels, out, kernel, size, times in layers:
        cost = from_signature(
            "conv2d",
            [f"1x{channels}x{size}x{size}:bf16", f"{out}x{channels}x{kernel}x{kernel}:bf16"],
            outputs=[f"1x{out}x{size}x{size}:bf16"],
        )
        total += times * cost.flops["matmul"]
    return total + signature("mm", "1x512:bf16", "512x1000:bf16")


# source -> what it counts, and ours
FOLLOWED: dict[str, tuple[Callable[[], int], int]] = {
    "BLAS: a product is 2 M N K": (lambda: form("matmul", m=3, n=5, k=7), 2 * 3 * 5 * 7),
    "TileBench: matmul 4096 x 1024 x 4096": (
        lambda: form("matmul", m=4096, n=4096, k=1024),
        34_359_738_368,
    ),
    "torchvision: ResNet-18 is 1.81 G multiply-adds": (lambda: resnet18() // 2, 1_814_073_344),
    "attention forward is 4 S^2 d a head (512, 128)": (
        lambda: count(F.scaled_dot_product_attention, *[meta(1, 1, 512, 128)] * 3).flops["matmul"],
        134_217_728,
    ),
    "PyTorch: causal attention counts the full square": (
        lambda: count(
            lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), meta(1, 1, 64, 8)
        ).flops["matmul"],
        4 * 64 * 64 * 8,
    ),
    "FlashAttention: causal is half, on request (diagonal included)": (
        lambda: count(
            lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
            meta(1, 1, 64, 8),
            causal="half",
        ).flops["matmul"],
        4 * (64 * 65 // 2) * 8,
    ),
    "a LayerNorm comparison: 5 D + 2 (2502 at 500)": (
        lambda: signature("layer_norm", "1x500:fp32", [500], None, None, 1e-5),
        2502,
    ),
    "RMSNorm is 4 D + 2 a row": (lambda: form("rmsnorm", rows=4, cols=512), 8_200),
    "a mean of D is D": (lambda: form("mean", rows=2048, cols=1024), 2_097_152),
    "TileBench: relu, one an element": (lambda: form("relu", n=1_048_576), 1_048_576),
    "TileBench: a sum of two vectors, one an element": (lambda: form("add", n=99), 99),
    "TileBench: a product with 2, one an element": (lambda: form("mul2", n=99), 99),
    "rsqrt and exp are one": (lambda: form("rsqrt", n=7) + form("exp", n=7), 14),
    "an embedding is no FLOP": (lambda: signature("embedding", "100x8:bf16", "4x3:int64"), 0),
    "a cast and a copy are no FLOP": (lambda: form("copy", rows=8, cols=8), 0),
    "reviewers of PyTorch: broadcasting counts the result": (
        lambda: signature("mul", "4x1:bf16", "4x512:bf16"),
        2048,
    ),
    "a - b, a * b and a / b cost what a + b costs": (
        lambda: sum(signature(op, "9:fp32", "9:fp32") for op in ("add", "sub", "mul", "div")),
        4 * 9,
    ),
    "scaling laws: a layer's forward is 2 parameters a token": (
        lambda: count(F.linear, meta(10, 64), meta(32, 64)).flops["matmul"],
        2 * (64 * 32) * 10,
    ),
}

OTHERWISE: dict[str, tuple[Callable[[], int], int, int]] = {
    # source -> ours, theirs, ours expected
    "fvcore: multiply-adds under the name FLOP": (
        lambda: form("matmul", m=3, n=5, k=7), 3 * 5 * 7, 2 * 3 * 5 * 7,
    ),
    "FlopCounterMode: a bias is free": (
        lambda: signature("addmm", "5:bf16", "3x7:bf16", "7x5:bf16"),
        2 * 3 * 5 * 7, 2 * 3 * 5 * 7 + 3 * 5,
    ),
    "TileBench: a copy is one an element": (lambda: form("copy", rows=256, cols=256), 65_536, 0),
    "TileBench: softmax is one an element": (
        lambda: form("softmax", rows=2048, cols=512), 1_048_576, 5 * 2048 * 512 - 2 * 2048,
    ),
    "TileBench: RMSNorm is 4 an element": (
        lambda: form("rmsnorm", rows=2048, cols=512), 4_194_304, 4_194_304 + 2 * 2048,
    ),
    "torch.profiler: the first operand's elements": (
        lambda: signature("mul", "4x1:bf16", "4x512:bf16"), 4, 2048,
    ),
    "the tag rule: a sum is D": (lambda: form("sum", rows=3, cols=9), 27, 24),
}  # fmt: skip


@pytest.mark.parametrize("source", FOLLOWED)
def test_published_counts_we_follow(source: str) -> None:
    ours, published = FOLLOWED[source]
    assert ours() == published


@pytest.mark.parametrize("source", OTHERWISE)
def test_published_counts_we_do_not_follow(source: str) -> None:
    ours, theirs, expected = OTHERWISE[source]
    assert ours() == expected != theirs


def test_backward_of_a_linear_layer_is_twice_its_forward() -> None:
    x, w = meta(10, 64).requires_grad_(), meta(32, 64).requires_grad_()

    def step() -> None:
        F.linear(x, w).sum().backward()

    assert count(step).flops["matmul"] == 3 * (2 * 10 * 64 * 32)


def test_backward_of_attention_is_two_and_a_half_times_its_forward() -> None:
    q = meta(1, 2, 32, 16).requires_grad_()

    def attend() -> torch.Tensor:
        return F.scaled_dot_product_attention(q, q, q)

    forward = count(attend).flops["matmul"]
    both = count(lambda: attend().sum().backward()).flops["matmul"]
    assert both - forward == 2.5 * forward


@pytest.mark.parametrize(
    "fn",
    [
        lambda: torch.mm(meta(3, 4), meta(4, 5)),
        lambda: torch.bmm(meta(2, 3, 4), meta(2, 4, 5)),
        lambda: torch.addmm(meta(5), meta(3, 4), meta(4, 5)),
        lambda: torch.baddbmm(meta(2, 3, 5), meta(2, 3, 4), meta(2, 4, 5)),
        lambda: meta(2, 1, 3, 4) @ meta(7, 4, 5),
        lambda: F.conv1d(meta(2, 3, 9), meta(4, 3, 3)),
        lambda: F.conv2d(meta(2, 4, 9, 9), meta(6, 2, 3, 3), groups=2, stride=2, padding=1),
        lambda: F.conv_transpose2d(meta(2, 3, 5, 5), meta(3, 4, 3, 3), stride=2),
        lambda: F.scaled_dot_product_attention(*[meta(2, 3, 8, 4)] * 3),
        lambda: torch._scaled_mm(
            meta(32, 32).to(torch.float8_e4m3fn), meta(16, 32).to(torch.float8_e4m3fn).t(),
            torch.empty((), device="meta"), torch.empty((), device="meta"),
        ),
    ],
)  # fmt: skip
def test_products_equal_torchs_counter(fn: Callable[[], Any]) -> None:
    with FlopCounterMode(display=False) as counter:
        fn()
    assert count(fn).flops["matmul"] == counter.get_total_flops() > 0


def test_convolution_gradients_equal_torchs_counter() -> None:
    x, w = meta(2, 4, 9, 9).requires_grad_(), meta(6, 4, 3, 3).requires_grad_()

    def step() -> None:
        F.conv2d(x, w, padding=1).sum().backward()

    with FlopCounterMode(display=False) as counter:
        step()
    assert count(step).flops["matmul"] == counter.get_total_flops()


def test_gradients_of_a_grouped_convolution_are_two_convolutions() -> None:
    # each product of the forward pass comes back once in each gradient; torch's counter does not
    # divide the gradient of the weight by the groups
    x, w = meta(2, 4, 9, 9).requires_grad_(), meta(6, 2, 3, 3).requires_grad_()

    def convolve() -> torch.Tensor:
        return F.conv2d(x, w, groups=2, padding=1)

    forward = count(convolve).flops["matmul"]
    assert count(lambda: convolve().sum().backward()).flops["matmul"] == 3 * forward


def test_published_flops_of_measured_kernels(shared: Path) -> None:
    same = {"relu": "relu", "mul2": "mul2", "vector_add": "add"}
    checked = 0
    with (shared / "measured" / "tilebench_trn2.csv").open() as file:
        for row in csv.DictReader(file):
            name, value = row["params"].split("=")
            theirs = int(row["flops_by_their_formula"])
            if row["op"] in same:
                assert form(same[row["op"]], n=int(value)) == theirs
            elif row["op"] == "matmul_fp32_fp16_fp8":
                assert form("matmul", m=4096, n=4096, k=int(value)) == theirs
            elif row["op"] == "mean_reduction":
                assert form("mean", rows=2048, cols=int(value)) == theirs
            else:
                continue
            checked += 1
            del name
    assert checked > 200
