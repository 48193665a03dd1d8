"""Losses, pooling, quantisation, optimizer steps, collectives, indexed arithmetic."""

from __future__ import annotations

from typing import Any, Final

from roofline.work.formulas.pointwise import elementwise_cost
from roofline.work.formulas.reductions import log_softmax, reduction_cost
from roofline.work.registry import Call, Cost, formula
from roofline.work.specs import TensorSpec

__all__ = ["OPTIMIZERS"]

OPTIMIZERS: Final[dict[str, tuple[int, int]]] = {
    "_fused_adamw": (14, 1),
    "_fused_adam": (14, 1),
    "adamw": (14, 1),
    "adam": (14, 1),
    "_fused_sgd": (4, 0),
    "_fused_adagrad": (5, 1),
}
"""Optimizer -> arithmetic operations and roots per parameter.

AdamW: decay 1 (2 with its factor's product), two moments of 3 and 4, two bias corrections, root,
epsilon, division, step size and update.
"""


def _loss(call: Call, arithmetic: int, functions: int = 0) -> Cost:
    # reduction: 0 none, 1 mean, 2 sum
    source = call.tensor(0)
    n = source.numel
    whole = call.argument(2, "reduction", 1) not in (0, "none")
    shape = () if whole else source.shape
    out = call.outputs[0] if call.outputs else TensorSpec(shape, source.dtype)
    flops = {"elementwise": arithmetic * n}
    if functions:
        flops["special"] = functions * n
    if out.numel != n:
        flops["reduction"] = n
    return Cost(flops=flops, passes=n, family="reduction", stages=1, reduces=True, outputs=(out,))


@formula("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
def distance_loss(call: Call) -> Cost:
    """Difference and square (or absolute value), then the mean."""
    return _loss(call, {"mse_loss": 2, "l1_loss": 2}.get(call.key, 4))


@formula("binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div", "soft_margin_loss")
def entropy_loss(call: Call) -> Cost:
    """Two logarithms (or an exponential and a logarithm) and four operations per element."""
    return _loss(call, 4, 2)


@formula("mse_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward")
def loss_backward(call: Call) -> Cost:
    """Difference, factor, incoming gradient."""
    out = call.outputs[0] if call.outputs else call.tensor(1)
    return elementwise_cost(call, 3, out=out)


@formula("nll_loss", "nll_loss_forward", "nll_loss_nd", "nll_loss2d_forward", "nll_loss2d")
def nll_loss(call: Call) -> Cost:
    """One value per row is gathered, negated and averaged."""
    target = call.tensor(1)
    rows = target.numel
    source = call.tensor(0)
    outputs = call.outputs or (TensorSpec((), source.dtype),)
    return Cost(
        flops={"elementwise": rows, "reduction": rows},
        passes=rows,
        engines=("gpsimd", "vector"),
        usual_engine="gpsimd",
        family="reduction",
        fixed=True,
        read_bytes=TensorSpec((rows,), source.dtype).bytes + target.bytes,
        outputs=outputs,
    )


@formula("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(call: Call) -> Cost:
    """The gradient is zero but for one value per row."""
    out = call.outputs[0] if call.outputs else call.tensor(1)
    rows = call.tensor(2).numel
    read = call.tensor(0).bytes + call.tensor(2).bytes
    return Cost(
        flops={"elementwise": rows},
        passes=out.numel,
        engines=("gpsimd", "vector"),
        usual_engine="gpsimd",
        family="fill",
        read_bytes=read,
        outputs=(out,),
    )


@formula("cross_entropy", "cross_entropy_loss")
def cross_entropy(call: Call) -> Cost:
    """Log-softmax over the classes, one gathered value per row, the mean."""
    source, target = call.tensor(0), call.tensor(1)
    inner = log_softmax(Call("log_softmax", (source, 1 if len(source.shape) > 1 else 0)))
    rows = target.numel
    flops = dict(inner.flops)
    flops["reduction"] = flops["reduction"] + rows
    flops["elementwise"] = flops["elementwise"] + rows
    outputs = call.outputs or (TensorSpec((), source.dtype),)
    return Cost(
        flops=flops,
        passes=2 * source.numel,
        usual_engine="scalar",
        family="softmax",
        fixed=True,
        outputs=outputs,
    )


def _window(call: Call) -> int:
    size = call.argument(1, "kernel_size", 1)
    rank = 1 if call.key.endswith("1d") else 3 if "3d" in call.key else 2
    sizes = list(size) if isinstance(size, (list, tuple)) else [size]
    if len(sizes) == 1:
        sizes *= rank
    total = 1
    for value in sizes:
        total *= value
    return total


@formula(
    "max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices",
    "max_pool1d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d", "mkldnn_max_pool2d",
)  # fmt: skip
def pooling(call: Call) -> Cost:
    """A window of W elements is W - 1 comparisons, or W operations for a mean."""
    window = _window(call)
    out = call.out
    each = window if "avg" in call.key else window - 1
    return Cost(
        flops={"reduction": each * out.numel},
        passes=window * out.numel,
        engines=("vector", "gpsimd"),
        family="reduction",
        fixed=True,
        outputs=call.outputs,
    )


@formula("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d",
         "_adaptive_avg_pool3d", "adaptive_avg_pool3d", "adaptive_max_pool2d",
         "adaptive_max_pool1d")  # fmt: skip
def adaptive_pooling(call: Call) -> Cost:
    """Every input element is added (or compared) once, and each result divided."""
    return reduction_cost(call, call.out, call.tensor(0).numel)


@formula("max_pool2d_with_indices_backward", "avg_pool2d_backward", "avg_pool3d_backward",
         "_adaptive_avg_pool2d_backward", "adaptive_max_pool2d_backward")  # fmt: skip
def pooling_backward(call: Call) -> Cost:
    """One operation per element of the larger side."""
    grad = call.tensor(0)
    out = call.outputs[0] if call.outputs else call.tensor(1)
    n = max(grad.numel, out.numel)
    return Cost(
        flops={"elementwise": n},
        passes=n,
        engines=("vector", "gpsimd"),
        family="scatter",
        fixed=True,
        outputs=(out,),
    )


@formula(
    "quantize_per_tensor", "quantize_per_channel", "quantize_mx", "fake_quantize_per_tensor_affine",
    "quantized_decomposed::quantize_per_tensor", "quantized_decomposed::quantize_per_channel",
    "quantized_decomposed::quantize_per_token", "fake_quantize_per_channel_affine",
    "_fake_quantize_learnable_per_tensor_affine", "quantize",
    "fake_quantize_per_tensor_affine_cachemask",
)  # fmt: skip
def quantize(call: Call) -> Cost:
    """Division by the scale, addition of the zero point, rounding, clamp: 5 per element."""
    return elementwise_cost(call, 5, out=call.out)


@formula("dequantize", "quantized_decomposed::dequantize_per_tensor",
         "quantized_decomposed::dequantize_per_channel",
         "quantized_decomposed::dequantize_per_token", "dequantize_mx")  # fmt: skip
def dequantize(call: Call) -> Cost:
    """Subtraction of the zero point and multiplication by the scale."""
    return elementwise_cost(call, 2, out=call.out)


@formula(*OPTIMIZERS)
def optimizer(call: Call) -> Cost:
    """One fused update: parameters and their state are read and written, gradients read."""
    groups = [arg for arg in call.args if isinstance(arg, (list, tuple))]
    # parameters, gradients, then the state that is written back with the parameters
    if groups:
        params, grads, state = groups[0], groups[1], groups[2:]
    else:
        tensors = call.inputs
        params, grads, state = tensors[:1], tensors[1:2], [tensors[2:4]]
    n = sum(spec.numel for spec in params)
    stepping = [spec for group in state for spec in group]
    arithmetic, roots = OPTIMIZERS[call.key]
    written = sum(spec.bytes for spec in params) + sum(spec.bytes for spec in stepping)
    flops: dict[str, int] = {"elementwise": arithmetic * n}
    if roots:
        flops["special"] = roots * n
    return Cost(
        flops=flops,
        passes=7 * n if roots else 2 * n,
        family="optimizer",
        fixed=True,
        read_bytes=written + sum(spec.bytes for spec in grads),
        write_bytes=written,
        outputs=tuple(params),
    )


def _foreach_factor(key: str) -> tuple[int, int]:
    for name, cost in _FOREACH.items():
        if key.startswith(f"_foreach_{name}"):
            return cost
    return (1, 0)


_FOREACH: Final[dict[str, tuple[int, int]]] = {
    "addcmul": (3, 0),
    "addcdiv": (3, 0),
    "lerp": (3, 0),
    "sqrt": (0, 1),
    "exp": (0, 1),
    "pow": (0, 1),
    "copy": (0, 0),
    "zero": (0, 0),
}


@formula(*(f"_foreach_{name}" for name in str.split(
    "add sub mul div neg sqrt addcmul addcdiv lerp maximum minimum clamp_max clamp_min "
    "abs exp pow reciprocal copy zero sign rsqrt norm"
)))  # fmt: skip
def foreach(call: Call) -> Cost:
    """One operation on each tensor of a list."""
    groups = [arg for arg in call.args if isinstance(arg, (list, tuple))]
    first: Any = groups[0] if groups else call.inputs
    n = sum(spec.numel for spec in first if isinstance(spec, TensorSpec))
    arithmetic, functions = _foreach_factor(call.key)
    flops = {
        key: each * n for key, each in (("elementwise", arithmetic), ("special", functions)) if each
    }
    outputs = call.outputs or tuple(spec for spec in first if isinstance(spec, TensorSpec))
    return Cost(flops=flops, passes=n, stages=1, outputs=outputs)


@formula(
    "_c10d_functional::all_reduce", "_c10d_functional::all_gather_into_tensor",
    "_c10d_functional::reduce_scatter_tensor", "_c10d_functional::all_to_all_single",
    "_c10d_functional::broadcast", "c10d::allreduce_", "c10d::allgather_",
    "c10d::_allgather_base_", "c10d::reduce_scatter_", "c10d::_reduce_scatter_base_",
    "c10d::alltoall_base_", "c10d::broadcast_", "c10d::send", "c10d::recv_",
    "_c10d_functional::all_reduce_", "nki::all_reduce", "nki::all_gather", "nki::reduce_scatter",
)  # fmt: skip
def collective(call: Call) -> Cost:
    """Bytes only: what enters and leaves this rank's memory. Reductions run beside the engines."""
    return Cost(
        engines=(),
        usual_engine="",
        family="collective",
        outputs=call.outputs,
        note="a collective: bytes of this rank's operands, links are not modelled",
    )


@formula("_c10d_functional::wait_tensor", "c10d::barrier")
def collective_wait(call: Call) -> Cost:
    """Nothing moves."""
    return Cost(engines=(), usual_engine="", family="view", read_bytes=0, write_bytes=0,
                outputs=call.outputs)  # fmt: skip
