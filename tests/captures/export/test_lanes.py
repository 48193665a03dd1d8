from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roofline.captures.export.lanes import lanes

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=40)


def depth(spans: list[tuple[int, int]]) -> int:
    """Spans open at once, by counting at every start; an empty span is open where it is."""
    return max((sum(s <= at < s + max(d, 1) for s, d in spans) for at, _ in spans), default=0)


@given(SPANS)
def test_spans_of_a_lane_do_not_overlap_and_no_lane_is_wasted(
    spans: list[tuple[int, int]],
) -> None:
    start = np.array([s for s, _ in spans], dtype=np.int64)
    end = np.array([s + d for s, d in spans], dtype=np.int64)
    lane = lanes(start, end)
    for number in np.unique(lane):
        chosen = np.flatnonzero(lane == number)
        times = sorted(zip(start[chosen].tolist(), end[chosen].tolist(), strict=True))
        assert all(later[0] >= earlier[1] for earlier, later in pairwise(times))
    if len(spans):
        assert lane.max() + 1 <= max(depth(spans), 1)


def test_a_queue_goes_round() -> None:
    start = np.arange(0, 60, 10)
    assert lanes(start, start + 25).tolist() == [0, 1, 2, 0, 1, 2]
