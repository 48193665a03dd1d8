from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.analysis.where import MAX_LENGTH, columns_of, select
from roofline.errors import QueryError

ROWS = [
    {"engine": "vector", "opcode": "TENSOR_TENSOR", "n": 3, "x": 0.5, "flag": True},
    {"engine": "vector", "opcode": "COPY", "n": 0, "x": None, "flag": False},
    {"engine": "tensor", "opcode": "MATMUL", "n": 2**60 + 1, "x": 2.0, "flag": None},
    {"engine": "scalar", "opcode": None, "n": None, "x": -1.0, "flag": True},
]


@pytest.fixture
def table() -> pa.Table:
    return pa.table(
        {
            "engine": pa.array([row["engine"] for row in ROWS]).dictionary_encode(),
            "opcode": pa.array([row["opcode"] for row in ROWS]).dictionary_encode(),
            "n": pa.array([row["n"] for row in ROWS], pa.int64()),
            "x": pa.array([row["x"] for row in ROWS], pa.float64()),
            "flag": pa.array([row["flag"] for row in ROWS], pa.bool_()),
        }
    )


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        ('engine == "vector" and opcode.startswith("TENSOR")', [0]),
        ('engine == "DVE"', [0, 1]),  # every spelling of an engine
        ('engine in ("PE", "scalar")', [2, 3]),
        ('engine not in ["vector"]', [2, 3]),
        ('not engine == "vector"', [2, 3]),
        ('opcode != "COPY"', [0, 2]),  # a null never matches
        ('opcode not in ("COPY",)', [0, 2]),
        ('opcode.endswith("MUL") or opcode.contains("TENSOR_T")', [0, 2]),
        ('"OP" in opcode', [1]),
        ("n > 2", [0, 2]),
        (f"n == {2**60 + 1}", [2]),  # beyond what a float holds
        (f"n == {2**60}", []),
        ("0 <= n < 5", [0, 1]),
        ("n in (0, 3)", [0, 1]),
        ("n % 2 == 1", [0, 2]),
        ("6 / n == 2", [0]),  # a division by a zero of the column is unknown
        ("-x == 1", [3]),
        ("x * 2 + 1 >= 2", [0, 2]),
        ("flag", [0, 3]),
        ("flag == False", [1]),
        ("True", [0, 1, 2, 3]),
        ("1 == 1 and n >= 0", [0, 1, 2]),
        ("1 == 2", []),
    ],
)
def test_rows(table: pa.Table, expression: str, rows: list[int]) -> None:
    if expression == "flag == False":
        rows = [1, 2]  # a null flag is not set
    assert np.flatnonzero(select(table, expression)).tolist() == rows


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("colour == 1", r"no column 'colour'; known: engine, opcode, n, x, flag"),
        ("__import__('os').system('x')", "is not understood"),
        ("opcode.__class__", "Attribute is not understood"),
        ("(lambda: 1)()", "is not understood"),
        ("[n for n in opcode]", "ListComp is not understood"),
        ("n ** n == 1", "Pow is not understood"),
        ("n << 9 == 1", "LShift is not understood"),
        ("f'{n}' == 1", "JoinedStr is not understood"),
        ("n if flag else x", "IfExp is not understood"),
        ("engine == 3", "text and number"),
        ("n == 'three'", "text and number"),
        ('engine == "warp"', "unknown engine 'warp'"),
        ("n", "not a condition"),
        ("n and flag", "n is not a condition"),
        ("n = 3", "invalid syntax"),
        ("n ==", "invalid syntax"),
        ("", "invalid syntax"),
        ("n / 0 == 1", "division by zero"),
        (f"n == {2**70}", "64 bits"),
        ("n == None", "the constant None"),
        ("n in opcode", "is not a list"),
        ("opcode.startswith(n)", "takes one text"),
        ("x.startswith('a')", "not a text column"),
        ("n" * (MAX_LENGTH + 1), "at most 2000"),
        ("(" * 500 + "n" + ")" * 500, "nested more than"),
        ("-" * 900 + "n == 1", "nested more than"),
        ("not " * 300 + "flag", "nested more than"),
        (" or ".join(["n == 1"] * 180), "too large"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(
    table: pa.Table, expression: str, message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        select(table, expression)


@given(st.text(max_size=40))
def test_no_text_does_anything_but_select_or_refuse(text: str) -> None:
    table = pa.table({"n": [1, 2]})
    try:
        rows = select(table, text)
    except QueryError:
        return
    assert rows.shape == (2,)
    assert rows.dtype == np.bool_


@given(st.integers(-5, 5), st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
def test_comparisons_equal_python(limit: int, op: str) -> None:
    values = list(range(-5, 6))
    expected = [eval(f"{value} {op} {limit}") for value in values]
    assert select(pa.table({"n": values}), f"n {op} {limit}").tolist() == expected


def test_columns_are_known_before_a_table_is_read() -> None:
    assert columns_of('engine == "vector" and n + m > 3 or engine == "tensor"') == (
        "engine",
        "n",
        "m",
    )
