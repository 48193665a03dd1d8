"""Counts against a scalar interpreter: every addition, product, division and function is executed.

Each algorithm is written out in loops on numbers that count what is done to them.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.work import count

DONE: Tally[str] = Tally()


class Number:
    """A float that tallies the operations done with it."""

    def __init__(self, value: float = 0.5) -> None:
        self.value = value

    def _do(self, kind: str, value: float) -> Number:
        DONE[kind] += 1
        return Number(value)

    def __add__(self, other: Any) -> Number:
        return self._do("elementwise", self.value + value_of(other))

    def __sub__(self, other: Any) -> Number:
        return self._do("elementwise", self.value - value_of(other))

    def __mul__(self, other: Any) -> Number:
        return self._do("elementwise", self.value * value_of(other))

    def __truediv__(self, other: Any) -> Number:
        return self._do("elementwise", self.value / value_of(other))

    __radd__, __rmul__ = __add__, __mul__


def value_of(x: Any) -> float:
    return x.value if isinstance(x, Number) else float(x)


def function(x: Number, f: Any = math.exp) -> Number:
    DONE["special"] += 1
    return Number(f(x.value))


def fold(values: Sequence[Number], f: Any = lambda a, b: a + b) -> Number:
    total = values[0].value
    for item in values[1:]:
        DONE["reduction"] += 1
        total = f(total, item.value)
    return Number(total)


def mean(values: Sequence[Number]) -> Number:
    total = fold(values)
    DONE["reduction"] += 1  # the division belongs to the mean
    return Number(total.value / len(values))


def multiply_add(left: Sequence[Number], right: Sequence[Number]) -> Number:
    total = 0.0
    for a, b in zip(left, right, strict=True):
        DONE["matmul"] += 2
        total += a.value * b.value
    return Number(total)


def vector(n: int) -> list[Number]:
    return [Number() for _ in range(n)]


def matrix(m: int, n: int) -> list[list[Number]]:
    return [vector(n) for _ in range(m)]


def tally(fn: Any, *args: Any) -> dict[str, int]:
    DONE.clear()
    fn(*args)
    return {key: value for key, value in DONE.items() if value}


def meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def maximum(row: Sequence[Number]) -> Number:
    return fold(row, max)


def softmax(row: Sequence[Number]) -> list[Number]:
    top = maximum(row)
    powers = [function(x - top) for x in row]
    total = fold(powers)
    return [p / total for p in powers]


def log_softmax(row: Sequence[Number]) -> list[Number]:
    top = maximum(row)
    shifted = [x - top for x in row]
    total = function(fold([function(x) for x in shifted]), math.log)
    return [x - total for x in shifted]


def rms_norm(row: Sequence[Number], weight: Sequence[Number]) -> list[Number]:
    scale = function(mean([x * x for x in row]) + 1e-6, lambda v: v**-0.5)
    return [x * scale * w for x, w in zip(row, weight, strict=True)]


def layer_norm(
    row: Sequence[Number], weight: Sequence[Number] | None, bias: Sequence[Number] | None
) -> list[Number]:
    centre = mean(row)
    moved = [x - centre for x in row]
    scale = function(mean([x * x for x in moved]) + 1e-5, lambda v: v**-0.5)
    out = [x * scale for x in moved]
    if weight is not None:
        out = [x * w for x, w in zip(out, weight, strict=True)]
    if bias is not None:
        out = [x + b for x, b in zip(out, bias, strict=True)]
    return out


def silu(x: Number) -> Number:
    return x * function(x, math.tanh)


def gelu(x: Number) -> Number:
    return x * 0.5 * (function(x * 0.7, math.erf) + 1.0)


def gelu_tanh(x: Number) -> Number:
    cube = x * x * x
    return x * 0.5 * (function((x + cube * 0.044715) * 0.797, math.tanh) + 1.0)


def matmul(a: list[list[Number]], b: list[list[Number]]) -> list[list[Number]]:
    columns = list(zip(*b, strict=True))
    return [[multiply_add(row, column) for column in columns] for row in a]


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = matmul(q, [list(column) for column in zip(*k, strict=True)])
    scores = [[x * 0.5 for x in row] for row in scores]
    return matmul([softmax(row) for row in scores], v)


def convolve(size: int, channels: int, out: int, kernel: int, batch: int) -> None:
    image = matrix(batch * channels, size * size)
    edge = size - kernel + 1
    for b, o, y, x in product(range(batch), range(out), range(edge), range(edge)):
        del o
        window = [
            image[b * channels + c][(y + dy) * size + x + dx]
            for c, dy, dx in product(range(channels), range(kernel), range(kernel))
        ]
        multiply_add(window, vector(len(window)))


small = st.integers(1, 6)
dims = st.integers(2, 7)
quick = settings(deadline=None, max_examples=15)


@given(m=small, k=small, n=small, batch=small)
@quick
def test_products(m: int, k: int, n: int, batch: int) -> None:
    one = tally(matmul, matrix(m, k), matrix(k, n))
    assert count(torch.mm, meta(m, k), meta(k, n)).flops == one
    many = count(torch.matmul, meta(batch, 1, m, k), meta(2, k, n))
    assert many.flops == {"matmul": 2 * batch * one["matmul"]}
    bias = count(F.linear, meta(m, k), meta(n, k), meta(n))
    assert bias.flops == {**one, "elementwise": m * n}


@given(size=st.integers(3, 6), channels=small, out=small, kernel=st.integers(1, 3),
       batch=st.integers(1, 2))  # fmt: skip
@quick
def test_convolutions(size: int, channels: int, out: int, kernel: int, batch: int) -> None:
    done = tally(convolve, size, channels, out, kernel, batch)
    work = count(F.conv2d, meta(batch, channels, size, size), meta(out, channels, kernel, kernel))
    assert work.flops == done


@given(rows=small, cols=dims)
@quick
def test_rows(rows: int, cols: int) -> None:
    def each(f: Any, *rest: Any) -> dict[str, int]:
        return tally(lambda: [f(row, *rest) for row in matrix(rows, cols)])

    x, w = meta(rows, cols), meta(cols)
    cases = [
        (each(fold), lambda x: x.sum(-1)),
        (each(mean), lambda x: x.mean(-1)),
        (each(maximum), lambda x: x.amax(-1)),
        (each(softmax), lambda x: F.softmax(x, -1)),
        (each(log_softmax), lambda x: F.log_softmax(x, -1)),
        (each(rms_norm, vector(cols)), lambda x: F.rms_norm(x, (cols,), w, 1e-6)),
        (each(layer_norm, None, None), lambda x: F.layer_norm(x, (cols,))),
        (each(layer_norm, vector(cols), None), lambda x: F.layer_norm(x, (cols,), w)),
        (each(layer_norm, vector(cols), vector(cols)), lambda x: F.layer_norm(x, (cols,), w, w)),
    ]
    for number, (expected, fn) in enumerate(cases):
        assert count(fn, x).flops == expected, number


@given(rows=small, cols=small)
@quick
def test_elements(rows: int, cols: int) -> None:
    def each(f: Any) -> dict[str, int]:
        return tally(lambda: [f(x) for row in matrix(rows, cols) for x in row])

    cases = [
        (each(lambda x: x + x), lambda x: x + x),
        (each(lambda x: x - 1.0), lambda x: x - 1.0),
        (each(lambda x: x / 3.0), lambda x: x / 3.0),
        (each(lambda x: x + x * 0.5), lambda x: torch.add(x, x, alpha=0.5)),
        (each(lambda x: x + x * x * 0.5), lambda x: torch.addcmul(x, x, x, value=0.5)),
        (each(function), torch.exp),
        (each(silu), F.silu),
        (each(gelu), F.gelu),
        (each(gelu_tanh), lambda x: F.gelu(x, approximate="tanh")),
        (each(lambda x: silu(x) * x), lambda x: F.silu(x) * x),
    ]
    for number, (expected, fn) in enumerate(cases):
        assert count(fn, meta(rows, cols)).flops == expected, number


@given(length=dims, width=small, heads=small)
@quick
def test_attention_whole_and_by_hand(length: int, width: int, heads: int) -> None:
    def run() -> None:
        for _ in range(heads):
            attention(matrix(length, width), matrix(length, width), matrix(length, width))

    expected = tally(run)
    q = meta(1, heads, length, width)
    assert count(F.scaled_dot_product_attention, q, q, q).flops == expected

    def by_hand(q: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ q.transpose(-1, -2) * 0.5, -1) @ q

    assert count(by_hand, q).flops == expected


@pytest.mark.parametrize(
    ("name", "fn", "expected"),
    [
        ("a - b is a + b", torch.sub, 12),
        ("a * b", torch.mul, 12),
        ("a / b", torch.div, 12),
    ],
)
def test_the_four_operations_cost_the_same(name: str, fn: Any, expected: int) -> None:
    assert count(fn, meta(3, 4), meta(3, 4)).total_flops == expected, name
    # the result counts, whichever operand is the small one
    assert count(fn, meta(3, 1), meta(3, 4)).total_flops == expected, name
