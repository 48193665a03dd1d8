from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from roofline.analysis.noise import Tolerance, noise_between, parse_tolerance
from roofline.analysis.observed import Timing
from roofline.errors import QueryError


def timing(*samples: float, **more) -> Timing:
    return Timing(
        seconds=statistics.median(samples), samples=samples if len(samples) > 1 else (), **more
    )


# whole ns: the reference warns of cancellation where samples differ in their last bits
samples = st.lists(st.integers(1000, 2000), min_size=2, max_size=8, unique=True).map(
    lambda whole: tuple(ns * 1e-9 for ns in whole)
)


@given(samples, samples)
def test_repeats_give_the_interval_of_welch(a, b):
    found = noise_between(timing(*a), timing(*b)).seconds
    interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    floor = 1e-9 * max(statistics.median(a), statistics.median(b))
    assert found == pytest.approx(max(floor, (interval.high - interval.low) / 2), rel=1e-6)


def test_repeats_on_one_side_give_the_interval_of_one_more_run():
    a = (1.00e-6, 1.02e-6, 0.98e-6, 1.01e-6)
    expected = stats.t.ppf(0.975, 3) * statistics.stdev(a) * (1 + 1 / 4) ** 0.5
    found = noise_between(timing(*a), timing(1.1e-6))
    assert found.seconds == pytest.approx(expected)
    assert "one side" in found.source


def test_without_repeats_nothing_is_known():
    found = noise_between(timing(1e-6, n=1), timing(2e-6))
    assert found.seconds is None
    assert found.source == "no spread is known (n = 1 and n not stated)"


def test_a_stated_tolerance_is_a_floor_and_never_narrows_what_was_measured():
    wide = (1e-6, 2e-6, 3e-6)
    measured = noise_between(timing(*wide), timing(*wide))
    assert noise_between(timing(*wide), timing(*wide), Tolerance(relative=0.01)) == measured
    stated = noise_between(timing(1e-6), timing(2e-6), Tolerance(relative=0.10, seconds=1e-9))
    assert stated.seconds == pytest.approx(0.2e-6)
    assert stated.source == "stated: 10 % or 1 ns"


def test_the_resolution_of_the_clocks_is_a_floor():
    found = noise_between(timing(10e-6, resolution_s=1e-9), timing(10.001e-6, resolution_s=1e-9))
    assert found.seconds == pytest.approx(2e-9)
    assert found.source == "resolution of the clock"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3%", Tolerance(relative=0.03)),
        ("500ns", Tolerance(seconds=500e-9)),
        ("3% or 500 ns", Tolerance(relative=0.03, seconds=500e-9)),
    ],
)
def test_a_spread_is_read_from_text(text, expected):
    found = parse_tolerance(text)
    assert found.relative == pytest.approx(expected.relative)
    assert found.seconds == pytest.approx(expected.seconds)


@pytest.mark.parametrize("text", ["3", "", "-3%", "nan%", "5 bananas", "3% and 2us"])
def test_a_spread_without_a_unit_is_refused(text):
    with pytest.raises(QueryError, match="noise"):
        parse_tolerance(text)
