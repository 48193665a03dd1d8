"""Count operators from names, shapes and dtypes alone, as captures hold them; no torch.

What a signature does not tell (the result of a padding, the dtype of a cast) is an error that
says so, never a guess.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from roofline.dtypes import dtype_key
from roofline.errors import WorkError
from roofline.work.registry import Call, count_of, op_key
from roofline.work.specs import TensorSpec, parse_spec
from roofline.work.trace import UNKNOWN, evaluate
from roofline.work.work import OpCount

__all__ = ["from_cache_key", "from_signature", "from_trace_inputs", "parse_cache_key"]

_WHOLE_REDUCTIONS: Final = frozenset({"sum", "nansum", "mean", "prod"})
_NO_TENSOR: Final = frozenset({"", "Scalar", "ScalarList", "None"})


def from_signature(
    op: str,
    arguments: Sequence[Any],
    *,
    outputs: Sequence[TensorSpec | str] = (),
    strict: bool = False,
) -> OpCount:
    """Return the counts of one operator from its arguments in the order of its signature.

    Tensors are ``TensorSpec`` or text such as ``4x512:bf16``; other arguments stand as they are
    (text that is no operand, too). Outputs are inferred where the operator's rule can. An operator
    without a formula comes back with ``known=False``, or raises ``MissingFormulaError`` with
    ``strict``; ``WorkError`` where shapes do not fit or the result is not known.

    >>> from_signature("aten::mul", ["4x512:bf16", "4x1:bf16"]).bytes
    8200
    """
    call = Call(
        op,
        tuple(_operand(argument) for argument in arguments),
        outputs=tuple(parse_spec(out) if isinstance(out, str) else out for out in outputs),
    )
    try:
        cost = evaluate(call, strict=strict)
    except (IndexError, TypeError, ValueError) as error:
        if isinstance(error, WorkError):
            raise
        raise WorkError(f"{op}: these arguments do not fit the operator: {error}") from error
    if not (call.outputs or cost.outputs) and cost.family not in ("view", "unknown"):
        raise WorkError(f"{op}: its result does not follow from its inputs; give outputs")
    return count_of(call, cost, known=cost is not UNKNOWN)


def _operand(argument: Any) -> Any:
    if isinstance(argument, str):
        try:
            return parse_spec(argument)
        except WorkError:
            return argument
    if isinstance(argument, (list, tuple)):
        return [_operand(item) for item in argument]
    return argument


@lru_cache(maxsize=65536)
def from_trace_inputs(name: str, dims: str, types: str, concrete: str = "") -> OpCount:
    """Return the counts of an operator of a framework trace.

    ``dims``, ``types`` and ``concrete`` are the JSON texts of ``Input Dims``, ``Input type`` and
    ``Concrete Inputs``; without the last one, arguments such as ``dim`` take their defaults. A
    scalar tensor beside tensors of another dtype is taken to be on the CPU. Raises ``WorkError``.

    >>> from_trace_inputs("aten::mean", '[[4, 512], [], []]',
    ...     '["c10::BFloat16", "ScalarList", "Scalar"]', '["", "[-1]", "True"]').total_flops
    2048
    """
    try:
        shapes, names = json.loads(dims), json.loads(types)
        values = json.loads(concrete) if concrete else [""] * len(names)
    except ValueError as error:
        raise WorkError(f"{name}: inputs are not JSON: {error}") from error
    if not isinstance(shapes, list) or len(shapes) != len(names) or len(values) != len(names):
        raise WorkError(f"{name}: input lists differ in length")
    arguments = [_argument(*entry) for entry in zip(shapes, names, values, strict=True)]
    if op_key(name) in _WHOLE_REDUCTIONS and len(arguments) == 2:
        arguments[1] = None  # this overload takes a dtype there, not a dimension
    return from_signature(name, _mark_host(arguments))


def _argument(shape: Any, type_name: Any, value: Any) -> Any:
    if isinstance(type_name, list):
        return [_argument(s, n, "") for s, n in zip(shape, type_name, strict=False)]
    if not isinstance(type_name, str) or type_name in _NO_TENSOR:
        return _value(value)
    if shape and all(isinstance(size, list) for size in shape):
        return [TensorSpec(tuple(one), dtype_key(type_name)) for one in shape]
    return TensorSpec(tuple(shape), dtype_key(type_name))


def _value(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    if not text:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _mark_host(arguments: list[Any]) -> list[Any]:
    wide = {a.dtype for a in arguments if isinstance(a, TensorSpec) and a.shape}
    return [
        TensorSpec((), a.dtype, on_host=True)
        if isinstance(a, TensorSpec) and not a.shape and wide and a.dtype not in wide
        else a
        for a in arguments
    ]


_KEY: Final = re.compile(r'^"?(?P<op>[\w.:]+?)--(?P<inputs>.*?)(?::(?P<hash>[0-9a-fA-F]{8,}))?"?$')
_INPUT: Final = re.compile(
    r"_\[(?P<shape>[\d,\s]*)\]:(?P<dtype>\w+)(?::S\([^)]*\))?"
    r"|_(?P<kind>[ifb])(?P<value>[-+.\deE]+|True|False)"
)


def parse_cache_key(key: str) -> tuple[str, tuple[Any, ...]]:
    """Return operator and arguments of a ``neff_cache_key``.

    The grammar is inferred from the published example: operator, two dashes, ``_[shape]:dtype``
    for each tensor and ``_i1`` (``_f``, ``_b``) for each scalar, and a hash. Raises ``WorkError``
    for anything else.

    >>> parse_cache_key("mul--_[4,512]:BFloat16:S(C)_[512]:BFloat16:S(C):0123456789abcdef")[0]
    'mul'
    """
    match = _KEY.match(key.strip())
    if match is None:
        raise WorkError(f"not a NEFF cache key: {key[:80]!r}")
    arguments: list[Any] = []
    position, text = 0, match["inputs"]
    while position < len(text):
        found = _INPUT.match(text, position)
        if found is None:
            raise WorkError(f"NEFF cache key {key[:80]!r}: cannot read {text[position:][:40]!r}")
        position = found.end()
        if found["dtype"]:
            shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
            arguments.append(TensorSpec(shape, dtype_key(found["dtype"])))
        elif found["kind"] == "b":
            arguments.append(found["value"] in ("1", "True"))
        else:
            arguments.append((int if found["kind"] == "i" else float)(found["value"]))
    return match["op"], tuple(arguments)


@lru_cache(maxsize=65536)
def from_cache_key(key: str) -> OpCount:
    """Return the counts of the operator a ``neff_cache_key`` names; raises ``WorkError``.

    >>> from_cache_key("mul--_[4,512]:BFloat16:S(C)_[4,512]:BFloat16:S(C):0123456789abcdef").bytes
    12288
    """
    op, arguments = parse_cache_key(key)
    return from_signature(op, arguments)
