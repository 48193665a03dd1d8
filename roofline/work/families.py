"""The computations with a closed form."""

from __future__ import annotations

from typing import Any

from roofline.work.closed_form import Builder, Family, register_family
from roofline.work.specs import TensorSpec

__all__: list[str] = []

_NORM_VARIANTS = ("eager", "fused", "compiled", "two_pass")


def _rmsnorm(b: Builder, *, rows: Any, cols: Any) -> None:
    x, weight = b.input(rows, cols), b.input(cols)
    if b.variant in ("fused", "two_pass"):
        b.result(b.op("rms_norm", x, [cols], weight, 1e-6))
        return
    mean = b.op("mean", b.op("mul", x, x), [-1], True)
    scale = b.op("rsqrt", b.op("add", mean, 1e-6))
    b.result(b.op("mul", b.op("mul", x, scale), weight))


def _layernorm(b: Builder, *, rows: Any, cols: Any) -> None:
    x, weight, bias = b.input(rows, cols), b.input(cols), b.input(cols)
    if b.variant in ("fused", "two_pass"):
        b.result(b.op("layer_norm", x, [cols], weight, bias, 1e-5))
        return
    centred = b.op("sub", x, b.op("mean", x, [-1], True))
    variance = b.op("mean", b.op("mul", centred, centred), [-1], True)
    scale = b.op("rsqrt", b.op("add", variance, 1e-5))
    b.result(b.op("add", b.op("mul", b.op("mul", centred, scale), weight), bias))


def _softmax(b: Builder, *, rows: Any, cols: Any) -> None:
    x = b.input(rows, cols)
    if b.variant in ("fused", "two_pass"):
        b.result(b.op("softmax", x, -1))
        return
    exponential = b.op("exp", b.op("sub", x, b.op("amax", x, [-1], True)))
    b.result(b.op("div", exponential, b.op("sum", exponential, [-1], True)))


def _unary(name: str, *args: Any) -> Any:
    def build(b: Builder, *, n: Any) -> None:
        b.result(b.op(name, b.input(n), *args))

    return build


def _binary(name: str) -> Any:
    def build(b: Builder, *, n: Any) -> None:
        b.result(b.op(name, b.input(n), b.input(n)))

    return build


def _copy(b: Builder, *, rows: Any, cols: Any) -> None:
    b.result(b.op("clone", b.input(rows, cols)))


def _reduce(name: str, out_dtype: str = "") -> Any:
    def build(b: Builder, *, rows: Any, cols: Any) -> None:
        out = TensorSpec((rows,), out_dtype or b.dtype)
        b.result(b.op(name, b.input(rows, cols), [-1], out=out))

    return build


def _matmul(b: Builder, *, m: Any, n: Any, k: Any) -> None:
    b.result(b.op("mm", b.input(m, k), b.input(k, n)))


def _attention(b: Builder, *, batch: Any, heads: Any, seq: Any, head_dim: Any, keys: Any) -> None:
    query = b.input(batch, heads, seq, head_dim)
    key, value = b.input(batch, heads, keys, head_dim), b.input(batch, heads, keys, head_dim)
    if b.variant == "fused":
        b.result(b.op("scaled_dot_product_attention", query, key, value))
        return
    scores = TensorSpec((batch, heads, seq, keys), b.dtype)
    transposed = b.op("transpose", key, out=TensorSpec((batch, heads, head_dim, keys), b.dtype))
    products = b.op("matmul", query, transposed, out=scores)
    weights = b.op("softmax", b.op("mul", products, 0.125), -1)
    b.result(b.op("matmul", weights, value, out=TensorSpec((batch, heads, seq, head_dim), b.dtype)))


def _swiglu(b: Builder, *, rows: Any, cols: Any) -> None:
    gate, up = b.input(rows, cols), b.input(rows, cols)
    if b.variant == "fused":
        b.result(b.op("swiglu", gate, up))
        return
    b.result(b.op("mul", b.op("silu", gate), up))


def _swiglu_mlp(b: Builder, *, rows: Any, width: Any, inner: Any) -> None:
    x, gate, up = b.input(rows, width), b.input(width, inner), b.input(width, inner)
    down = b.input(inner, width)
    gated = b.op("mul", b.op("silu", b.op("mm", x, gate)), b.op("mm", x, up))
    b.result(b.op("mm", gated, down))


def _adamw(b: Builder, *, n: Any) -> None:
    tensors = [b.input(n) for _ in range(4)]
    b.result(b.op("adamw", *tensors))


def _cross_entropy(b: Builder, *, rows: Any, cols: Any) -> None:
    x, target = b.input(rows, cols), b.input(rows, dtype="int64")
    if b.variant == "fused":
        b.result(b.op("cross_entropy", x, target))
        return
    b.result(b.op("nll_loss", b.op("log_softmax", x, 1), target))


_ROWS = ("rows", "cols")
for _name, _alias, _build in (
    ("rmsnorm", "rms_norm", _rmsnorm),
    ("layernorm", "layer_norm", _layernorm),
):
    register_family(
        Family(name=_name, aliases=(_alias,), sizes=_ROWS, build=_build, variants=_NORM_VARIANTS)
    )
for _name, _build in (
    ("softmax", _softmax),
    ("swiglu", _swiglu),
    ("mean", _reduce("mean")),
    ("mean_reduction", _reduce("mean", "fp32")),  # the result in fp32, whatever comes in
    ("sum", _reduce("sum")),
    ("max", _reduce("amax")),
    ("cross_entropy", _cross_entropy),
):
    register_family(Family(name=_name, sizes=_ROWS, build=_build))
register_family(Family(name="copy", aliases=("matrix_copy",), sizes=_ROWS, build=_copy))
register_family(Family(name="add", aliases=("vector_add",), sizes=("n",), build=_binary("add")))
for _name in ("mul", "sub", "div", "maximum"):
    register_family(Family(name=_name, sizes=("n",), build=_binary(_name)))
for _name in ("relu", "gelu", "silu", "sigmoid", "tanh", "exp", "rsqrt", "square"):
    register_family(Family(name=_name, sizes=("n",), build=_unary(_name)))
register_family(Family(name="mul2", sizes=("n",), build=_unary("mul", 2)))
register_family(Family(name="adamw", sizes=("n",), build=_adamw))
register_family(
    Family(
        name="matmul",
        aliases=("linear", "matmul_fp32_fp16_fp8"),
        sizes=("m", "n", "k"),
        build=_matmul,
    )
)
register_family(Family(name="swiglu_mlp", sizes=("rows", "width", "inner"), build=_swiglu_mlp))
register_family(
    Family(
        name="attention",
        aliases=("sdpa",),
        sizes=("batch", "heads", "seq", "head_dim", "keys"),
        build=_attention,
        defaults={"batch": 1, "heads": 1, "keys": "seq"},
    )
)
