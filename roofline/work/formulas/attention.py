"""Scaled dot-product attention kept whole, and rotary embedding.

Causal attention counts the full square, as PyTorch's counter does; ``attention_cost`` with
``causal="half"`` counts the lower triangle, as FlashAttention's authors do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from roofline.errors import WorkError
from roofline.work.formulas.matmul import accumulate_dtype, multiply_dtype
from roofline.work.registry import Call, Cost, formula
from roofline.work.specs import TensorSpec

__all__ = ["CAUSAL_CONVENTIONS", "causal_convention"]

CAUSAL_CONVENTIONS: Final = ("full", "half")
_CAUSAL: Final[ContextVar[str]] = ContextVar("causal_convention", default="full")


@contextmanager
def causal_convention(convention: str) -> Iterator[None]:
    """Count causal attention as the ``full`` square (default) or the lower ``half`` inside."""
    if convention not in CAUSAL_CONVENTIONS:
        known = ", ".join(CAUSAL_CONVENTIONS)
        raise WorkError(f"unknown causal convention {convention!r}; known: {known}")
    token = _CAUSAL.set(convention)
    try:
        yield
    finally:
        _CAUSAL.reset(token)


def _pairs(query: TensorSpec, key: TensorSpec, causal: bool) -> int:
    """Return query-key pairs over batch and heads."""
    rows, cols = query.shape[-2], key.shape[-2]
    heads = TensorSpec(query.shape[:-2], query.dtype).numel
    if causal and _CAUSAL.get() == "half":
        # the mask keeps column <= row, from the top left corner
        full = min(rows, cols)
        return heads * (full * (full + 1) // 2 + max(rows - cols, 0) * cols)
    return heads * rows * cols


def _causal_position(key: str) -> int:
    return {
        "scaled_dot_product_attention": 5,
        "_scaled_dot_product_attention_math": 5,
        "_scaled_dot_product_attention_math_for_mps": 5,
        "_scaled_dot_product_flash_attention": 4,
        "_scaled_dot_product_flash_attention_for_cpu": 4,
        "_scaled_dot_product_efficient_attention": 6,
        "_scaled_dot_product_cudnn_attention": 6,
        "_scaled_dot_product_fused_attention_overrideable": 5,
        "flex_attention": -1,  # its mask is a function: the whole square counts
    }.get(key, 5)


@formula(
    "scaled_dot_product_attention",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_attention_math_for_mps",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_fused_attention_overrideable",
    "flex_attention",
    "attention",
)
def attention(call: Call) -> Cost:
    """2 S T (D + E) FLOP a head on the array; scale and softmax on the elements.

    Passes: maximum, and exponential with scale and running sum, on the scores; scaling of the
    result. Masks add one operation per score. Scores stay on chip: bytes are those of the
    operands and the result.
    """
    query, key, value = call.tensor(0), call.tensor(1), call.tensor(2)
    position = _causal_position(call.key)
    causal = position > 0 and bool(call.argument(position, "is_causal", False))
    pairs = _pairs(query, key, causal)
    rows = TensorSpec(query.shape[:-1], query.dtype).numel
    out = (
        call.outputs[0]
        if call.outputs
        else TensorSpec((*query.shape[:-1], value.shape[-1]), query.dtype)
    )
    mask = call.argument(3, "attn_mask")
    masked = isinstance(mask, TensorSpec) or causal
    macs = pairs * (query.shape[-1] + value.shape[-1])
    logsumexp = call.outputs[1:2] if call.key.startswith("_scaled") else ()
    return Cost(
        flops={
            "matmul": 2 * macs,
            # scale, difference and division of the scores, and the mask
            "elementwise": (3 + bool(masked)) * pairs,
            "reduction": 2 * (pairs - rows),
            "special": pairs,
        },
        tensor_flops={multiply_dtype(query.dtype, key.dtype): 2 * macs},
        passes=2 * pairs + out.numel,
        engines=("vector", "scalar"),
        usual_engine="scalar",
        family="attention",
        fixed=True,
        accumulate_dtype=accumulate_dtype(query.dtype),
        write_bytes=out.bytes + sum(spec.bytes for spec in logsumexp),
        outputs=(out,),
        note=f"causal counted {_CAUSAL.get()}" if causal else "",
    )


@formula(
    "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_cudnn_attention_backward",
    "_scaled_dot_product_fused_attention_overrideable_backward",
)
def attention_backward(call: Call) -> Cost:
    """Five products of the forward's two: scores again, and gradients of v, p, q and k."""
    grad, query, key, value = (call.tensor(i) for i in range(4))
    pairs = _pairs(query, key, bool(call.kwargs.get("is_causal", False)))
    d, e = query.shape[-1], value.shape[-1]
    macs = pairs * (3 * d + 2 * e)
    return Cost(
        flops={
            "matmul": 2 * macs,
            # scale, difference, exponential's argument; p * (dp - delta), scale
            "elementwise": 6 * pairs + 2 * grad.numel,
            "special": pairs,
        },
        tensor_flops={multiply_dtype(query.dtype, key.dtype): 2 * macs},
        passes=3 * pairs + query.numel + key.numel + value.numel,
        engines=("vector", "scalar"),
        usual_engine="scalar",
        family="attention",
        fixed=True,
        outputs=call.outputs or (query, key, value),
    )


@formula("rope", "rotary_embedding", "apply_rotary")
def rotary(call: Call) -> Cost:
    """``x cos + rotate(x) sin``: two products, one negation on half, one addition per element."""
    source = call.tensor(0)
    n = source.numel
    return Cost(
        flops={"elementwise": 3 * n + n // 2},
        passes=2 * n,
        engines=("vector", "gpsimd"),
        family="elementwise",
        fixed=True,
        outputs=call.outputs or (source,),
    )
