"""Expressions over the columns of a table, parsed and never evaluated as code.

``engine == "vector" and opcode.startswith("TENSOR")`` is parsed with Python's grammar, and only
comparisons, ``in``, ``and``/``or``/``not``, arithmetic, names of columns, constants and the string
tests of ``STRING_TESTS`` are understood; anything else is refused by name. A null never matches.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from roofline.engines import ENGINES, engine_key
from roofline.errors import QueryError, RooflineError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MAX_DEPTH", "MAX_LENGTH", "STRING_TESTS", "columns_of", "select"]

MAX_LENGTH: Final = 2000
MAX_DEPTH: Final = 40
MAX_NODES: Final = 500

STRING_TESTS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": operator.contains,
}

_COMPARE: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ALLOWED: Final = "==, !=, <, <=, >, >=, in, not in, and, or, not, + - * / // %, " + ", ".join(
    f".{name}(text)" for name in STRING_TESTS
)


def columns_of(expression: str) -> tuple[str, ...]:
    """Return the columns an expression names, in the order of their first appearance."""
    names = (node.id for node in ast.walk(_parse(expression)) if isinstance(node, ast.Name))
    return tuple(dict.fromkeys(name for name in names if name not in ("True", "False")))


def select(table: pa.Table, expression: str) -> npt.NDArray[np.bool_]:
    """Return which rows of the table match the expression, shape ``[rows]``.

    Raises ``QueryError`` for what is not understood, for a column the table does not have (the
    message lists those it has), and for a comparison of a number with a text.
    """
    tree = _parse(expression)
    result = _Evaluator(table, expression).visit(tree.body)
    if isinstance(result, bool | np.bool_):
        return np.full(table.num_rows, bool(result))
    if not isinstance(result, np.ndarray) or result.dtype != np.bool_:
        raise QueryError(f"where {expression!r}: not a condition, it has to be true or false")
    return result


def _parse(expression: str) -> ast.Expression:
    if len(expression) > MAX_LENGTH:
        raise QueryError(f"where: {len(expression)} characters; at most {MAX_LENGTH} are allowed")
    if _nesting(expression) > MAX_DEPTH:
        raise QueryError(f"where {expression[:60]!r}...: nested more than {MAX_DEPTH} deep")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        place = f" at character {error.offset}" if error.offset else ""
        raise QueryError(f"where {expression!r}: {error.msg}{place}; known: {_ALLOWED}") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise QueryError(f"where {expression[:60]!r}: cannot be read: {error}") from None
    nodes = sum(1 for _ in ast.walk(tree))
    if nodes > MAX_NODES or _depth(tree) > MAX_DEPTH:
        raise QueryError(
            f"where {expression[:60]!r}...: too large ({nodes} parts, at most {MAX_NODES}; "
            f"at most {MAX_DEPTH} deep)"
        )
    return tree


def _nesting(text: str) -> int:
    """Return the greatest count of open brackets or prefix signs, before any parser sees them."""
    deepest = depth = prefix = 0
    for letter in text:
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        prefix = prefix + 1 if letter in "-+~" else 0 if not letter.isspace() else prefix
        deepest = max(deepest, depth, prefix)
    return max(deepest, text.count("not not "))


def _depth(tree: ast.AST) -> int:
    deepest, level = 0, [tree]
    while level:
        deepest += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return deepest


class _Text:
    """A string column as codes and names: tests run on the names, once each."""

    def __init__(self, column: str, codes: npt.NDArray[np.int32], names: list[str]) -> None:
        self.column, self.codes, self.names = column, codes, names

    def test(self, predicate: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
        matches = np.array([*(predicate(name) for name in self.names), False], np.bool_)
        return matches[self.codes]  # code -1, a null, is the last entry


class _Number:
    """A number column with the rows that have a value."""

    def __init__(self, values: Any, valid: npt.NDArray[np.bool_] | bool) -> None:
        self.values, self.valid = values, valid


class _Evaluator:
    """Walks the tree over one table; a node type without a method is refused."""

    def __init__(self, table: pa.Table, expression: str) -> None:
        self.table, self.expression = table, expression

    def visit(self, node: ast.expr) -> Any:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self._refuse(f"{_name(node)} is not understood; known: {_ALLOWED}")
        return method(node)

    def _refuse(self, why: str) -> QueryError:
        return QueryError(f"where {self.expression!r}: {why}")

    def _Constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, str | int | float | bool):
            raise self._refuse(f"the constant {node.value!r} is not a number, text or truth value")
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        import pyarrow as pa

        from roofline.analysis.columns import codes, floats, integers, known

        if node.id not in self.table.column_names:
            held = ", ".join(self.table.column_names)
            raise self._refuse(f"no column {node.id!r}; known: {held}")
        kind = self.table.schema.field(node.id).type
        valid = known(self.table, node.id)
        if pa.types.is_boolean(kind):
            return integers(self.table, node.id).astype(np.bool_) & valid
        if pa.types.is_integer(kind):
            return _Number(integers(self.table, node.id), valid)
        if pa.types.is_floating(kind):
            return _Number(floats(self.table, node.id), valid)
        return _Text(node.id, *codes(self.table, node.id))

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        result = self._truth(node.values[0])
        for value in node.values[1:]:
            result = join(result, self._truth(value))
        return result

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return np.logical_not(self._truth(node.operand))
        value = self.visit(node.operand)
        if isinstance(node.op, ast.USub):
            if isinstance(value, _Number):
                return _Number(-value.values, value.valid)
            if isinstance(value, int | float):
                return -value
        raise self._refuse(f"{_name(node.op)} of {ast.unparse(node.operand)} is not understood")

    def _truth(self, node: ast.expr) -> npt.NDArray[np.bool_]:
        value = self.visit(node)
        if isinstance(value, bool | np.bool_):
            return np.full(self.table.num_rows, bool(value))
        if isinstance(value, np.ndarray) and value.dtype == np.bool_:
            return value
        raise self._refuse(f"{ast.unparse(node)} is not a condition")

    def _BinOp(self, node: ast.BinOp) -> Any:
        function = _ARITHMETIC.get(type(node.op))
        if function is None:
            raise self._refuse(f"{_name(node.op)} is not understood; known: {_ALLOWED}")
        left, right = self.visit(node.left), self.visit(node.right)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = function(self._number(left, node.left), self._number(right, node.right))
        valid = np.logical_and(_valid(left), _valid(right))
        if isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            divisor = self._number(right, node.right)
            if np.isscalar(divisor) and divisor == 0:
                raise self._refuse("division by zero")
            valid = np.logical_and(valid, np.not_equal(divisor, 0))
        return _Number(values, valid)

    def _number(self, value: Any, node: ast.expr) -> Any:
        if isinstance(value, _Number):
            return value.values
        if isinstance(value, int | float) and not isinstance(value, bool):
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise self._refuse(f"{value} does not fit into 64 bits")
            return np.int64(value) if isinstance(value, int) else value
        raise self._refuse(f"{ast.unparse(node)} is not a number")

    def _Compare(self, node: ast.Compare) -> Any:
        result: Any = True
        operands = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, operands[:-1], operands[1:], strict=True):
            result = np.logical_and(result, self._one_comparison(op, left, right))
        return result

    def _one_comparison(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Any:
        if isinstance(op, ast.In | ast.NotIn):
            found = self._member(self.visit(left), right)
            valid = self._valid_rows(self.visit(left))
            return found if isinstance(op, ast.In) else ~found & valid
        function = _COMPARE.get(type(op))
        if function is None:
            raise self._refuse(f"{_name(op)} is not understood; known: {_ALLOWED}")
        a, b = self.visit(left), self.visit(right)
        if isinstance(b, _Text) and isinstance(a, str):
            flipped = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(function.__name__)
            function, a, b = getattr(operator, flipped) if flipped else function, b, a
        if isinstance(a, _Text) and isinstance(b, str):
            value = self._engine(a.column, b)
            return a.test(lambda name: bool(function(name, value)))
        if isinstance(a, np.ndarray) and isinstance(b, bool):
            return function(a, b)
        if isinstance(a, _Text | str) or isinstance(b, _Text | str):
            raise self._refuse(
                f"cannot compare {ast.unparse(left)} with {ast.unparse(right)}: text and number"
            )
        matches = function(self._number(a, left), self._number(b, right))
        return np.logical_and(matches, np.logical_and(_valid(a), _valid(b)))

    def _member(self, value: Any, right: ast.expr) -> npt.NDArray[np.bool_]:
        if isinstance(value, str):  # "x" in column
            column = self.visit(right)
            if isinstance(column, _Text):
                return column.test(lambda name: value in name)
        if not isinstance(right, ast.List | ast.Tuple | ast.Set):
            raise self._refuse(f"{ast.unparse(right)} is not a list of constants")
        members = [self.visit(element) for element in right.elts]
        if isinstance(value, _Text):
            if not all(isinstance(member, str) for member in members):
                raise self._refuse(f"{value.column} is text, and the list holds something else")
            wanted = {self._engine(value.column, member) for member in members}
            return value.test(wanted.__contains__)
        if isinstance(value, _Number):
            numbers = [self._number(member, right) for member in members]
            found = np.isin(value.values, np.array(numbers)) if numbers else np.zeros(1, np.bool_)
            matches: npt.NDArray[np.bool_] = np.broadcast_to(found, np.shape(value.values))
            return matches & value.valid
        raise self._refuse(f"{ast.unparse(right)} cannot hold a condition")

    def _valid_rows(self, value: Any) -> Any:
        return value.codes >= 0 if isinstance(value, _Text) else _valid(value)

    def _engine(self, column: str, value: str) -> str:
        """Let every spelling of an engine match, since the column holds canonical keys."""
        if column != "engine":
            return value
        try:
            return engine_key(value)
        except RooflineError as error:
            if value and any(key.startswith(value) for key in ENGINES):
                return value
            raise self._refuse(str(error)) from None

    def _Call(self, node: ast.Call) -> Any:
        function = node.func
        if not isinstance(function, ast.Attribute) or function.attr not in STRING_TESTS:
            raise self._refuse(f"{ast.unparse(function)}() is not understood; known: {_ALLOWED}")
        text = self.visit(function.value)
        if not isinstance(text, _Text):
            raise self._refuse(f"{ast.unparse(function.value)} is not a text column")
        values = [self.visit(argument) for argument in node.args]
        if node.keywords or len(values) != 1 or not isinstance(values[0], str):
            raise self._refuse(f".{function.attr}() takes one text")
        test, wanted = STRING_TESTS[function.attr], values[0]
        return text.test(lambda name: test(name, wanted))


def _valid(value: Any) -> Any:
    return value.valid if isinstance(value, _Number) else True


def _name(node: ast.AST) -> str:
    return type(node).__name__
