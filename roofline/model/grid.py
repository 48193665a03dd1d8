"""Dimensions of a sweep: read the ranges people write, and the conditions between them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.errors import QueryError

__all__ = ["Condition", "parse_condition", "parse_sizes"]

_RANGE: Final = re.compile(r"(\d+):(\d+)(?::([x+])(\d+))?$")
_MOST: Final = 10_000_000
_LARGEST: Final = 2**62


def parse_sizes(given: str | int | Iterable[int], name: str) -> npt.NDArray[np.int64]:
    """Return the sizes of a dimension, int64, ascending, each at least 1.

    ``512``, ``1,2,4``, ``1:65536:x2`` (doubling), ``512:10240:+512`` (steps, ends included) and
    ``1:16`` (steps of 1), or any of these joined by commas; or whole numbers. Raises
    ``QueryError`` for anything else, and for sizes below 1 or above 2^62.

    >>> parse_sizes("1:16:x2", "rows").tolist(), parse_sizes("512:1536:+512", "cols").tolist()
    ([1, 2, 4, 8, 16], [512, 1024, 1536])
    """
    if isinstance(given, str):
        found = [size for part in given.split(",") for size in _part(part.strip(), name)]
    elif isinstance(given, Iterable):
        found = [_whole(size, name) for size in given]
    else:
        found = [_whole(given, name)]
    if not found:
        raise QueryError(f"{name}: no sizes")
    for size in found:
        if not 1 <= size <= _LARGEST:
            raise QueryError(f"{name}: a size must be at least 1 and at most 2^62, not {size}")
    return np.unique(np.array(found, dtype=np.int64))


def _whole(size: Any, name: str) -> int:
    if isinstance(size, bool) or (not isinstance(size, (int, np.integer)) and size != int(size)):
        raise QueryError(f"{name}: a size must be a whole number, not {size!r}")
    return int(size)


def _part(text: str, name: str) -> Iterable[int]:
    if re.fullmatch(r"-?\d+", text):
        return (int(text),)
    match = _RANGE.match(text)
    if match is None:
        raise QueryError(
            f"{name}: not a size or range: {text!r}; write 512, 1:64:x2 or 512:10240:+512"
        )
    first, last, step = int(match[1]), int(match[2]), int(match[4] or 1)
    if first > last or first < 1:
        raise QueryError(f"{name}: the range {text!r} is empty or starts below 1")
    if match[3] == "x":
        if step < 2:
            raise QueryError(f"{name}: {text!r} multiplies by {step}: it never ends")
        sizes = []
        while first <= last:
            sizes.append(first)
            first *= step
        return sizes
    if step < 1 or (last - first) // step >= _MOST:
        raise QueryError(f"{name}: {text!r} has a step of {step}: never ends, or too many sizes")
    return range(first, last + 1, step)


class Condition:
    """A condition between dimensions, such as ``rows * cols <= 2**24`` or ``cols % 128 == 0``."""

    def __init__(self, text: str, tree: ast.expr) -> None:
        self.text = text
        self._tree = tree

    def __call__(self, sizes: Mapping[str, Any]) -> Any:
        """Return whether the condition holds, for arrays that broadcast."""
        return _evaluate(self._tree, sizes)


def parse_condition(text: str, dims: Sequence[str]) -> Condition:
    """Return a condition on ``dims``: comparisons of + - * // % and whole numbers, and, or, not.

    Nothing else is evaluated. Raises ``QueryError`` for anything else.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise QueryError(f"condition {text!r}: {error.msg}") from error
    condition = Condition(text, tree)
    condition(dict.fromkeys(dims, np.ones(1)))  # unknown names and operations show here
    return condition


_ARITHMETIC: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _evaluate(node: ast.expr, sizes: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BoolOp):
        values = [_evaluate(value, sizes) for value in node.values]
        both = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        result = values[0]
        for value in values[1:]:
            result = both(result, value)
        return result
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return np.logical_not(_evaluate(node.operand, sizes))
    if isinstance(node, ast.Compare):
        left = _evaluate(node.left, sizes)
        result = None
        for sign, right_node in zip(node.ops, node.comparators, strict=True):
            right = _evaluate(right_node, sizes)
            if type(sign) not in _COMPARISONS:
                raise QueryError(f"a condition cannot use {ast.unparse(node)!r}")
            holds = _COMPARISONS[type(sign)](left, right)
            result = holds if result is None else np.logical_and(result, holds)
            left = right
        return result
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        with np.errstate(all="ignore"):  # what has no value meets no condition
            left, right = _evaluate(node.left, sizes), _evaluate(node.right, sizes)
            return _ARITHMETIC[type(node.op)](left, right)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.Name):
        if node.id not in sizes:
            raise QueryError(f"a condition knows {', '.join(sizes)}, not {node.id!r}")
        return np.asarray(sizes[node.id], dtype=np.float64)
    raise QueryError(f"a condition cannot use {ast.unparse(node)!r}")
