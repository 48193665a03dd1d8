from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.report.alike import among, joined, merged, skeleton
from roofline.units import format_time


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["core 1 of 2 does no work"] * 3, "core 1 of 2 does no work"),
        (["waits 53.8 µs", "waits 3.73 µs", "waits 16 µs"], "waits 3.73 to 53.8 µs"),
        (["787 ns are hidden", "1.35 µs are hidden"], "787 ns to 1.35 µs are hidden"),
        (["94 % to 98 % of it", "90 % to 95 % of it"], "90 to 98 % of it"),
        (["1,024 B at 5.84x", "512 B at 6.27x"], "512 to 1,024 B at 5.84 to 6.27x"),
        (["moves 136 M of 2 k", "moves 1.2 G of 900"], None),
        (["at 12 %", "at 0.5 %"], "at 0.5 to 12 %"),
    ],
)
def test_figures_that_differ_become_a_range(texts: list[str], said: str | None) -> None:
    if said is None:
        said = merged(texts)
        assert said == "moves 136 M to 1.2 G of 900 to 2 k"
    else:
        assert merged(texts) == said


def test_figures_of_a_few_are_listed_in_their_order() -> None:
    texts = ["0.62 of the 2.35 ms", "0.53 of the 403 µs", "0.53 of the 376 µs"]
    assert merged(texts, most=3) == "0.62, 0.53 and 0.53 of the 2.35 ms, 403 µs and 376 µs"
    assert merged(texts, most=2) == "0.53 to 0.62 of the 376 µs to 2.35 ms"


@pytest.mark.parametrize(
    ("one", "other"),
    [("on bf16", "on fp32"), ("4x512 rows", "8x512 rows"), ("3 s", "3 B"), ("a_1 b", "a_2 b")],
)
def test_names_and_other_dimensions_are_no_figures(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)
    assert among([one, other], str) == [[one], [other]]


def test_groups_keep_their_order() -> None:
    assert among(["b 1", "a 1", "b 2"], str) == [["b 1", "b 2"], ["a 1"]]
    assert joined([]) == ""
    assert joined(["a"]) == "a"
    assert joined(["a", "b"]) == "a and b"


times = st.lists(st.floats(1e-9, 10), min_size=1, max_size=8)


@given(times)
def test_a_range_holds_every_time(seconds: list[float]) -> None:
    texts = [f"busy {format_time(one)} here" for one in seconds]
    assert len({skeleton(text) for text in texts}) == 1
    said = merged(texts)
    low, high = format_time(min(seconds)), format_time(max(seconds))
    assert said.endswith(f"{high} here")
    assert said.startswith(f"busy {low.split()[0]}")
    assert merged(texts[:1]) == texts[0]
