"""Matrix multiplications and convolutions: a multiply-accumulate is 2 FLOP."""

from __future__ import annotations

from typing import Any, Final

from roofline.dtypes import dtype_of
from roofline.errors import WorkError
from roofline.work.registry import Call, Cost, formula
from roofline.work.specs import TensorSpec, broadcast_shapes

__all__ = ["accumulate_dtype", "matmul_cost", "multiply_dtype"]

_WIDTH: Final = {"fp32": 4, "tf32": 3, "bf16": 2, "fp16": 2}


def multiply_dtype(left: str, right: str) -> str:
    """Return the dtype the array multiplies in: the wider of two (fp8 x bf16 runs as bf16).

    The array has no integer products; bf16 holds integers of 8 bits exactly.
    """
    wider = max(left, right, key=lambda dtype: _WIDTH.get(dtype, 1))
    kind = dtype_of(wider)
    return wider if kind.is_float or kind.bits > 8 else "bf16"


def accumulate_dtype(dtype: str) -> str:
    """Return the dtype products are summed in: PSUM adds in fp32, integers in int32."""
    return "fp32" if dtype_of(dtype).is_float else "int32"


def matmul_cost(
    call: Call, macs: int, out: TensorSpec, *, extra: int | None = None, dtype: str = ""
) -> Cost:
    """Return the cost of ``macs`` multiply-accumulates into ``out``.

    ``extra`` counts elementwise operations on the result (bias, beta); they ride on the pass
    that takes the result out of PSUM.
    """
    dtype = dtype or multiply_dtype(call.tensor(0).dtype, call.tensor(1).dtype)
    flops = {"matmul": 2 * macs}
    if extra is not None:
        flops["elementwise"] = extra
    return Cost(
        flops=flops,
        tensor_flops={dtype: 2 * macs},
        passes=out.numel,
        engines=("vector", "scalar"),
        usual_engine="scalar",
        family="matmul",
        accumulate_dtype=accumulate_dtype(call.tensor(0).dtype),
        outputs=(out,),
        note="passes take the result out of PSUM",
    )


def _mm_shapes(left: TensorSpec, right: TensorSpec) -> tuple[int, tuple[int, ...]]:
    """Return multiply-accumulates and result shape by the rules of ``torch.matmul``."""
    a, b = left.shape, right.shape
    if not a or not b:
        raise WorkError("matmul: both operands need at least one dimension")
    a2 = (1, *a) if len(a) == 1 else a
    b2 = (*b, 1) if len(b) == 1 else b
    if isinstance(a2[-1], int) and isinstance(b2[-2], int) and a2[-1] != b2[-2]:
        raise WorkError(f"matmul: inner sizes differ: {left} and {right}")
    batch = broadcast_shapes((a2[:-2], b2[:-2])) if a2[:-2] or b2[:-2] else ()
    full = (*batch, a2[-2], b2[-1])
    macs = TensorSpec(full, left.dtype).numel * a2[-1]
    shape = full
    if len(b) == 1:
        shape = shape[:-1]
    if len(a) == 1:
        shape = (*shape[: len(batch)], *shape[len(batch) + 1 :])
    return macs, shape


@formula("mm", "bmm", "matmul", "mv", "dot", "vdot", "inner", "__matmul__", "__rmatmul__")
def matmul(call: Call) -> Cost:
    """2 M N K, times the broadcast batch."""
    left, right = call.tensor(0), call.tensor(1)
    macs, shape = _mm_shapes(left, right)
    out = call.outputs[0] if call.outputs else TensorSpec(shape, left.dtype)
    return matmul_cost(call, macs, out)


@formula("addmm", "baddbmm", "addmv", "addbmm", "_addmm_activation")
def addmm(call: Call) -> Cost:
    """2 M N K, and the addition of the bias (with its factor where it is not 1)."""
    bias, left, right = call.tensor(0), call.tensor(1), call.tensor(2)
    macs, shape = _mm_shapes(left, right)
    if call.key == "addbmm":
        shape = shape[1:]
    out = call.outputs[0] if call.outputs else TensorSpec(shape, bias.dtype)
    beta, alpha = call.argument(3, "beta", 1), call.argument(4, "alpha", 1)
    steps = (beta != 0) + (beta not in (0, 1)) + (alpha != 1)
    dtype = multiply_dtype(left.dtype, right.dtype)
    return matmul_cost(call, macs, out, extra=steps * out.numel if steps else None, dtype=dtype)


@formula("linear")
def linear(call: Call) -> Cost:
    """2 rows in out, and the bias where there is one."""
    source, weight = call.tensor(0), call.tensor(1)
    macs = source.numel * (weight.shape[0] if len(weight.shape) > 1 else 1)
    shape = (*source.shape[:-1], *weight.shape[:-1])
    out = call.outputs[0] if call.outputs else TensorSpec(shape, source.dtype)
    has_bias = len(call.inputs) > 2
    return matmul_cost(call, macs, out, extra=out.numel if has_bias else None)


@formula("_scaled_mm", "_scaled_mm_v2", "scaled_mm")
def scaled_mm(call: Call) -> Cost:
    """2 M N K in the storage dtype of the operands, and the scaling of the result."""
    left, right = call.tensor(0), call.tensor(1)
    macs, _ = _mm_shapes(left, right)
    if not call.outputs:
        raise WorkError(f"{call.name}: its result has a dtype of its own; give outputs")
    return matmul_cost(call, macs, call.out, extra=call.out.numel)


@formula(
    "_int_mm", "_weight_int8pack_mm", "_weight_int4pack_mm", "_grouped_mm", "_scaled_grouped_mm"
)
def packed_mm(call: Call) -> Cost:
    """2 M N K of products with packed or grouped weights."""
    left, right = call.tensor(0), call.tensor(1)
    k = left.shape[-1]
    if call.outputs:
        out = call.outputs[0]
    else:
        out = TensorSpec((*left.shape[:-1], right.shape[-1]), left.dtype)
    return matmul_cost(call, out.numel * k, out, dtype=multiply_dtype(left.dtype, left.dtype))


@formula("einsum")
def einsum(call: Call) -> Cost:
    """Contractions of a two-operand einsum: the product of all its sizes."""
    equation = str(call.argument(0, "equation", "")).replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(call.inputs) or "." in equation:
        raise WorkError(f"einsum {equation!r}: write out every index")
    sizes: dict[str, int] = {}
    for term, spec in zip(terms, call.inputs, strict=True):
        sizes.update(zip(term, spec.shape, strict=True))
    if not arrow:
        letters = "".join(terms)
        result = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    shape = tuple(sizes[letter] for letter in result)
    out = call.outputs[0] if call.outputs else TensorSpec(shape, call.tensor(0).dtype)
    if len(terms) != 2:
        raise WorkError(f"einsum {equation!r}: only two operands have a defined order of products")
    macs = 1
    for size in sizes.values():
        macs = macs * size
    return matmul_cost(call, macs, out)


def _pair(value: Any, rank: int) -> tuple[int, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(value) if len(value) == rank else tuple(value) * rank
    return (value,) * rank


def _conv_macs(
    source: tuple[int, ...], weight: tuple[int, ...], out: tuple[int, ...], transposed: bool
) -> int:
    # every output (input, when transposed) position meets one filter: in/groups x kernel
    positions = source if transposed else out
    return (
        positions[0]
        * TensorSpec(tuple(positions[2:]), "fp32").numel
        * TensorSpec(weight, "fp32").numel
    )


@formula(
    "convolution", "_convolution", "conv1d", "conv2d", "conv3d", "cudnn_convolution",
    "mkldnn_convolution", "convolution_overrideable", "slow_conv3d", "thnn_conv2d",
    "_slow_conv2d_forward", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "_conv_depthwise2d", "conv_depthwise3d",
)  # fmt: skip
def convolution(call: Call) -> Cost:
    """2 batch x output positions x filter elements (input positions when transposed)."""
    source, weight = call.tensor(0), call.tensor(1)
    rank = len(weight.shape) - 2
    transposed = "transpose" in call.key or (
        "conv_transpose" not in call.key
        and call.key in ("convolution", "_convolution", "convolution_overrideable")
        and bool(call.argument(6, "transposed", False))
    )
    out = call.outputs[0] if call.outputs else None
    if out is None:
        if transposed:
            raise WorkError(f"{call.name}: give the output of a transposed convolution")
        stride = _pair(call.argument(3, "stride", 1), rank)
        padding = _pair(call.argument(4, "padding", 0), rank)
        dilation = _pair(call.argument(5, "dilation", 1), rank)
        spatial = tuple(
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(
                source.shape[-rank:], weight.shape[2:], stride, padding, dilation, strict=True
            )
        )
        out = TensorSpec((source.shape[0], weight.shape[0], *spatial), source.dtype)
    batched = len(source.shape) == rank + 2
    macs = _conv_macs(
        source.shape if batched else (1, *source.shape),
        weight.shape,
        out.shape if batched else (1, *out.shape),
        transposed,
    )
    bias = isinstance(call.argument(2, "bias"), TensorSpec)
    return matmul_cost(call, macs, out, extra=out.numel if bias else None)


@formula("convolution_backward", "convolution_backward_overrideable")
def convolution_backward(call: Call) -> Cost:
    """One convolution each for the gradients of input and weight, one sum for the bias."""
    grad, source, weight = call.tensor(0), call.tensor(1), call.tensor(2)
    transposed = bool(call.argument(7, "transposed", False))
    wanted = call.argument(10, "output_mask", (True, True, True))
    macs = _conv_macs(source.shape, weight.shape, grad.shape, transposed)
    count = bool(wanted[0]) + bool(wanted[1])
    out = call.outputs[0] if call.outputs else source
    cost = matmul_cost(call, count * macs, out, dtype=multiply_dtype(grad.dtype, weight.dtype))
    flops = dict(cost.flops)
    if len(wanted) > 2 and wanted[2]:
        channels = grad.shape[1]
        flops["reduction"] = grad.numel - channels
    read = (bool(wanted[0]) * weight.bytes) + (bool(wanted[1]) * source.bytes) + grad.bytes
    outputs = call.outputs
    return Cost(
        flops=flops,
        tensor_flops=cost.tensor_flops,
        passes=sum(spec.numel for spec in outputs) or out.numel,
        engines=cost.engines,
        usual_engine=cost.usual_engine,
        family="matmul",
        read_bytes=read,
        accumulate_dtype=cost.accumulate_dtype,
        outputs=outputs or (out,),
        note=cost.note,
    )
