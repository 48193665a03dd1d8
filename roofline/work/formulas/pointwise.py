"""Elementwise operators: arithmetic, transcendental functions, activations.

An arithmetic operation, comparison or selection is 1 FLOP per output element and a
transcendental function is 1; an activation counts the operations of its definition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from roofline.dtypes import dtype_of
from roofline.work.registry import Call, Cost, formula
from roofline.work.specs import TensorSpec, broadcast_shapes, promote, same_size

__all__ = ["ACTIVATIONS", "ARITHMETIC", "FUNCTIONS", "LOGICAL", "elementwise_cost"]

ARITHMETIC: Final = str.split(
    "add sub rsub mul div true_divide divide multiply subtract floor_divide remainder "
    "fmod neg negative abs absolute sign sgn maximum minimum fmax fmin clamp clamp_min "
    "clamp_max clip floor ceil round trunc frac square reciprocal relu positive heaviside "
    "copysign bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift "
    "bitwise_right_shift __and__ __or__ __xor__ __lshift__ __rshift__ where masked_fill "
    "threshold nan_to_num hardtanh relu6 ldexp"
)
"""One arithmetic operation per output element (clip, select and shift included)."""

LOGICAL: Final = str.split(
    "eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf "
    "isfinite signbit isposinf isneginf less less_equal greater greater_equal not_equal"
)
"""One comparison per output element; the result is bool."""

FUNCTIONS: Final = str.split(
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan atan2 sinh "
    "cosh tanh asinh acosh atanh sigmoid erf erfc erfinv pow lgamma digamma special_erf "
    "special_expit special_exp2 special_log1p sinc hypot logaddexp xlogy"
)
"""One transcendental function per output element."""

ACTIVATIONS: Final[dict[str, tuple[int, int]]] = {
    "silu": (1, 1),  # x * sigmoid(x)
    "gelu": (4, 1),  # 0.5 x (1 + erf(x / sqrt 2))
    "gelu_tanh": (8, 1),  # 0.5 x (1 + tanh(c (x + 0.044715 x^3)))
    "leaky_relu": (2, 0),
    "elu": (2, 1),
    "selu": (3, 1),
    "celu": (3, 1),
    "softplus": (1, 2),
    "log_sigmoid": (1, 2),
    "log_sigmoid_forward": (1, 2),
    "mish": (2, 3),  # x * tanh(log(1 + exp x))
    "hardsigmoid": (4, 0),
    "hardswish": (5, 0),
    "hardshrink": (2, 0),
    "softshrink": (3, 0),
    "prelu": (2, 0),
    "_prelu_kernel": (2, 0),
    "softsign": (3, 0),
    "tanhshrink": (1, 1),
    "logit": (2, 1),
}
"""Activation -> (arithmetic operations, transcendental functions) per element."""

# name -> arithmetic operations and functions per element, from the derivative's definition
_BACKWARD: Final[dict[str, tuple[int, int]]] = {
    "threshold_backward": (1, 0),
    "_prelu_kernel_backward": (3, 0),
    "leaky_relu_backward": (2, 0),
    "sigmoid_backward": (3, 0),
    "tanh_backward": (3, 0),
    "silu_backward": (5, 1),
    "gelu_backward": (8, 2),
    "elu_backward": (3, 1),
    "hardtanh_backward": (2, 0),
    "hardswish_backward": (4, 0),
    "hardsigmoid_backward": (3, 0),
    "softplus_backward": (3, 1),
    "mish_backward": (8, 3),
    "native_dropout_backward": (2, 0),
    "masked_scale": (2, 0),
}

_MAKES_FLOATS: Final = frozenset({"div", "true_divide", "divide", *FUNCTIONS, *ACTIVATIONS})

_MULTI: Final[dict[str, int]] = {
    "fma": 2,
    "addcmul": 3,
    "addcdiv": 3,
    "lerp": 3,
}
"""Operations per element of operators with two full-size stages: two passes."""


def _output(call: Call, dtype: str | None = None) -> TensorSpec:
    if call.outputs:
        return call.outputs[0]
    tensors = call.inputs
    shape = broadcast_shapes(tuple(spec.shape for spec in tensors))
    if dtype is None:
        # a condition does not decide the dtype; division and functions make floats of integers
        dtype = promote(tensors[1:] if call.key == "where" and len(tensors) > 1 else tensors)
        fractions = any(isinstance(arg, float) for arg in call.args)
        if not dtype_of(dtype).is_float and (fractions or call.key in _MAKES_FLOATS):
            dtype = "fp32"
    return TensorSpec(shape, dtype)


def elementwise_cost(
    call: Call, arithmetic: int, functions: int = 0, *, out: TensorSpec | None = None
) -> Cost:
    """Return the cost of ``arithmetic`` operations and ``functions`` per output element.

    An operator on its own is one pass: an instruction takes two arithmetic stages, and every
    named activation is one function of the Scalar engine.
    """
    out = out or _output(call)
    n = out.numel
    flops: dict[str, int] = {}
    if arithmetic:
        flops["elementwise"] = arithmetic * n
    if functions:
        flops["special"] = functions * n
    whole = [spec for spec in call.inputs if spec.shape]
    wide = sum(same_size(spec.numel, n) for spec in whole) if len(whole) > 1 else 1
    return Cost(
        flops=flops,
        passes=n,
        engines=("vector", "gpsimd") if wide > 1 else ("vector", "scalar", "gpsimd"),
        usual_engine="scalar" if functions else _usual(out),
        family="special" if functions else "elementwise",
        stages=min(arithmetic, 1) if not functions else 0,
        functions=min(functions, 1),
        outputs=(out,),
    )


def _usual(out: TensorSpec) -> str:
    # 32-bit and 64-bit integer arithmetic is exact only on GpSimd
    dtype = dtype_of(out.dtype)
    return "gpsimd" if not dtype.is_float and dtype.bits >= 32 else "vector"


@formula(*ARITHMETIC)
def arithmetic(call: Call) -> Cost:
    """One operation per output element; ``add`` with a factor other than 1 is two."""
    factor = call.argument(2, "alpha", 1) if call.key in ("add", "sub", "rsub") else 1
    two_sided = call.key in ("clamp", "clip", "hardtanh", "relu6") and (
        call.key in ("hardtanh", "relu6")
        or (call.argument(1, "min") is not None and call.argument(2, "max") is not None)
    )
    return elementwise_cost(call, 2 if two_sided or factor not in (1, 1.0) else 1)


@formula(*LOGICAL)
def logical(call: Call) -> Cost:
    """One comparison per output element."""
    return elementwise_cost(call, 1, out=_output(call, "bool"))


@formula(*FUNCTIONS)
def transcendental(call: Call) -> Cost:
    """One function per output element; a square written as a power is one multiplication."""
    if call.key == "pow" and call.argument(1, "exponent") in (2, 2.0):
        return elementwise_cost(call, 1)
    return elementwise_cost(call, 0, 1)


@formula(*(name for name in ACTIVATIONS if name != "gelu_tanh"))
def activation(call: Call) -> Cost:
    """Operations of the definition; one activation instruction each."""
    key = call.key
    if key == "gelu" and call.argument(1, "approximate", "none") == "tanh":
        key = "gelu_tanh"
    return elementwise_cost(call, *ACTIVATIONS[key])


@formula(*_BACKWARD)
def activation_backward(call: Call) -> Cost:
    """Operations of the derivative times the incoming gradient."""
    return elementwise_cost(call, *_BACKWARD[call.key])


@formula(*_MULTI)
def combined(call: Call) -> Cost:
    """Several operations in one operator (``a + value * b * c`` ...)."""
    cost = elementwise_cost(call, _MULTI[call.key])
    return replace(cost, passes=2 * cost.passes, fixed=True)


@formula("glu")
def glu(call: Call) -> Cost:
    """``a * sigmoid(b)`` of the two halves of the input."""
    source = call.tensor(0)
    dim = call.argument(1, "dim", -1) % len(source.shape)
    shape = tuple(n // 2 if i == dim else n for i, n in enumerate(source.shape))
    out = call.outputs[0] if call.outputs else TensorSpec(shape, source.dtype)
    return elementwise_cost(call, 1, 1, out=out)


@formula("swiglu", "silu_and_mul")
def swiglu(call: Call) -> Cost:
    """``silu(gate) * up``: two multiplications and one function per output element."""
    cost = elementwise_cost(call, 2, 1)
    return replace(cost, stages=1)
