from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.analysis.critical_path import critical_path
from roofline.analysis.idle import idle_causes
from roofline.analysis.utilization import utilization
from roofline.errors import MissingTableError
from tests.analysis.synthetic import capture, instruction, packet, update

US = 1_000_000

MATMUL = (
    "S[24] (qSyncDynamicHW)>=16 S[5]++@complete "
    "src=bfloat16@0x100[1,0,0][512,1,1] dst=0x2000000[1,0,0][512,1,1] 128*128 "
)
COPY = "S[5] (Tensor)>=1 src=fp32@0x2000000[1][512] dst=fp32@0x0[1][512] channels=128 "
DMA = (
    " semaphore=24 sem_increment=16  src_elem_size=1024 dst_elem_size=1024 "
    "src_pattern=[1024,1][128,1] dst_pattern=[262144,1][128,1] src_table_offset_imm=0x0 "
    "src_table_index=0 src_shape_reg=0 dst_addr_imm=0x802000036600 dst_shape_reg=0 "
)


def chain(**more: Any) -> Any:
    """Sync loads, Tensor waits for the load, Vector for Tensor; the path is the whole of it."""
    return capture(
        [
            instruction("sync", "DMA_DIRECT2D", 0, 1, DMA),
            instruction("tensor", "MATMUL", 5, 8, MATMUL),
            instruction("vector", "COPY", 8.5, 10, COPY),
            instruction("vector", "COPY", 10, 11),
        ],
        [
            packet(2, 4, 131072, "qSyncDynamicHW", queue_type="hardware_dynamic"),
            packet(4, 4.1, 4, "qSyncDynamicHW", queue_type="hardware_dynamic"),
        ],
        semaphores=[update(4.5, 24, 16, "dma"), update(8.1, 5, 1, "tensor")],
        **more,
    )  # fmt: skip


def test_each_engine_names_who_it_waited_for() -> None:
    found = idle_causes(chain()).sel(core=0)
    assert found.window_ps == 11 * US

    def of(engine: str) -> dict[str, float]:
        row = found.idle_ps.sel(engine=engine)
        return {str(c): int(v) / US for c, v in zip(row.cause.values, row.values, strict=True) if v}

    assert of("tensor") == {"dma:qSyncDynamicHW": 4.5, "issue": 0.5, "finished": 3}
    assert of("vector") == {"tensor": 8.1, "issue": 0.4}
    assert of("sync") == {"finished": 10}
    assert of("gpsimd") == {"finished": 11}
    assert found.gap_opcode.values[list(found.gap_cause.values).index("tensor")] == "COPY"


def test_the_path_reaches_the_root_and_fills_the_window() -> None:
    found = critical_path(chain())
    pieces = [
        (str(who), str(what), int(length) / US)
        for who, what, length in zip(
            found.segment_resource.values,
            found.segment_kind.values,
            found.segment_ps.values,
            strict=True,
        )
    ]
    queue = "dma:qSyncDynamicHW"
    assert pieces == [
        ("sync", "dma_issue", 1),
        (queue, "dma_latency", 1),
        (queue, "dma_transfer", 2),
        (queue, "dma_completion", 0.5),
        ("tensor", "hop", 0.5),
        ("tensor", "compute", 3),
        ("tensor", "hop", 0.1),
        ("vector", "hop", 0.4),
        ("vector", "compute", 1.5),
        ("vector", "compute", 1),
    ]
    assert int(found.path_ps.sum()) == found.window_ps


def test_of_transfers_in_flight_the_one_that_was_waited_for() -> None:
    """Two loads on one semaphore: 16 is the first of them, although the second is issued too."""
    made = capture(
        [
            instruction("sync", "DMA_DIRECT2D", 0, 1, DMA),
            instruction("sync", "DMA_DIRECT2D", 1, 2, DMA),
            instruction("tensor", "MATMUL", 6, 9, MATMUL),
        ],
        [
            packet(2, 4, 131072, "qSyncDynamicHW", queue_type="hardware_dynamic"),
            packet(4, 8, 131072, "qSyncDynamicHW", queue_type="hardware_dynamic"),
        ],
        semaphores=[update(5, 24, 16, "dma"), update(9, 24, 32, "dma")],
    )
    found = critical_path(made)
    rows = found.segment_row.values.tolist()
    assert rows[0] == 0
    transfer = found.segment_kind.values.tolist().index("dma_transfer")
    assert int(found.segment_start_ps[transfer]) == 2 * US
    assert int(found.segment_ps[transfer]) == 2 * US


def test_without_updates_the_wait_is_still_named_by_the_operands() -> None:
    made = chain()
    sources = {name: made.sources[name] for name in ("instructions", "dma")}
    found = idle_causes(type(made)(path=made.path, format="x", sources=sources)).sel(core=0)
    assert int(found.idle_ps.sel(engine="vector", cause="tensor")) == round(8.5 * US)


def test_barriers_and_waits_without_a_name() -> None:
    made = capture(
        [
            instruction("vector", "COPY", 0, 1),
            instruction("vector", "EVENT_SEMAPHORE", 1, 4, " setter=0 $S[2]==3 $S[2]++@complete "),
            instruction("vector", "COPY", 6, 7, "S[77]>=4 "),
        ],
        semaphores=[],
    )
    found = idle_causes(made).sel(core=0, engine="vector")
    assert int(found.idle_ps.sel(cause="barrier")) == 3 * US
    assert int(found.idle_ps.sel(cause="unknown")) == 2 * US
    assert int(critical_path(made).path_ps.sum()) == 7 * US


def test_a_semaphore_that_is_used_again_counts_from_its_reset() -> None:
    made = capture(
        [
            instruction("tensor", "NOP", 0, 1),
            instruction("scalar", "ACTIVATE", 9, 10, "S[5] (Tensor)>=2 "),
        ],
        semaphores=[
            update(1, 5, 1, "tensor"),
            update(2, 5, 2, "tensor"),
            update(3, 5, 0, "sync"),
            update(4, 5, 1, "tensor"),
            update(6, 5, 2, "tensor"),
        ],
    )
    found = idle_causes(made, "0us..10us").sel(core=0, engine="scalar")
    assert int(found.idle_ps.sel(cause="tensor")) == 6 * US
    assert int(found.idle_ps.sel(cause="issue")) == 3 * US


def test_without_operands_causes_are_missing_not_zero() -> None:
    plain = capture([{"engine": "vector", "opcode": "COPY", "start_ts": 0, "end_ts": 5}])
    with pytest.raises(MissingTableError, match="operands"):
        idle_causes(plain)
    with pytest.raises(MissingTableError, match="operands"):
        critical_path(plain)


rows = st.lists(
    st.tuples(
        st.sampled_from(["tensor", "vector", "scalar"]),
        st.sampled_from(["MATMUL", "NOP", "EVENT_SEMAPHORE", "COPY"]),
        st.integers(0, 40),
        st.integers(0, 9),
        st.integers(0, 3),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=80, deadline=None)
@given(rows, st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3), st.integers(0, 5))))
def test_causes_sum_to_the_idle_time_and_paths_to_the_window(
    table: list[tuple[Any, ...]], updates: list[tuple[int, int, int]]
) -> None:
    """Any order of rows, waits and updates, sensible or not."""
    made = capture(
        [
            instruction(
                engine, opcode, begin, begin + long,
                f"S[{wait}] (Tensor)>={value} S[{(wait + 1) % 4}]++@complete ",
            )
            for engine, opcode, begin, long, wait, value in table
        ],
        semaphores=[update(at, number, value, "tensor") for at, number, value in updates],
    )  # fmt: skip
    window = "2us..47us"
    causes = idle_causes(made, window)
    idle = utilization(made, window=window).idle_ps
    np.testing.assert_array_equal(causes.idle_ps.sum("cause"), idle)
    assert int(critical_path(made, window).path_ps.sum()) == 45 * US
