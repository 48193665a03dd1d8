from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.errors import CaptureError
from roofline.intervals import (
    EMPTY,
    Intervals,
    grouped_totals,
    merge,
    merge_grouped,
    overlap_matrix,
    spread_binned,
    sum_binned,
    total,
)

SPAN = 40
PICOSECONDS = 2**53 + 12_345_678_901  # a float would lose its last digit


def spans(size: int = 12) -> st.SearchStrategy[list[tuple[int, int]]]:
    one = st.tuples(st.integers(0, SPAN), st.integers(0, SPAN)).map(lambda p: (min(p), max(p)))
    return st.lists(one, max_size=size)


bases = st.sampled_from([0, -7, PICOSECONDS, -PICOSECONDS, 2**62])


def at(rows: list[tuple[int, int]], base: int) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows, np.int64).reshape(-1, 2) + base
    return table[:, 0], table[:, 1]


def ticks(rows: list[tuple[int, int]]) -> set[int]:
    """The oracle: every covered tick by name."""
    return {tick for start, end in rows for tick in range(start, end)}


def covered(found: Intervals, base: int) -> set[int]:
    return ticks([(start - base, end - base) for start, end in found])


def canonical(found: Intervals) -> bool:
    return bool(np.all(found.starts < found.ends) and np.all(found.ends[:-1] < found.starts[1:]))


@given(spans(), bases)
def test_merge_covers_what_its_intervals_cover(rows: list[tuple[int, int]], base: int) -> None:
    found = merge(*at(rows, base))
    assert canonical(found)
    assert covered(found, base) == ticks(rows)
    assert found.total == total(*at(rows, base)) == len(ticks(rows))


@given(spans(), spans(), bases)
def test_set_operations_equal_set_operations_on_ticks(
    mine: list[tuple[int, int]], theirs: list[tuple[int, int]], base: int
) -> None:
    a, b = merge(*at(mine, base)), merge(*at(theirs, base))
    for found, expected in (
        (a.union(b), ticks(mine) | ticks(theirs)),
        (a.intersect(b), ticks(mine) & ticks(theirs)),
        (a.subtract(b), ticks(mine) - ticks(theirs)),
        (a.clip(base + 9, base + 23), ticks(mine) & set(range(9, 23))),
        (a.gaps(base + 9, base + 23), set(range(9, 23)) - ticks(mine)),
    ):
        assert canonical(found)
        assert covered(found, base) == expected


@given(spans(), st.sets(st.integers(-3, SPAN + 3), min_size=2), bases)
def test_bins_are_exact_and_sum_to_the_whole(
    rows: list[tuple[int, int]], cuts: set[int], base: int
) -> None:
    edges = sorted(cuts)
    first, last = at(rows, base)
    where = np.array(edges, np.int64) + base
    pairs = list(pairwise(edges))
    merged, plain = merge(first, last).binned(where), sum_binned(first, last, where)
    assert merged.tolist() == [len(ticks(rows) & set(range(*pair))) for pair in pairs]
    assert plain.tolist() == [
        sum(len(ticks([row]) & set(range(*pair))) for row in rows) for pair in pairs
    ]
    whole = np.array([edges[0] + base, edges[-1] + base])
    assert merged.sum() == merge(first, last).binned(whole)[0]


@given(
    st.lists(st.tuples(st.integers(0, SPAN), st.integers(0, SPAN), st.integers(0, 2**40))), bases
)
def test_spread_amounts_lose_nothing(rows: list[tuple[int, int, int]], base: int) -> None:
    first, last = at([(min(a, b), max(a, b)) for a, b, _ in rows], base)
    amounts = np.array([amount for *_, amount in rows], np.int64)
    edges = np.array([0, 3, 4, 17, 30, SPAN + 1], np.int64) + base
    found = spread_binned(first, last, amounts, edges)
    assert found.sum() == amounts.sum()
    for number, (low, high) in enumerate(pairwise(edges)):
        inside = np.minimum(last, high) - np.maximum(first, low)
        exact = [
            int(amount) * max(int(part), 0) / int(length)
            if length
            else int(amount) * (low <= start < high)
            for amount, part, length, start in zip(
                amounts, inside, last - first, first, strict=True
            )
        ]
        # each interval may round by one at either edge
        assert abs(int(found[number]) - sum(exact)) <= 2 * len(rows) + 1e-3


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, SPAN), st.integers(0, SPAN)), max_size=30),
    st.sampled_from([0, PICOSECONDS, -PICOSECONDS]),
    st.sampled_from([1, 2**57]),
)
def test_groups_are_merged_apart(rows: list[tuple[int, int, int]], base: int, scale: int) -> None:
    """A scale of 2**57 does not fit into a key beside the group: the other path."""
    groups = np.array([group for group, *_ in rows], np.int64)
    first = np.array([min(a, b) for _, a, b in rows], np.int64) * scale + base
    last = np.array([max(a, b) for _, a, b in rows], np.int64) * scale + base
    expected = [
        scale * len(ticks([(min(a, b), max(a, b)) for group, a, b in rows if group == number]))
        for number in range(6)
    ]
    assert grouped_totals(groups, first, last, 6).tolist() == expected
    assert [each.total for each in merge_grouped(groups, first, last, 6)] == expected


@given(st.lists(spans(6), max_size=4))
def test_overlap_matrix_is_pairwise_common_time(sets: list[list[tuple[int, int]]]) -> None:
    found = overlap_matrix([merge(*at(rows, 0)) for rows in sets])
    assert found.tolist() == [[len(ticks(a) & ticks(b)) for b in sets] for a in sets]


@given(spans(), st.lists(st.integers(-2, SPAN + 2)))
def test_membership(rows: list[tuple[int, int]], times: list[int]) -> None:
    found = merge(*at(rows, 0)).contains(np.array(times, np.int64))
    assert found.tolist() == [time in ticks(rows) for time in times]


def test_touching_intervals_become_one_and_empty_ones_vanish() -> None:
    assert list(merge([0, 5, 9], [5, 8, 9])) == [(0, 8)]
    assert merge([3], [3]) == EMPTY
    assert EMPTY.total == 0
    assert list(EMPTY.gaps(2, 4)) == [(2, 4)]


@pytest.mark.parametrize(
    ("starts", "ends", "message"),
    [
        ([0, 5], [1, 4], "row 1: 5 .. 4"),
        ([0.5], [1.0], "integers"),
        ([0, 1], [2], "2 interval starts but 1 ends"),
    ],
)
def test_bad_intervals_are_refused(starts: list[int], ends: list[int], message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        merge(starts, ends)
