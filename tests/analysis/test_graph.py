from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.analysis.activity import activity
from roofline.analysis.graph import build_graph
from roofline.analysis.operands import read_operands
from roofline.analysis.signals import read_signals
from roofline.analysis.timeline import PS_PER_NS
from tests.analysis.synthetic import capture, instruction, update

SPANS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=12)


@settings(deadline=None, max_examples=150)
@given(SPANS, st.integers(0, 20))
def test_the_producer_is_the_one_of_its_engine_that_ends_nearest(
    spans: list[tuple[int, int]], reached_us: int
) -> None:
    """Instructions of an engine may overlap, end together, or end behind their own signal."""
    rows = [
        instruction("vector", "COPY", start, start + length, "S[1]++@complete ")
        for start, length in spans
    ]
    made = capture([*rows, instruction("tensor", "MATMUL", 0, 30, "S[1]++@complete ")])
    graph = build_graph(made, activity(made, "body"))
    lines = graph.lines
    reached = reached_us * 1000 * PS_PER_NS
    mine = [
        row
        for row in range(len(lines))
        if lines.engines[lines.engine[row]] == "vector" and lines.start[row] < reached
    ]
    # of several as near, the one that ends first
    expected = min(mine, key=lambda row: (abs(lines.end[row] - reached), lines.end[row], row),
                   default=-1)  # fmt: skip
    assert graph.producer(0, 1, reached, "vector") == expected


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(0, 12))
def test_what_a_semaphore_counted_has_its_resets_undone(values: list[int], until: int) -> None:
    made = capture(
        [instruction("vector", "COPY", 0, 20, "S[1]++@complete ")],
        semaphores=[update(at, 1, value, "vector") for at, value in enumerate(values)],
    )
    lines = activity(made, "body").instructions
    operands = read_operands(made.instructions)
    assert lines is not None
    assert operands is not None
    signals = read_signals(made, lines, operands)
    seen = values[: until + 1]
    resets = sum(a for a, b in pairwise(seen) if b < a)
    assert signals.counted(0, 1, 7, until * 1000 * PS_PER_NS) == 7 + resets
