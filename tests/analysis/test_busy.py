from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.analysis import engine_view as view_module
from roofline.analysis.busy import engine_busy
from roofline.analysis.engine_view import engine_view
from roofline.analysis.utilization import utilization
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError, MissingTableError
from tests.analysis.synthetic import capture, instruction

rows = st.lists(
    st.tuples(
        st.sampled_from(["tensor", "vector", "scalar", "other"]),
        st.sampled_from(["MATMUL", "COPY", "EVENT_SEMAPHORE"]),
        st.integers(0, 40),
        st.integers(0, 12),
        st.integers(0, 2**40),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_equals_the_utilization_of_the_whole(table: list[tuple[Any, ...]]) -> None:
    made = capture(
        [
            instruction(engine, opcode, begin, begin + long, hbm_read_bytes=size, pcore_idx=core)
            for engine, opcode, begin, long, size, core in table
        ]
    )
    brief, whole = engine_busy(made), utilization(made, window="total")
    np.testing.assert_array_equal(brief.active_ps, whole.active_ps.sel(core=brief.core))
    moves = [row for row in table if row[1] != "EVENT_SEMAPHORE"]
    assert int(brief.instructions.sum()) == len(moves)
    assert int(brief.hbm_bytes.sum()) == sum(row[4] for row in moves)


def folder(path: Path, shuffle: int, groups: int = 37) -> tuple[Path, pa.Table]:
    """An Explorer folder with one Instruction table in several row groups."""
    random = np.random.default_rng(shuffle)
    start = np.sort(random.integers(0, 50_000, 500))
    table = pa.table(
        {
            "start_ts": start,
            "end_ts": start + random.integers(0, 300, 500),
            "engine": pa.array(random.choice(["Tensor", "Vector", "Pool"], 500)),
            "opcode": pa.array(random.choice(["MATMUL", "EVENT_SEMAPHORE"], 500)),
        }
    )
    if shuffle:
        table = table.take(random.permutation(500))
    place = path / "profiles" / "global" / "p@latest"
    place.mkdir(parents=True)
    pq.write_table(table, place / "Instruction.parquet", row_group_size=groups)
    return path, table


@pytest.mark.parametrize("shuffle", [0, 7])
def test_row_groups_in_any_order_equal_the_whole(tmp_path: Path, shuffle: int) -> None:
    path, table = folder(tmp_path, shuffle)
    found = engine_busy(open_capture(path)).isel(core=0)
    for vendor, engine in (("Tensor", "tensor"), ("Vector", "vector"), ("Pool", "gpsimd")):
        ticks = {
            tick
            for row in table.to_pylist()
            if row["engine"] == vendor and row["opcode"] == "MATMUL"
            for tick in range(row["start_ts"], row["end_ts"])
        }
        assert int(found.active_ps.sel(engine=engine)) == len(ticks) * 1000


def test_a_window_of_a_large_file_is_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = folder(tmp_path, 0)
    made = open_capture(path)
    inside = utilization(made, window="10us..20us")
    monkeypatch.setattr(view_module, "LARGE_ROWS", 100)
    whole = engine_view(open_capture(path))
    assert whole.brief
    found = engine_view(open_capture(path), window="10us..20us")
    assert not found.brief
    np.testing.assert_array_equal(found.use.active_ps, inside.active_ps)
    brief = engine_busy(made, (10_000, 20_000)).isel(core=0)
    np.testing.assert_array_equal(brief.active_ps, inside.active_ps.isel(core=0))


def test_what_cannot_be_one_execution_is_refused() -> None:
    apart = capture(
        [
            {"engine": "vector", "opcode": "COPY", "start_ts": 0, "end_ts": 1},
            {"engine": "vector", "opcode": "COPY", "start_ts": 9, "end_ts": 5},
        ]
    )
    with pytest.raises(CaptureError, match="do not fit one execution"):
        engine_busy(apart)
    with pytest.raises(MissingTableError, match="no instructions"):
        engine_busy(capture())
