from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.analysis.timeline import KINDS
from roofline.analysis.utilization import utilization
from roofline.errors import MissingTableError, QueryError
from tests.analysis.synthetic import capture, instruction, packet

US = 1_000_000  # ps


@pytest.fixture
def small() -> Any:
    """Two cores: a small kernel on core 0, one busy Vector instruction on core 1."""
    return capture(
        [
            instruction("sync", "EVENT_SEMAPHORE", 0, 2),
            instruction("tensor", "LDWEIGHTS", 10, 12),
            instruction("tensor", "MATMUL", 11, 15, raw_flops=900, adjusted_flops=900),
            instruction("tensor", "MATMUL", 14, 18, raw_flops=100, adjusted_flops=100),
            instruction("tensor", "EVENT_SEMAPHORE", 17, 20),
            instruction("vector", "TENSOR_TENSOR", 14, 16, element_passes=2000),
            instruction("scalar", "DMA_DIRECT2D", 18, 19),
            instruction("vector", "COPY", 12, 22, pcore_idx=1, element_passes=10),
            instruction("sync", "DRAIN", 29, 30),
        ],
        [
            packet(8, 12, 4000, source_memory="hbm", dest_memory="sbuf"),
            packet(10, 13, 3000, source_memory="hbm", dest_memory="sbuf"),
            packet(13, 13, 4, source_memory="hbm", dest_memory="sbuf"),
            packet(24, 26, 512, queue="qTable", queue_type="instruction"),
        ],
        summary={"total_time": 30e-6},
    )


def test_kinds_split_the_active_time_and_overlaps_count_once(small: Any) -> None:
    found = utilization(small)
    tensor = found.sel(engine="tensor", core=0)
    assert int(tensor.active_ps) == 8 * US  # 10 .. 18, the wait does not count
    assert int(tensor.compute_ps) == 7 * US  # 11 .. 18
    assert int(tensor.weight_load_ps) == 1 * US  # 10 .. 11 only
    assert int(tensor.wait_ps) == 2 * US  # 18 .. 20
    assert int(tensor.instruction_ps) == 10 * US
    assert int(tensor.instructions) == 4
    assert int(found.sel(engine="scalar", core=0).dma_issue_ps) == 1 * US
    assert sum(int(tensor[f"{kind}_ps"]) for kind in KINDS) == int(tensor.active_ps)
    assert int(tensor.raw_flops) == 1000


def test_body_runs_from_the_first_to_the_last_useful_thing(small: Any) -> None:
    found = utilization(small)
    assert (found.window_start_ps, found.window_end_ps) == (8 * US, 22 * US)
    assert (found.start_up_ps, found.tail_ps, found.total_ps) == (8 * US, 8 * US, 30 * US)
    total = utilization(small, window="total")
    assert total.window_ps == 30 * US
    assert int(total.sel(engine="sync", core=0).control_ps) == 1 * US


def test_dma_exposed_hidden_and_overlap(small: Any) -> None:
    found = utilization(small).sel(core=0)
    assert int(found.dma_active_ps) == 5 * US
    assert int(found.exposed_dma_ps) == 3 * US  # 8 .. 11
    assert int(found.hidden_dma_ps) == 2 * US
    assert int(found.dma_bytes) == 7004
    pair = found.overlap_ps.sel(resource="tensor", resource_other="vector")
    assert int(pair) == 2 * US
    assert found.dma_path_bytes.sel(path="hbm->sbuf").item() == 7004
    assert found.dma_greatest_depth.item() == 2


def test_cores_are_apart_and_their_union_is_marked(small: Any) -> None:
    found = utilization(small)
    vector = found.sel(engine="vector")
    assert vector.active_ps.values.tolist() == [2 * US, 10 * US]
    assert int(vector.active_any_core_ps) == 10 * US
    assert "per core" in found.cores_note


def test_two_cores_at_half_read_the_whole_only_in_the_union() -> None:
    both = capture(
        [
            instruction("vector", "COPY", 0, 5, pcore_idx=0),
            instruction("vector", "COPY", 5, 10, pcore_idx=1),
        ]
    )
    found = utilization(both).sel(engine="vector")
    assert found.active_share.values.tolist() == [0.5, 0.5]
    assert int(found.active_any_core_ps) == found.window_ps


def test_where_filters_counts_and_time_alike_and_does_not_move_the_window(small: Any) -> None:
    found = utilization(small, where='engine == "tensor" and opcode == "MATMUL"')
    tensor = found.sel(engine="tensor", core=0)
    assert (int(tensor.instructions), int(tensor.active_ps)) == (2, 7 * US)
    assert found.window_ps == utilization(small).window_ps
    assert int(found.active_ps.sum()) == 7 * US
    assert "dma_bytes" not in found  # packets have no engine column: not known, not all
    only = utilization(small, where='queue_name == "qTable"')
    assert "active_ps" not in only
    assert int(only.dma_active_ps.sum()) == 0  # outside the body


def test_by_opcode_and_by_queue(small: Any) -> None:
    found = utilization(small, by=("engine", "opcode"), window="total")
    assert int(found.active_ps.sel(engine="tensor", core=0, opcode="MATMUL")) == 7 * US
    assert int(found.instructions.sum()) == 9
    queues = utilization(small, by=("queue",), window="total")
    assert queues.dma_bytes.sel(core=0, queue="qTable").item() == 512
    with pytest.raises(QueryError, match="by 'colour': no such column; known: engine"):
        utilization(small, by=("colour",))


def test_a_window_cuts_time_and_amounts_at_its_edges(small: Any) -> None:
    found = utilization(small, window="12us..13us").sel(core=0)
    assert int(found.sel(engine="tensor").active_ps) == 1 * US
    assert int(found.sel(engine="tensor").raw_flops) == 225  # a quarter of 900
    assert int(found.dma_active_ps) == 1 * US


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("7", "unknown window '7'; known: body"),
        ("9us..9us", "no length"),
        ("1..5", "has no unit"),
        ("a..b", "not a number"),
    ],
)
def test_wrong_windows(small: Any, window: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        utilization(small, window=window)


def test_a_summary_has_no_events() -> None:
    with pytest.raises(MissingTableError, match="no events, only totals"):
        utilization(capture())


def test_a_silent_gap_longer_than_the_rest_is_start_up() -> None:
    """As in first runs: a table load and a weight load, 1.86 ms of nothing, then the kernel."""
    first_run = capture(
        [
            instruction("scalar", "ACT_TABLE_LOAD", 3, 4),
            instruction("vector", "EVENT_SEMAPHORE", 3, 1866),
            instruction("vector", "COPY", 1863, 1866),
        ],
        [packet(3.5, 4, 2048), packet(1862, 1863, 2048)],
    )
    found = utilization(first_run)
    assert (found.window_start_ps, found.window_end_ps) == (1862 * US, 1866 * US)
    assert found.silent_ps == 1858 * US
    assert "silent gap of 1.86 ms" in found.window_note


rows = st.lists(
    st.tuples(
        st.sampled_from(["tensor", "vector"]),
        st.sampled_from(["MATMUL", "LDWEIGHTS", "NOP", "EVENT_SEMAPHORE"]),
        st.integers(0, 30),
        st.integers(0, 12),
        st.integers(0, 10**12),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(rows, st.integers(1, 40))
def test_bins_sum_to_the_value_without_bins(table: list[tuple[Any, ...]], bins: int) -> None:
    made = capture(
        [
            instruction(engine, opcode, begin, begin + long, raw_flops=flops, pcore_idx=core)
            for engine, opcode, begin, long, flops, core in table
        ],
        [packet(begin, begin + long, flops % 10**6) for *_, begin, long, flops, _ in table],
    )
    # a window that cuts through rows
    whole, cut = (utilization(made, window="3us..29us", bins=each) for each in (None, bins))
    for name, variable in whole.data_vars.items():
        if variable.dtype == np.int64 and f"{name}" in cut and "bin" in cut[name].dims:
            np.testing.assert_array_equal(cut[name].sum("bin"), variable, err_msg=str(name))
    assert int(cut.bin_ps.sum()) == 26 * US


@settings(max_examples=60, deadline=None)
@given(rows)
def test_against_a_walk_over_every_microsecond(table: list[tuple[Any, ...]]) -> None:
    made = capture(
        [
            instruction(engine, opcode, begin, begin + long, raw_flops=flops, pcore_idx=core)
            for engine, opcode, begin, long, flops, core in table
        ]
    )
    found = utilization(made, window="0us..50us")
    for core in found.core.values.tolist():
        for engine in ("tensor", "vector"):
            parts = dict.fromkeys(("compute", "weight_load", "control", "wait"), 0)
            kinds = {"MATMUL": "compute", "LDWEIGHTS": "weight_load", "NOP": "control"}
            for tick in range(50):
                now = {
                    kinds.get(opcode, "wait")
                    for name, opcode, begin, long, _, of in table
                    if name == engine and of == core and begin <= tick < begin + long
                }
                for kind in parts:
                    if kind in now:
                        parts[kind] += US
                        break
            one = found.sel(engine=engine, core=core)
            assert {kind: int(one[f"{kind}_ps"]) for kind in parts} == parts


def test_every_variable_has_a_unit_and_a_name(small: Any) -> None:
    for bins in (None, 3):
        for name, variable in utilization(small, bins=bins).variables.items():
            assert variable.attrs["units"], name
            assert variable.attrs["long_name"], name


def test_times_of_day_in_ns_stay_exact() -> None:
    zero = 1_760_000_000_123_456_789
    made = capture(
        [
            {**instruction("vector", "COPY", 0, 0), "start_ts": zero + at, "end_ts": zero + at + 1}
            for at in (0, 7, 10**9)
        ]
    )
    found = utilization(made, window="total")
    assert int(found.active_ps.sum()) == 3000
    assert found.window_ps == 10**12 + 1000


def test_rates_limit_and_sizes() -> None:
    load = (
        " semaphore=24 sem_increment=16  src_elem_size=512 dst_elem_size=512 "
        "src_pattern=[512,1][128,1] dst_pattern=[262144,1][128,1] src_table_index=0 "
        "dst_addr_imm=0x802000036600 "
    )
    made = capture(
        [
            instruction("sync", "DMA_DIRECT2D", 0, 1, load),
            instruction("tensor", "MATMUL", 4, 8, raw_flops=4_000_000),
            instruction("vector", "COPY", 8, 10, element_passes=1000),
        ],
        [packet(1, 4, 65536)],
        throttle=[
            {"timestamp": 0, "duration": 5000, "k": 4, "n": 8, "pcore_idx": 0},
            {"timestamp": 5000, "duration": 5000, "k": 8, "n": 8, "pcore_idx": 0},
        ],
    )
    found = utilization(made, bins=2).isel(core=0)
    assert found.tensor_limit.values.tolist() == [0.5, 1.0]
    whole = utilization(made).isel(core=0)
    assert float(whole.tensor_limit) == pytest.approx(0.75, rel=1e-12)
    tensor = whole.sel(engine="tensor")
    assert float(tensor.raw_flops_per_active_s) == pytest.approx(1e12, rel=1e-12)
    assert float(tensor.raw_flops_per_window_s) == pytest.approx(4e11, rel=1e-12)
    assert float(whole.sel(engine="vector").element_passes_per_active_s) == pytest.approx(
        5e8, rel=1e-12
    )
    assert set(whole.dma_partition_bytes.values.tolist()) == {512}


def test_engines_of_unknown_name_are_kept() -> None:
    made = capture(
        [
            instruction("vector", "COPY", 0, 1),
            {**instruction("vector", "COPY", 1, 3), "engine": None},
            instruction("warp", "COPY", 0, 5),
        ]
    )
    found = utilization(made).isel(core=0)
    assert int(found.active_ps.sel(engine="unknown")) == 2 * US
    assert int(found.active_ps.sel(engine="warp")) == 5 * US


def test_a_dataset_survives_a_file(small: Any, tmp_path: Any) -> None:
    import xarray as xr

    found = utilization(small, bins=4)
    found.to_netcdf(tmp_path / "u.nc", engine="h5netcdf")
    xr.testing.assert_identical(xr.load_dataset(tmp_path / "u.nc", engine="h5netcdf"), found)
