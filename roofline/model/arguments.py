"""Arguments of registered operators for operands in the order and layout people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from roofline.dtypes import dtype_of
from roofline.errors import WorkError
from roofline.work.closed_form import Value
from roofline.work.specs import TensorSpec

__all__ = ["call_arguments"]

_ALONG_ROWS: Final = frozenset(
    (
        *("sum", "mean", "amax", "amin", "prod", "var", "std", "argmax", "argmin", "any", "all"),
        *("logsumexp", "cumsum", "cumprod", "softmax", "log_softmax", "count_nonzero"),
    )
)
_TABLES: Final = frozenset({"embedding", "index_select", "gather", "take", "index"})
_PRODUCTS: Final = frozenset({"mm", "bmm", "matmul"})
_GROUPS: Final = 32  # of a group norm whose row does not say


def call_arguments(
    key: str, values: Sequence[Value], outs: Sequence[TensorSpec] = ()
) -> tuple[str, list[object]]:
    """Return the operator and the arguments that its tensor operands make.

    Layouts follow from sizes: which side of a product is transposed, whether heads come before
    positions. ``outs`` are the results where they are known. Raises ``WorkError`` for operands
    that do not fit together.
    """
    first, rest = values[0], list(values[1:])
    shape, out = first.spec.shape, outs[0] if outs else None
    if key in _TABLES and rest and not dtype_of(first.spec.dtype).is_float:
        return key, [*rest, first]  # the table first, as torch has it
    if key in ("rms_norm", "layer_norm"):
        return key, [first, [shape[-1]], *rest]
    if key == "norm" and out is not None and out.numel == first.spec.numel:
        key = "normalize"
    if key == "normalize":
        return key, [first, 2, -1]
    if key == "group_norm":
        return key, [first, math.gcd(_GROUPS, shape[1] if len(shape) > 1 else 1), *rest]
    if key == "batch_norm":
        affine, running = [*rest, None, None][:2], [*rest[2:], None, None][:2]
        return key, [first, *affine, *running, not rest[2:]]
    if key in _ALONG_ROWS:
        return key, [first, -1 if "softmax" in key or key.startswith("cum") else [-1]]
    if key == "topk" and out is not None:
        return key, [first, out.shape[-1]]
    if "pool" in key and out is not None:
        return key, [first, _ratios(first.spec, out)]
    if not rest and key in ("mul", "add", "sub", "div", "pow", "rsub"):
        return key, [first, 2]
    if key in _PRODUCTS and len(values) > 1:
        return _product(key, values, out)
    if key == "linear" and rest:
        return key, [first, _outer_first(first, rest[0]), *rest[1:]]
    if key == "scaled_dot_product_attention":
        return key, [*_attention(values, out)]
    return key, list(values)


def _ratios(source: TensorSpec, out: TensorSpec) -> list[int]:
    """Return the window of a pooling: how many inputs one result stands for, by axis."""
    pairs = zip(source.shape[2:], out.shape[2:], strict=False)
    return [max(1, size // max(result, 1)) for size, result in pairs] or [1]


def _swapped(value: Value) -> Value:
    *front, rows, cols = value.spec.shape
    return replace(value, spec=replace(value.spec, shape=(*front, cols, rows)))


def _product(key: str, values: Sequence[Value], out: TensorSpec | None) -> tuple[str, list[object]]:
    left, right, *rest = values
    a, b = left.spec.shape, right.spec.shape
    if len(a) > 1 and len(b) > 1 and a[-1] != b[-2]:
        if a[-1] == b[-1]:
            right = _swapped(right)
        elif a[-2] == b[-2]:
            left = _swapped(left)
    if out is not None and len(right.spec.shape) > max(2, len(left.spec.shape)):
        key = "_grouped_mm"  # each row meets one of the right sides
    return key, [left, right, *rest]


def _outer_first(source: Value, weight: Value) -> Value:
    """Return the weight of a linear layer as (out, in), as torch has it."""
    inner, shape = source.spec.shape[-1], weight.spec.shape
    return _swapped(weight) if len(shape) == 2 and shape[-1] != inner == shape[0] else weight


def _attention(values: Sequence[Value], out: TensorSpec | None) -> list[Value]:
    query, key, value, *rest = values
    if len(query.spec.shape) == len(key.spec.shape) == len(value.spec.shape) == 4:
        _, length, heads, _ = key.spec.shape
        if length > 2 * heads and value.spec.shape[1] == length:  # positions before heads
            query, key, value = (_heads_first(operand) for operand in (query, key, value))
    # kernels on the array may hold q and k with the contraction first
    if key.spec.shape[-2] != value.spec.shape[-2] == key.spec.shape[-1]:
        key = _swapped(key)
    if query.spec.shape[-1] != key.spec.shape[-1] == query.spec.shape[-2]:
        query = _swapped(query)
    q, k, v = (operand.spec.shape for operand in (query, key, value))
    results = math.prod(q[:-1]) * v[-1]
    if q[-1] != k[-1] or k[-2] != v[-2] or (out is not None and out.numel != results):
        raise WorkError(f"attention: operands do not fit together: {q}, {k}, {v}")
    return [query, key, value, *rest]


def _heads_first(operand: Value) -> Value:
    batch, length, heads, size = operand.spec.shape
    return replace(operand, spec=replace(operand.spec, shape=(batch, heads, length, size)))
