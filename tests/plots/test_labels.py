from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.plots.labels import Box, place_labels, shorten

BOUNDS = Box(0, 0, 1000, 700)
spot = st.tuples(st.floats(5, 995), st.floats(5, 695))
size = st.tuples(st.floats(5, 220), st.floats(8, 20))


def apart(boxes: list[Box]) -> bool:
    return not any(a.overlaps(b) for a, b in combinations(boxes, 2))


@given(labels=st.lists(st.tuples(spot, size), max_size=12), obstacles=st.lists(spot, max_size=4))
def test_no_label_overlaps_another_an_obstacle_or_the_edge(
    labels: list[tuple[tuple[float, float], tuple[float, float]]],
    obstacles: list[tuple[float, float]],
) -> None:
    blocked = [Box(x - 40, y - 30, x + 40, y + 30) for x, y in obstacles]
    placed = place_labels([one[0] for one in labels], [one[1] for one in labels], blocked, BOUNDS)
    boxes = [box for box in placed if box is not None]
    assert len(boxes) == len(labels)  # there is room for a dozen
    assert apart(boxes)
    for box, (_, (width, height)) in zip(boxes, labels, strict=True):
        assert box.right - box.left == pytest.approx(width)
        assert box.top - box.bottom == pytest.approx(height)
        assert box.left >= 0
        assert box.bottom >= 0
        assert box.right <= BOUNDS.right
        assert box.top <= BOUNDS.top
        assert not any(box.overlaps(other) for other in blocked)


def test_twenty_labels_of_one_spot_all_find_a_place() -> None:
    placed = place_labels([(500.0, 350.0)] * 20, [(180.0, 16.0)] * 20, [], BOUNDS)
    boxes = [box for box in placed if box is not None]
    assert len(boxes) == 20
    assert apart(boxes)


def test_a_label_that_fits_nowhere_is_none() -> None:
    assert place_labels([(5.0, 5.0)], [(50.0, 16.0)], [], Box(0, 0, 40, 40)) == [None]
    wall = Box(0, 0, 1000, 700)
    assert place_labels([(5.0, 5.0)], [(50.0, 16.0)], [wall], BOUNDS) == [None]


def test_the_nearest_free_place_is_taken() -> None:
    (box,) = place_labels([(500.0, 350.0)], [(100.0, 16.0)], [], BOUNDS)
    assert box is not None
    assert 0 < box.left - 500 < 20


@given(text=st.text(max_size=400), limit=st.integers(3, 60))
def test_long_names_keep_both_ends(text: str, limit: int) -> None:
    short = shorten(text, limit)
    clean = " ".join(text.split())
    assert len(short) <= limit
    if len(clean) <= limit:
        assert short == clean
    else:
        # the name may hold the mark itself: one of the marks is the cut
        cuts = [at for at, letter in enumerate(short) if letter == "…"]
        assert any(clean.startswith(short[:at]) and clean.endswith(short[at + 1 :]) for at in cuts)
