from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofline.analysis.sql import query
from roofline.errors import QueryError
from tests.analysis.synthetic import capture, instruction, packet

pytest.importorskip("duckdb")


@pytest.fixture
def small() -> Any:
    return capture(
        [instruction("vector", "COPY", 0, 3), instruction("tensor", "MATMUL", 1, 2)],
        [packet(0, 1, 512), packet(0, 2, 256)],
    )


def test_tables_go_by_their_names(small: Any) -> None:
    found = query(
        small, "select engine, sum(duration_ns) t from instructions group by 1 order by 1"
    )
    assert found.to_pylist() == [{"engine": "tensor", "t": 1000}, {"engine": "vector", "t": 3000}]
    assert query(small, "select sum(transfer_bytes) b from dma").to_pylist() == [{"b": 768}]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select * from read_csv('/etc/hosts')", "disabled"),
        ("select * from '/etc/hosts'", "hosts"),
        ("copy dma to 'out.csv'", "one SELECT, not COPY"),
        ("drop view dma", "one SELECT, not DROP"),
        ("set enable_external_access = true", "one SELECT, not SET"),
        ("select 1; select 2", "one SELECT, not SELECT, SELECT"),
        ("", "one SELECT, not nothing"),
        ("attach 'x.db'", "one SELECT, not ATTACH"),
        ("select nope from dma", "nope"),
        ("selct", "syntax error"),
    ],
)
def test_only_reading_the_tables_is_possible(
    small: Any, sql: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryError, match=message):
        query(small, sql)
    assert not list(tmp_path.iterdir())
