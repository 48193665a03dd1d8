from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.clocks import Clock
from roofline.dtypes import DTYPES, dtype_key, dtype_of
from roofline.engines import engine_key
from roofline.errors import RooflineError, UnitError, WorkError
from roofline.units import format_si, parse_quantity, parse_time


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("PE", "tensor"),
        ("TensorMatrix", "tensor"),
        ("DVE", "vector"),
        ("ACT", "scalar"),
        ("Activation", "scalar"),
        ("Pool", "gpsimd"),
        ("SP", "sync"),
        ("GpSimd", "gpsimd"),
    ],
)
def test_engine_aliases(name: str, key: str) -> None:
    assert engine_key(name) == key


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(RooflineError, match="tensor, vector"):
        engine_key("warp")
    with pytest.raises(WorkError, match="bf16"):
        dtype_key("float7")
    with pytest.raises(UnitError, match="device_execution"):
        Clock(key="neuron time")


@pytest.mark.parametrize("name", list(DTYPES))
def test_dtype_sizes_agree_with_their_names(name: str) -> None:
    digits = "".join(c for c in name.split("_")[0] if c.isdigit())
    expected = {"tf32": 32, "bool": 8}.get(name, int(digits or 0))
    assert dtype_of(name).bits == expected


def test_scaled_formats_count_their_scales() -> None:
    assert dtype_of("mxfp8").bytes_for(64) == 64 + 2
    assert dtype_of("mxfp4").bytes_for(33) == 17 + 2


@pytest.mark.parametrize(
    "text", ["12", "12 Gb/s", "12 FLOP", "NaN s", "", "1e999 GB/s", "3 parsec"]
)
def test_quantities_without_a_clear_unit_are_refused(text: str) -> None:
    with pytest.raises(UnitError):
        parse_quantity(text, "B/s")


def test_prefixes_are_powers_of_a_thousand() -> None:
    for power, prefix in enumerate(["", "k", "M", "G", "T", "P", "E"]):
        assert parse_quantity(f"1 {prefix}B", "B") == 1000**power
    assert parse_time("33us") == pytest.approx(33e-6, rel=1e-15)


@given(st.floats(min_value=1e-14, max_value=1e19))
def test_a_formatted_value_parses_back(value: float) -> None:
    assert parse_quantity(format_si(value, "B/s", digits=6), "B/s") == pytest.approx(
        value, rel=1e-5
    )


def test_unknown_is_not_zero() -> None:
    assert format_si(None, "s") == "unknown"
    assert format_si(float("nan"), "s") == "unknown"
    assert format_si(0.0, "s") == "0 s"
    assert format_si(999.96e9, "B/s") == "1 TB/s"
