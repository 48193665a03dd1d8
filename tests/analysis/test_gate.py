from __future__ import annotations

import pytest

from roofline.analysis.compare import compare_runs
from roofline.analysis.gate import Condition, check_gate, gate_passes, parse_gate
from roofline.analysis.noise import Tolerance
from roofline.analysis.observed import Use
from roofline.errors import QueryError
from tests.analysis.runs import observed, run


def judge(rules: str, base, new, tolerance: Tolerance | None = None):
    comparison = compare_runs([run("base", base), run("new", new)], tolerance=tolerance)
    (found,) = check_gate(comparison, parse_gate(rules))
    return found


def test_rules_are_read():
    gate = parse_gate("time > +5% and > 2us or bytes >= 1 MB; verdict changes")
    assert gate.rules == (
        (
            Condition(quantity="time", op=">", limit=0.05, relative=True),
            Condition(quantity="time", op=">", limit=2e-6, relative=False),
        ),
        (Condition(quantity="bytes", op=">=", limit=1e6, relative=False),),
        "verdict",
    )


@pytest.mark.parametrize(
    "rules",
    [
        "",
        "time",
        "time > 5",
        "time > 5 bananas",
        "> 5%",
        "speed > 5%",
        "time >> 5%",
        "time > 5% and",
        "time > 2us or",
        "time > __import__('os')",
        "time > 5% % 2",
        "bytes > 2us",
    ],
)
def test_what_is_no_rule_is_refused_with_what_is(rules):
    with pytest.raises(QueryError, match=r"rule .*(write|unit|amount)"):
        parse_gate(rules)


@pytest.mark.parametrize(
    ("base_us", "new_us", "status"),
    [
        (100, 104, "passed"),  # 4 %, 4 us: under the relative limit
        (10, 11.5, "passed"),  # 15 %, 1.5 us: under the absolute limit
        (100, 106, "failed"),  # both
        (100, 50, "passed"),  # faster
        (100, 105, "passed"),  # exactly 5 % is not more than 5 %
    ],
)
def test_both_limits_have_to_be_passed(base_us, new_us, status):
    found = judge(
        "time > +5% and > 2us", observed(seconds=base_us * 1e-6), observed(seconds=new_us * 1e-6)
    )
    assert found.status == status


def test_the_change_within_the_noise_never_fails():
    noisy = {"samples": (90e-6, 100e-6, 110e-6)}
    found = judge("time > 1%", observed(seconds=100e-6, **noisy), observed(seconds=108e-6, **noisy))
    assert found.status == "within-noise"
    assert found.ok
    assert "95 % of repeats" in found.why


def test_a_change_beyond_the_noise_fails():
    quiet = {"samples": (99.9e-6, 100e-6, 100.1e-6)}
    new = {"samples": (107.9e-6, 108e-6, 108.1e-6)}
    found = judge("time > 1%", observed(seconds=100e-6, **quiet), observed(seconds=108e-6, **new))
    assert found.status == "failed"


def test_a_limit_finer_than_the_noise_is_said():
    found = judge("time > 1%", observed(), observed(), Tolerance(relative=0.10))
    assert found.status == "passed"
    assert "finer than the noise" in found.why


def test_an_impossible_time_fails_however_fast_it_is():
    found = judge("time > 5%", observed(seconds=10e-6), observed(seconds=1e-6, bound_s=2e-6))
    assert found.status == "impossible"
    assert not found.ok


def test_an_impossible_base_does_not_fail_the_new_run():
    found = judge("time > 5%", observed(seconds=1e-6, bound_s=2e-6), observed(seconds=1e-6))
    assert found.ok


@pytest.mark.parametrize(
    ("base", "new", "status", "ok"),
    [
        (observed(clock="host_wall"), observed(clock="device_body"), "refused", False),
        (observed(), observed(seconds=None), "unknown", False),
    ],
)
def test_what_cannot_be_judged_does_not_pass(base, new, status, ok):
    found = judge("time > 5%", base, new)
    assert (found.status, found.ok) == (status, ok)


def test_a_kernel_that_is_gone_stops_the_gate_and_a_new_one_does_not():
    base, new = run("a", observed("x"), observed("y")), run("b", observed("x"), observed("z"))
    found = check_gate(compare_runs([base, new]), parse_gate("time > 5%"))
    assert [(one.status, one.ok) for one in found] == [
        ("gone", False),
        ("passed", True),
        ("new", True),
    ]
    assert not gate_passes(found)


def test_other_quantities_can_be_limited():
    base = observed(bytes={"measured": 100}, launches=1, verdict="hbm:bandwidth")
    new = observed(bytes={"measured": 120}, launches=2, verdict="serialization")
    assert judge("bytes > 10%", base, new).status == "failed"
    assert judge("bytes > 30%", base, new).status == "passed"
    assert judge("launches > 0", base, new).status == "failed"
    assert judge("verdict changes", base, new).status == "failed"
    assert judge("finding appears", base, new).status == "unknown"
    assert judge("tensor > 5%", base, new).status == "unknown"


def test_active_time_of_an_engine_can_be_limited():
    def used(vector: float):
        use = Use(clock="device_body", window_s=1.0, active_s={"vector": vector}, any_s=vector)
        return observed(uses=(use,))

    assert judge("vector > 10%", used(0.2), used(0.3)).status == "failed"


def test_from_nothing_to_something_is_beyond_every_share():
    base, new = observed(bytes={"measured": 0}), observed(bytes={"measured": 5})
    assert judge("bytes > 50%", base, new).status == "failed"


def test_the_worst_comes_first_and_none_is_cut():
    base = run("a", *(observed(f"k{i}", 100e-6) for i in range(200)))
    new = run("b", *(observed(f"k{i}", (100 + i) * 1e-6) for i in range(200)))
    found = check_gate(compare_runs([base, new]), parse_gate("time > 5%"))
    assert len(found) == 200
    severities = [one.severity for one in found if one.status == "failed"]
    assert severities == sorted(severities, reverse=True)
    assert len(severities) == 194
    assert found[0].pair.key == "k199"
