from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.analysis.bounds_counters import capture_bounds
from roofline.analysis.critical_path import critical_path
from roofline.analysis.replay import replay
from roofline.captures.registry import open_capture
from roofline.errors import QueryError
from roofline.hardware.load import load_hardware
from tests.analysis.synthetic import capture, instruction, packet, update
from tests.analysis.test_idle import US, chain

ENGINES = ("tensor", "vector", "scalar", "gpsimd")
NAMES = {"tensor": "Tensor", "vector": "Vector", "scalar": "Activation", "gpsimd": "Pool"}


def saved(found: Any) -> dict[str, float]:
    return {
        str(name): int(value) / US
        for name, value in zip(found.cost.values, found.saved_ps.values, strict=True)
    }


def test_on_a_chain_each_cost_saves_all_of_its_time() -> None:
    found = replay(chain())
    assert found.attrs["unchanged_ps"] == found.attrs["window_ps"] == 11 * US
    assert (found.attrs["waits"], found.attrs["unexplained_waits"]) == (2, 0)
    assert saved(found) == {
        "tensor": 3,
        "vector": 2.5,
        "dma": 3.5,
        "dma_transfer": 2,
        "dma_latency": 1,
        "dma_completion": 0.5,
        "dma_issue": 1,
        "hop": 1,
    }
    assert ((found.replayed_ps + found.saved_ps) == 11 * US).all()


def test_what_hides_something_saves_only_what_it_is_longer() -> None:
    made = capture(
        [
            instruction("tensor", "MATMUL", 0, 9, "S[1]++@complete "),
            instruction("vector", "COPY", 0, 7, "S[2]++@complete "),
            instruction("gpsimd", "IOTA", 7, 8, "S[2] (Vector)>=1 S[3]++@complete "),
            instruction("scalar", "EVENT_SEMAPHORE", 0, 8, "S[3] (Pool)>=1 "),
            instruction("scalar", "ACTIVATE", 9, 10, "S[1] (Tensor)>=1 "),
        ],
        semaphores=[
            update(7, 2, 1, "vector"),
            update(8, 3, 1, "gpsimd"),
            update(9, 1, 1, "tensor"),
        ],
    )
    found = saved(replay(made))
    assert found["tensor"] == 1
    assert "vector" not in found  # not on the critical path: nothing to save
    assert found["scalar"] == 1


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, int, int | None]]:
    """Instructions in the order they are issued: engine, length, and which one is waited for."""
    size = draw(st.integers(2, 14))
    return [
        (
            draw(st.sampled_from(ENGINES)),
            draw(st.integers(1, 9)),
            draw(st.one_of(st.none(), st.integers(0, at - 1))) if at else None,
        )
        for at in range(size)
    ]


def run(program: list[tuple[str, int, int | None]], free: str = "") -> list[tuple[int, int]]:
    """Each starts when its engine is free and what it waits for is done: start and end in us."""
    at: dict[str, int] = {}
    spans: list[tuple[int, int]] = []
    for engine, length, waited in program:
        start = max(at.get(engine, 0), 0 if waited is None else spans[waited][1])
        spans.append((start, start + (0 if engine == free else length)))
        at[engine] = spans[-1][1]
    return spans


def recorded(program: list[tuple[str, int, int | None]]) -> Any:
    spans = run(program)
    opcodes = {"tensor": "MATMUL", "vector": "COPY", "scalar": "ACTIVATE", "gpsimd": "IOTA"}
    rows = []
    for number, ((engine, _, waited), (start, end)) in enumerate(zip(program, spans, strict=True)):
        operands = f"S[{number + 1}]++@complete "
        if waited is not None:
            operands = f"S[{waited + 1}] ({NAMES[program[waited][0]]})>=1 {operands}"
        rows.append(instruction(engine, opcodes[engine], start, end, operands))
    signals = [
        update(end, number + 1, 1, engine)
        for number, ((engine, _, _), (_, end)) in enumerate(zip(program, spans, strict=True))
    ]
    return capture(rows, semaphores=sorted(signals, key=lambda one: one["timestamp"]))


@settings(deadline=None, max_examples=150)
@given(programs())
def test_a_program_runs_again_as_it_would_have_run(
    program: list[tuple[str, int, int | None]],
) -> None:
    length = max(end for _, end in run(program))
    found = replay(recorded(program))
    assert found.attrs["unchanged_ps"] == found.attrs["window_ps"] == length * US
    assert found.attrs["unexplained_waits"] == 0
    times = saved(found)
    for engine in ENGINES:
        without = max(end for _, end in run(program, free=engine))
        # an engine without time on the critical path is not listed: nothing can be saved
        assert times.get(engine, 0) == length - without


@pytest.mark.shared
def test_real_traces_run_again_to_the_picosecond(shared: Path) -> None:
    traces = sorted((shared / "captures").rglob("*.ntff"))
    assert traces
    for trace in traces:
        found = replay(open_capture(trace))
        length = found.attrs["window_ps"]
        assert found.attrs["unchanged_ps"] == length, trace
        assert found.attrs["unexplained_waits"] <= max(2, 0.2 * found.attrs["waits"]), trace
        assert (found.saved_ps >= 0).all(), trace
        # the path names every moment once; what runs beside it can be counted on either side
        assert (found.saved_ps <= found.path_ps + 0.02 * length).all(), trace


@pytest.mark.shared
def test_without_dma_unfused_attention_nears_the_fused_kernel(shared: Path) -> None:
    folder = shared / "captures" / "trn2-v6-attention"
    unfused = replay(open_capture(folder / "baseline_bf16_s512.ntff"))
    fused = replay(open_capture(folder / "fused_bf16_s512.ntff"))
    without = int(unfused.replayed_ps.sel(cost="dma"))
    assert fused.attrs["window_ps"] < without < 1.2 * fused.attrs["window_ps"]


def test_a_last_store_that_no_issue_explains_is_time_of_dma() -> None:
    """What the window holds behind its last instruction is a packet in flight, not that one."""
    made = capture([instruction("vector", "COPY", 0, 2)], [packet(1, 5, 4096, "unnamed")])
    found = critical_path(made)
    pieces = {
        (str(who), str(kind)): int(value) / US
        for who, row in zip(found.resource.values, found.path_ps.values, strict=True)
        for kind, value in zip(found.path_kind.values, row, strict=True)
        if value
    }
    assert pieces == {("dma", "dma_transfer"): 3, ("vector", "compute"): 2}


def test_bounds_hold_the_replay_or_say_why_not() -> None:
    hardware = load_hardware("trn2", lnc=1)
    found = capture_bounds(chain(), hardware)
    assert int(found.saved_ps.sel(cost="dma")) == 3.5 * US
    plain = capture([{k: v for k, v in row.items() if k != "operands"} for row in _plain()])
    assert "operands" in capture_bounds(plain, hardware).attrs["replay_note"]


def _plain() -> list[dict[str, Any]]:
    return [instruction("tensor", "MATMUL", 0, 1)]


def test_a_capture_beyond_the_limit_is_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roofline.analysis.replay.MOST_ROWS", 3)
    with pytest.raises(QueryError, match="4 instructions are not replayed; at most 3 are"):
        replay(chain())
