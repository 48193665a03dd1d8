from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.errors import UnitError
from roofline.units import format_number, format_percent, parse_quantity, parse_time


@given(st.floats(min_value=1e-8, max_value=1e15), st.integers(min_value=2, max_value=6))
def test_a_number_keeps_its_significant_digits_and_has_no_exponent(
    value: float, digits: int
) -> None:
    text = format_number(value, digits=digits)
    assert "e" not in text
    read = float(text.replace(",", ""))
    assert math.isclose(read, value, rel_tol=0.5000001 * 10 ** (1 - digits))
    if value >= 10**digits:
        assert read == round(value)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "unknown"),
        (math.nan, "unknown"),
        (0.0, "0 %"),
        (1e-9, "<0.0001 %"),
        (0.00012, "0.012 %"),
        (0.0999, "10 %"),
        (0.999, "100 %"),
        (1.2345, "123 %"),
        (29_206.4, "2,920,640 %"),
        (-0.031, "-3.1 %"),
    ],
)
def test_a_share_reads_in_percent_with_two_digits(share: float | None, text: str) -> None:
    assert format_percent(share) == text


@pytest.mark.parametrize("text", ["1e400s", "1e999999999 s", "-1e308 Es"])
def test_a_quantity_beyond_any_number_is_refused(text: str) -> None:
    with pytest.raises(UnitError, match="not a finite number"):
        parse_quantity(text, "s")


@given(st.integers(min_value=1, max_value=10**6))
def test_a_time_is_the_number_that_was_written(micros: int) -> None:
    assert parse_time(f"{micros}us") == float(f"{micros}e-6")
