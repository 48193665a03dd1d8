"""Reductions, scans, softmax, sorting.

A sum over D elements is D - 1 additions, a mean D (one division more), a maximum D - 1
comparisons: what a scalar program executes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

from roofline.dtypes import dtype_of
from roofline.work.registry import Call, Cost, formula
from roofline.work.specs import TensorSpec

__all__ = ["reduced_shape", "reduction_cost"]

_SUMS: Final = str.split(
    "sum nansum prod amax amin any all logical_any count_nonzero argmax argmin"
)
_BOOL: Final = ("any", "all", "logical_any")
_INDEX: Final = ("argmax", "argmin", "count_nonzero")


def reduced_shape(shape: tuple[int, ...], dim: Any, keepdim: bool) -> tuple[int, ...]:
    """Return the shape left when ``dim`` (number, list, or ``None`` for all) is reduced."""
    rank = len(shape)
    every = dim is None or (isinstance(dim, (list, tuple)) and not dim)
    dims = range(rank) if every else (dim if isinstance(dim, (list, tuple)) else (dim,))
    gone = {d % rank for d in dims} if rank else set()
    if keepdim:
        return tuple(1 if i in gone else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def _output(call: Call, dtype: str | None = None) -> TensorSpec:
    if call.outputs:
        return call.outputs[0]
    source = call.tensor(0)
    dim, keep = call.argument(1, "dim"), bool(call.argument(2, "keepdim", False))
    return TensorSpec(reduced_shape(source.shape, dim, keep), dtype or source.dtype)


def reduction_cost(
    call: Call, out: TensorSpec, flops: int, *, special: int = 0, stages: int = 0
) -> Cost:
    """Return the cost of one pass over the input that ends in a running reduction."""
    by_class = {"reduction": flops}
    if special:
        by_class["special"] = special
    return Cost(
        flops=by_class,
        passes=call.tensor(0).numel,
        family="reduction",
        stages=stages,
        reduces=True,
        outputs=(out,),
    )


@formula(*_SUMS)
def fold(call: Call) -> Cost:
    """Sums, products, extremes: one operation fewer than elements, per output."""
    dtype = "bool" if call.key in _BOOL else "int64" if call.key in _INDEX else None
    if call.key in ("sum", "nansum", "prod") and not dtype_of(call.tensor(0).dtype).is_float:
        dtype = "int64"
    out = _output(call, dtype)
    return reduction_cost(call, out, call.tensor(0).numel - out.numel)


@formula("max", "min", "median", "nanmedian", "mode", "kthvalue", "aminmax")
def extreme(call: Call) -> Cost:
    """Maximum or minimum over one dimension or all, or elementwise of two tensors."""
    from roofline.work.formulas.pointwise import elementwise_cost

    if len(call.inputs) > 1:
        return elementwise_cost(call, 1)
    out = _output(call)
    cost = reduction_cost(call, out, call.tensor(0).numel - out.numel)
    if not call.outputs and call.argument(1, "dim") is not None:  # values and where they are
        return replace(cost, outputs=(out, TensorSpec(out.shape, "int64")))
    return cost


@formula("mean", "nanmean")
def mean(call: Call) -> Cost:
    """A mean over D elements is D - 1 additions and 1 division."""
    return reduction_cost(call, _output(call), call.tensor(0).numel)


@formula("var", "std", "var_mean", "std_mean")
def variance(call: Call) -> Cost:
    """Mean, difference, square, sum, division: 4 D per output, and a root for ``std``.

    One pass gives mean and variance together (``bn_stats``).
    """
    out = _output(call)
    n = call.tensor(0).numel
    root = out.numel if "std" in call.key else 0
    return reduction_cost(call, out, 4 * n, special=root)


@formula("norm", "linalg_vector_norm", "vector_norm", "dist", "frobenius_norm")
def vector_norm(call: Call) -> Cost:
    """Square, sum, root: 2 D - 1 operations and one root per output (order 2)."""
    source = call.tensor(0)
    dim, keep = call.argument(2, "dim"), bool(call.argument(3, "keepdim", False))
    out = (
        call.outputs[0]
        if call.outputs
        else TensorSpec(reduced_shape(source.shape, dim, keep), source.dtype)
    )
    order = call.argument(1, "ord", call.argument(1, "p", 2))
    plain = order in (1, 1.0, math.inf, "inf")
    flops = 2 * source.numel - out.numel
    return reduction_cost(call, out, flops, special=0 if plain else out.numel, stages=1)


@formula("logsumexp")
def logsumexp(call: Call) -> Cost:
    """Maximum, difference, exponential, sum, logarithm, addition: 4 D special ones apart."""
    out = _output(call)
    n, rows = call.tensor(0).numel, out.numel
    return Cost(
        flops={"reduction": 2 * (n - rows), "elementwise": n + rows, "special": n + rows},
        passes=2 * n,
        usual_engine="scalar",
        family="reduction",
        fixed=True,
        outputs=(out,),
    )


@formula("softmax", "_softmax", "_safe_softmax", "special_softmax")
def softmax(call: Call) -> Cost:
    """Per row of D: maximum D - 1, difference D, exponential D, sum D - 1, division D.

    Three passes: running maximum, exponential with running sum, scaling.
    """
    n, rows = _rows(call)
    return Cost(
        flops={"reduction": 2 * (n - rows), "elementwise": 2 * n, "special": n},
        passes=3 * n,
        usual_engine="scalar",
        family="softmax",
        fixed=True,
        outputs=call.outputs or (call.tensor(0),),
    )


@formula("log_softmax", "_log_softmax", "special_log_softmax")
def log_softmax(call: Call) -> Cost:
    """Per row of D: maximum, difference, exponential, sum, one logarithm, difference."""
    n, rows = _rows(call)
    return Cost(
        flops={"reduction": 2 * (n - rows), "elementwise": 2 * n, "special": n + rows},
        passes=3 * n,
        usual_engine="scalar",
        family="softmax",
        fixed=True,
        outputs=call.outputs or (call.tensor(0),),
    )


@formula("_softmax_backward_data", "_log_softmax_backward_data")
def softmax_backward(call: Call) -> Cost:
    """``y * (g - sum(g * y))``, or ``g - exp(y) * sum(g)``: two passes."""
    n = call.tensor(0).numel
    rows = n // max(_last(call, call.argument(2, "dim", -1)), 1)
    log = "log" in call.key
    return Cost(
        flops={
            "reduction": n - rows,
            "elementwise": 2 * n if log else 3 * n,
            **({"special": n} if log else {}),
        },
        passes=2 * n,
        family="softmax",
        fixed=True,
        outputs=call.outputs or (call.tensor(0),),
    )


def _last(call: Call, dim: Any) -> int:
    shape = call.tensor(0).shape
    return shape[dim] if shape else 1


def _rows(call: Call) -> tuple[int, int]:
    source = call.tensor(0)
    dim = call.argument(1, "dim", -1)
    n = source.numel
    size = _last(call, -1 if dim is None else dim)
    rest = [s for i, s in enumerate(source.shape) if i != (dim or 0) % len(source.shape)]
    if dim in (-1, None):
        rest = list(source.shape[:-1])
    rows = 1
    for value in rest:
        rows = rows * value
    return n, rows if source.shape else size


@formula("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "_cummax_helper")
def scan(call: Call) -> Cost:
    """A running sum is one operation per element except the first of each row; one pass."""
    n, rows = _rows(call)
    special = {"special": 2 * (n - rows)} if call.key == "logcumsumexp" else {}
    return Cost(
        flops={"reduction": n - rows, **special},
        passes=n,
        engines=("vector", "gpsimd"),
        family="scan",
        fixed=True,
        outputs=call.outputs or (call.tensor(0),),
    )


def _sorted(call: Call) -> tuple[TensorSpec, ...]:
    source = call.tensor(0)
    if call.key == "topk":
        shape = (*source.shape[:-1], call.argument(1, "k", source.shape[-1]))
        return TensorSpec(shape, source.dtype), TensorSpec(shape, "int64")
    if call.key in ("sort", "msort"):
        return (source, TensorSpec(source.shape, "int64"))[: 1 + (call.key == "sort")]
    return (TensorSpec(source.shape, "int64"),) if call.key == "argsort" else ()


@formula("sort", "argsort", "msort", "topk", "unique", "_unique2", "searchsorted", "bucketize")
def sorting(call: Call) -> Cost:
    """Comparisons of a merge: D ceil(log2 D) per row to sort, D ceil(log2 k) for the top k."""
    n = call.tensor(0).numel
    size = max(_last(call, -1), 1)
    depth = size
    if call.key == "topk":
        depth = call.argument(1, "k", size)
    elif call.key in ("searchsorted", "bucketize"):
        queries = call.tensor(1 if call.key == "searchsorted" else 0)
        table = call.tensor(0 if call.key == "searchsorted" else 1)
        n, depth = queries.numel, table.shape[-1]
    return Cost(
        flops={"reduction": n * max(1, math.ceil(math.log2(max(depth, 2))))},
        passes=n,
        engines=("vector", "gpsimd"),
        usual_engine="gpsimd",
        family="sort",
        fixed=True,
        outputs=call.outputs or _sorted(call),
    )
