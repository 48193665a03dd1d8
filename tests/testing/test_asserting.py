from __future__ import annotations

from pathlib import Path

import pytest

from roofline.errors import QueryError
from roofline.report.compare_run import save_baseline
from roofline.testing import assert_roofline

pytest_plugins = ["pytester"]

STUDY = "rmsnorm-4x512-bf16"


def times(path: Path, *rows: str) -> Path:
    path.write_text("op,time_us,clock\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_what_holds_passes_and_gives_the_run():
    found = assert_roofline(f"{STUDY}::fused", faster_than="500us", verdict="overhead:*")
    assert found.kernels == ("fused",)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"faster_than": "100us"}, "403 µs, not below 100us"),
        ({"of_bound": 0.5}, "of the lower bound, less than 0.5"),
        ({"verdict": "tensor:*"}, r"verdict overhead:host, not tensor:\*"),
    ],
)
def test_what_does_not_hold_is_named(asked, message):
    with pytest.raises(AssertionError, match=f"fused, 4x512 bf16: .*{message}"):
        assert_roofline(f"{STUDY}::fused", **asked)


def test_findings_can_be_forbidden():
    with pytest.raises(AssertionError, match="finding host-scalar"):
        assert_roofline(f"{STUDY}::naive", without=["host-scalar"])


def test_findings_that_are_not_known_are_not_passed(tmp_path: Path):
    with pytest.raises(QueryError, match="findings are not known"):
        assert_roofline(times(tmp_path / "a.csv", "g,1,nki_benchmark"), without=["x"])


def test_a_slower_run_fails_against_its_baseline(tmp_path: Path):
    old = times(tmp_path / "old.csv", "gelu,100,nki_benchmark", "add,50,nki_benchmark")
    new = times(tmp_path / "new.csv", "gelu,120,nki_benchmark", "add,50,nki_benchmark")
    save_baseline([str(old)], tmp_path / "b.json")
    assert_roofline(old, tmp_path / "b.json")
    with pytest.raises(AssertionError, match=r"gelu: failed: .*\+20 %"):
        assert_roofline(new, tmp_path / "b.json")
    assert_roofline(new, tmp_path / "b.json", fail_on="time > 30%")


def test_an_impossible_time_always_fails(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("op,time_us,min_bytes,hardware\ng,0.001,1000000,trn2\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="faster than"):
        assert_roofline(path)


def test_the_fixture_writes_and_checks_baselines(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        def test_kernel(roofline_gate):
            roofline_gate("times.csv", fail_on="time > 5%")
        """
    )
    plugin = ("-p", "roofline.testing.fixtures", "-p", "no:cacheprovider")
    times(pytester.path / "times.csv", "gelu,100,nki_benchmark")
    pytester.runpytest_inprocess(*plugin).assert_outcomes(failed=1)
    pytester.runpytest_inprocess(*plugin, "--roofline-update").assert_outcomes(passed=1)
    assert (pytester.path / "baselines" / "test_kernel.json").exists()
    pytester.runpytest_inprocess(*plugin).assert_outcomes(passed=1)
    times(pytester.path / "times.csv", "gelu,120,nki_benchmark")
    pytester.runpytest_inprocess(*plugin).assert_outcomes(failed=1)
