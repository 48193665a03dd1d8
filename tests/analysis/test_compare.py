from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.analysis.compare import compare_runs
from roofline.analysis.comparison import Comparison, Pair
from roofline.analysis.explain import split_use
from roofline.analysis.observed import Use, join_repeats, split_kernels
from roofline.errors import QueryError
from tests.analysis.runs import observed, run


def one_pair(base, new, **options) -> Pair:
    (pair,) = compare_runs([run("a", base), run("b", new)], **options).pairs
    return pair


def outcomes(comparison: Comparison) -> dict[str, str]:
    return {pair.key: pair.outcome for pair in comparison.pairs}


def test_the_direction_is_named_and_the_ratio_is_above_one():
    faster = one_pair(observed(seconds=20e-6), observed(seconds=10e-6))
    slower = one_pair(observed(seconds=10e-6), observed(seconds=20e-6))
    assert faster.words.startswith("2x faster")
    assert slower.words.startswith("2x slower")
    assert faster.ratio == pytest.approx(2)
    assert slower.change_s == pytest.approx(10e-6)


def test_a_kernel_that_vanished_or_appeared_is_a_pair_of_its_own():
    base = run("a", observed("x"), observed("old"))
    new = run("b", observed("x"), observed("fresh"))
    assert outcomes(compare_runs([base, new])) == {"x": "same", "old": "gone", "fresh": "new"}


def test_no_kernel_of_any_run_is_dropped():
    base = run("a", *(observed(f"k{i}", config=f"{i}x{i}") for i in range(60)))
    new = run("b", *(observed(f"k{i}", config=f"{i}x{i}") for i in range(30, 90)))
    found = outcomes(compare_runs([base, new]))
    assert len(found) == 90
    assert sorted(found.values()) == sorted(["same"] * 30 + ["gone"] * 30 + ["new"] * 30)


def test_single_kernels_match_whatever_their_names():
    assert one_pair(observed("baseline"), observed("fused")).key == "baseline -> fused"


def test_single_kernels_match_in_each_shape():
    base = run("a", *(observed("eager", config=c) for c in ("1x1", "2x2")))
    new = run("b", *(observed("nki", config=c) for c in ("2x2", "3x3")))
    assert outcomes(compare_runs([base, new])) == {"1x1": "gone", "2x2": "same", "3x3": "new"}


def test_a_map_joins_kernels_of_other_names():
    base, new = run("a", observed("x"), observed("y")), run("b", observed("z"), observed("y"))
    joined = compare_runs([base, new], keys={"x": "z"})
    assert outcomes(joined) == {"x -> z": "same", "y": "same"}


def test_a_map_of_unknown_kernels_is_refused_with_the_known_ones():
    with pytest.raises(QueryError, match="base: x; others: y"):
        compare_runs([run("a", observed("x")), run("b", observed("y"))], keys={"q": "y"})


def test_clocks_that_differ_are_not_compared():
    pair = one_pair(observed(clock="host_wall"), observed(clock="device_body"))
    assert pair.outcome == "refused"
    assert pair.change_s is None
    assert pair.ratio is None
    assert "clocks differ" in pair.words
    assert pair.delta("time") is None
    assert pair.terms == ()


def test_a_clock_nobody_states_matches_only_itself():
    assert one_pair(observed(clock=""), observed(clock="host_wall")).outcome == "refused"
    same = one_pair(observed(clock=""), observed(clock=""))
    assert same.outcome == "same"
    assert any("no source says" in line for line in same.caveats)


def test_the_first_common_clock_is_compared():
    base = observed(seconds=9e-6, clock="device_body")
    total = observed(seconds=30e-6, clock="device_total")
    both = type(base)(kernel="k", timings=(*base.timings, *total.timings))
    pair = one_pair(both, observed(seconds=15e-6, clock="device_total"))
    assert (pair.clock, pair.base_s, pair.new_s) == ("device_total", 30e-6, 15e-6)


def test_chained_calls_are_not_compared_with_one():
    pair = one_pair(observed(calls=28), observed(calls=1))
    assert pair.refused == "28 chained calls against 1"


def test_single_runs_without_a_spread_prove_nothing():
    pair = one_pair(observed(seconds=10e-6, n=1), observed(seconds=9e-6, n=1))
    assert pair.outcome == "unproven"
    assert "no spread is known (n = 1 and n = 1)" in pair.words


def test_a_difference_below_a_stated_spread_is_called_noise():
    pair = one_pair(observed(seconds=10e-6, spread=0.24, spread_source="x"), observed(seconds=9e-6))
    assert pair.outcome == "below-noise"
    assert "below the noise" in pair.words


@pytest.mark.parametrize(
    ("times", "expected"), [((2e-6, 1e-6), ["new"]), ((1e-6, 2e-6), ["base"]), ((3e-6, 3e-6), [])]
)
def test_a_time_faster_than_its_bound_is_impossible(times, expected):
    base, new = (observed(seconds=t, bound_s=1.5e-6, bound_what="lower bound") for t in times)
    assert [which for which, _ in one_pair(base, new).impossible] == expected


def test_verdicts_and_findings_are_compared():
    base = observed(verdict="hbm:bandwidth", findings={"reloads": "r", "throttled": "t"})
    new = observed(verdict="tensor:throughput", findings={"throttled": "t", "idle": "i"})
    pair = one_pair(base, new)
    assert pair.verdict_changed
    assert pair.findings_gone == (("reloads", "r"),)
    assert pair.findings_new == (("idle", "i"),)


def test_findings_nobody_looked_for_are_not_called_gone():
    pair = one_pair(observed(findings={"reloads": "r"}), observed(findings=None))
    assert pair.findings_gone is None


def test_unknown_is_not_zero_in_a_delta():
    pair = one_pair(observed(bytes={"measured": 10}), observed())
    delta = pair.delta("bytes:measured")
    assert delta is not None
    assert (delta.base, delta.new, delta.change) == (10, None, None)


def test_other_shapes_hardware_and_profiling_are_pointed_out():
    base = observed(config="4x4", hardware="trn1", profiled=True)
    new = observed(config="8x8", hardware="trn2", profiled=False)
    text = " ".join(one_pair(base, new).caveats)
    assert all(word in text for word in ("4x4 against 8x8", "trn1 against trn2", "profiled"))


def test_fewer_launches_explain_a_host_time_exactly():
    base = observed(seconds=600e-6, clock="framework_window", launches=6)
    new = observed(seconds=110e-6, clock="framework_window", launches=1)
    terms = {term.id: term.seconds for term in one_pair(base, new).terms}
    assert terms["launches"] == pytest.approx(-500e-6)
    assert terms["per-launch"] == pytest.approx(10e-6)


def test_bytes_are_worth_at_most_their_time_at_the_ceiling():
    base = observed(bytes={"measured": 2_000_000}, bytes_per_s=1e12)
    new = observed(bytes={"measured": 500_000}, seconds=9e-6)
    (term,) = one_pair(base, new).terms
    assert (term.id, term.at_most, term.seconds) == ("bytes", True, pytest.approx(-1.5e-6))


seconds = st.floats(1e-9, 1e-2)


@st.composite
def uses(draw) -> Use:
    names = draw(st.sets(st.sampled_from(["tensor", "vector", "scalar", "dma"]), min_size=1))
    active = {name: draw(seconds) for name in sorted(names)}
    union = draw(st.floats(max(active.values()), sum(active.values())))
    return Use(clock="device_body", window_s=union + draw(seconds), active_s=active, any_s=union)


@given(uses(), uses())
def test_work_overlap_and_waiting_add_up_to_the_difference(base: Use, new: Use):
    total = math.fsum(term.seconds or 0.0 for term in split_use(base, new))
    # the sums are of doubles of up to 1e-2 s
    assert total == pytest.approx(new.window_s - base.window_s, abs=1e-15)


def test_the_parts_are_what_their_names_say():
    base = Use(clock="c", window_s=10.0, active_s={"tensor": 6.0, "dma": 6.0}, any_s=8.0)
    serial = Use(clock="c", window_s=14.0, active_s={"tensor": 6.0, "dma": 6.0}, any_s=12.0)
    idle = Use(clock="c", window_s=13.0, active_s={"tensor": 6.0, "dma": 6.0}, any_s=8.0)
    assert [(t.id, t.seconds) for t in split_use(base, serial)] == [("overlap", 4.0)]
    assert [(t.id, t.seconds) for t in split_use(base, idle)] == [("waiting", 3.0)]
    assert split_use(base, base) == ()


def test_repeats_of_one_kernel_become_samples_of_their_median():
    one = join_repeats([observed("k", s) for s in (3e-6, 1e-6, 2e-6)])
    (joined,) = one
    assert joined.timings[0].seconds == 2e-6
    assert sorted(joined.timings[0].samples) == [1e-6, 2e-6, 3e-6]
    assert joined.timings[0].n == 3


def test_a_run_of_variants_splits_into_a_run_each():
    whole = run("study", observed("naive"), observed("fused"), observed("naive", config="2"))
    parts = split_kernels(whole)
    assert [(part.label, len(part.observed)) for part in parts] == [("naive", 2), ("fused", 1)]


def test_one_run_cannot_be_compared():
    with pytest.raises(QueryError, match="at least one other"):
        compare_runs([run("a", observed())])
