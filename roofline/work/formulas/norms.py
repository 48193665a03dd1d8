"""Normalisations kept whole, and their backward operators.

Sources of the counts: the definitions; RMSNorm 4 D + 2 and LayerNorm 5 D + 2 per row (7 D + 2
with weight and bias) are the leading published ones.
"""

from __future__ import annotations

from typing import Any

from roofline.work.registry import Call, Cost, formula
from roofline.work.specs import TensorSpec

__all__: list[str] = []


def _product(shape: Any) -> int:
    total = 1
    for size in shape if isinstance(shape, (list, tuple)) else (shape,):
        total = total * size
    return total


def _same(call: Call) -> tuple[TensorSpec, ...]:
    return call.outputs or (call.tensor(0),)


def _norm(
    call: Call, n: int, rows: int, *, square_only: bool, weight: bool, bias: bool, passes: int
) -> Cost:
    # mean and variance: the mean D, the differences D, squares D, mean of squares D
    reduction = n if square_only else 2 * n
    elementwise = n + n + rows  # squares, scaling by the row's factor, epsilon
    if not square_only:
        elementwise = elementwise + n  # differences
    elementwise = elementwise + (n if weight else 0) + (n if bias else 0)
    return Cost(
        flops={"elementwise": elementwise, "reduction": reduction, "special": rows},
        passes=passes * n,
        family="norm",
        fixed=True,
        outputs=_same(call),
    )


@formula("rms_norm", "_fused_rms_norm")
def rms_norm(call: Call) -> Cost:
    """Per row of D: squares D, mean D, epsilon 1, root 1, scaling D, weight D.

    Two passes per element: square with running sum; scale by the row's factor and the weight.
    """
    source = call.tensor(0)
    width = _product(call.argument(1, "normalized_shape", source.shape[-1:]))
    weight = call.argument(2, "weight", None)
    if weight is None and len(call.args) < 3 and "weight" not in call.kwargs:
        weight = call.inputs[1] if len(call.inputs) > 1 else None
    n = source.numel
    return _norm(
        call,
        n,
        n // width,
        square_only=True,
        weight=isinstance(weight, TensorSpec),
        bias=False,
        passes=2,
    )


@formula("layer_norm", "native_layer_norm")
def layer_norm(call: Call) -> Cost:
    """Per row of D: 5 D + 2, and D more for each of weight and bias.

    Passes: one for mean and variance together (``bn_stats``), one for difference and scale, and
    one more where a weight or a bias along the row follows.
    """
    source = call.tensor(0)
    width = _product(call.argument(1, "normalized_shape", source.shape[-1:]))
    affine = [
        isinstance(call.argument(position, name), TensorSpec)
        for position, name in ((2, "weight"), (3, "bias"))
    ]
    n = source.numel
    return _norm(
        call,
        n,
        n // width,
        square_only=False,
        weight=affine[0],
        bias=affine[1],
        passes=3 if any(affine) else 2,
    )


@formula("group_norm", "native_group_norm", "instance_norm")
def group_norm(call: Call) -> Cost:
    """Like LayerNorm over the channels and positions of one group."""
    source = call.tensor(0)
    n, batch = source.numel, source.shape[0]
    if call.key == "native_group_norm":
        groups = call.argument(6, "group", 1)
        affine = [isinstance(call.argument(i, name), TensorSpec) for i, name in _AFFINE]
    elif call.key == "group_norm":
        groups = call.argument(1, "num_groups", 1)
        affine = [isinstance(call.argument(i + 1, name), TensorSpec) for i, name in _AFFINE]
    else:
        groups = source.shape[1]
        affine = [isinstance(call.argument(i, name), TensorSpec) for i, name in _AFFINE]
    return _norm(
        call,
        n,
        batch * groups,
        square_only=False,
        weight=affine[0],
        bias=affine[1],
        passes=2,
    )


_AFFINE = ((1, "weight"), (2, "bias"))


@formula(
    "batch_norm",
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training",
    "_native_batch_norm_legit_functional",
    "_batch_norm_with_update",
    "_batch_norm_with_update_functional",
    "_batch_norm_no_update",
    "cudnn_batch_norm",
    "_batch_norm_impl_index",
)
def batch_norm(call: Call) -> Cost:
    """Training: as LayerNorm, over each channel. Inference: difference, scale, weight, bias."""
    source = call.tensor(0)
    n = source.numel
    channels = source.shape[1] if len(source.shape) > 1 else 1
    weight, bias = (isinstance(call.argument(i, name), TensorSpec) for i, name in _AFFINE)
    training = _trains(call)
    if training:
        cost = _norm(call, n, channels, square_only=False, weight=weight, bias=bias, passes=2)
        # two moving averages of 3 operations; functional forms have them among their outputs
        running = 6 * channels if _has_running(call) else 0
        written = sum(spec.bytes for spec in cost.outputs)
        if running and "functional" not in call.key:
            written += sum(call.argument(i, name).bytes for i, name in _RUNNING)
        return Cost(
            flops={**cost.flops, "elementwise": cost.flops["elementwise"] + running},
            passes=cost.passes,
            family="norm",
            fixed=True,
            write_bytes=written,
            outputs=cost.outputs,
        )
    return Cost(
        flops={
            "elementwise": (2 + weight + bias) * n + channels,
            "special": channels,
        },
        passes=n,
        family="norm",
        stages=2,
        outputs=_same(call),
    )


def _trains(call: Call) -> bool:
    if "no_training" in call.key or "no_update" in call.key:
        return False
    if "with_update" in call.key:
        return True
    return bool(call.argument(5, "training", True))


_RUNNING = ((3, "running_mean"), (4, "running_var"))


def _has_running(call: Call) -> bool:
    return isinstance(call.argument(3, "running_mean"), TensorSpec)


@formula("local_response_norm")
def local_response_norm(call: Call) -> Cost:
    """Squares, a window of additions, and a power per element."""
    n, size = call.tensor(0).numel, call.argument(1, "size", 5)
    return Cost(
        flops={"elementwise": (size + 4) * n, "special": n},
        passes=3 * n,
        family="norm",
        fixed=True,
        outputs=_same(call),
    )


@formula("normalize")
def normalize(call: Call) -> Cost:
    """L2 normalisation: squares D, sum D - 1, root 1, clamp 1, division D per row; two passes."""
    source = call.tensor(0)
    dim = call.argument(2, "dim", 1)
    n = source.numel
    rows = n // max(source.shape[dim], 1)
    return Cost(
        flops={"elementwise": 2 * n + rows, "reduction": n - rows, "special": rows},
        passes=2 * n,
        family="norm",
        fixed=True,
        outputs=_same(call),
    )


@formula(
    "native_layer_norm_backward",
    "native_group_norm_backward",
    "native_batch_norm_backward",
    "_fused_rms_norm_backward",
    "batch_norm_backward",
    "cudnn_batch_norm_backward",
)
def norm_backward(call: Call) -> Cost:
    """Gradients of input, weight and bias from the saved statistics.

    Per element: rebuild the normalised value (2, or 1 without a mean), gradient times weight 1,
    two running sums of 2 each (one without a mean), the input's gradient 4 (3), weight's 2 and
    bias's 1 addition.
    """
    n = call.tensor(1).numel
    outputs = call.outputs
    square_only = "rms" in call.key
    wants_weight = len(outputs) > 1 and outputs[1].numel > 0
    wants_bias = not square_only and len(outputs) > 2 and outputs[2].numel > 0
    elementwise = (1 if square_only else 2) + 1 + 1 + (3 if square_only else 4) + wants_weight
    reduction = (1 if square_only else 2) + wants_weight + wants_bias
    return Cost(
        flops={"elementwise": elementwise * n, "reduction": reduction * n},
        passes=(3 + wants_weight) * n,
        family="norm",
        fixed=True,
        outputs=outputs,
    )
