"""What the loader refuses, and that it names the path of the key."""

from __future__ import annotations

import copy
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.errors import HardwareModelError
from roofline.hardware.parse import parse_model
from roofline.hardware.schema import REQUIRED, unit_of


@pytest.fixture(scope="module")
def trn2(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "hw_models" / "trn2.toml").read_text(encoding="utf-8"))


def changed(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with one key set, or removed where the value is ``...``."""
    data = copy.deepcopy(data)
    *tables, key = path.split(".")
    node: Any = data
    for table in tables:
        node = node[int(table)] if isinstance(node, list) else node.setdefault(table, {})
    if value is ...:
        del node[key]
    else:
        node[key] = value
    return data


def refused(data: dict[str, Any]) -> str:
    with pytest.raises(HardwareModelError) as error:
        parse_model(data, "trn2.toml")
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("path", REQUIRED)
def test_a_missing_key_is_named_by_its_path(trn2, path):
    assert refused(changed(trn2, path, ...)) == f"trn2.toml: {path}: missing"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("engines.tensor.rates.bf16", "engines.tensor.rates.bf16.macs_per_pe_per_cycle: missing"),
        ("engines.vector", "engines.vector.clock_hz: missing"),
        ("engines.scalar.modes", "engines.scalar.modes: missing"),
        ("dma", "dma.engines_count: missing"),
        ("chip.generation", "chip.generation: missing"),
        ("chip.aliases", "chip.aliases: missing"),
        ("name", "name: missing"),
        ("dma.kind", "dma.kind: missing"),
        ("dma.packet.source", "dma.packet.source: missing"),
        ("instances.trn2_48xlarge.name", "instances.trn2_48xlarge.name: missing"),
        ("instances.trn2_48xlarge.chips_count", "instances.trn2_48xlarge.chips_count: missing"),
        ("engines.vector.modes.0.dtypes", "engines.vector.modes.0.dtypes: missing"),
        ("engines.vector.modes.0.kind", "engines.vector.modes.0.kind: missing"),
    ],
)
def test_missing_tables_and_texts(trn2, path, message):
    assert refused(changed(trn2, path, ...)) == f"trn2.toml: {message}"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("colour", "colour: unknown key; known: chip, lnc"),
        ("dma.speed_bytes_per_s", "dma.speed_bytes_per_s: unknown key"),
        ("engines.tensor.clock", "engines.tensor.clock: unknown key"),
        ("engines.tensor.rates.bf17.macs_per_pe_per_cycle", "unknown dtype 'bf17'"),
        ("engines.tensor.measured.bf17.flop_per_s", "unknown dtype 'bf17'"),
        ("engines.dsp.clock_hz", "unknown engine 'dsp'; known: tensor"),
        ("instructions.dsp.any.latency_cycles", "unknown engine 'dsp'"),
        ("memories.l2.capacity_bytes", "unknown memory 'l2'; known: hbm, sbuf, psum"),
        ("overheads.launch.device_execution.floor_us", "unknown key"),
        ("engines.vector.modes.0.lanes_count", "engines.vector.modes.0.lanes_count: unknown key"),
    ],
)
def test_unknown_keys(trn2, path, message):
    data = changed(trn2, path, 1)
    table = path.rpartition(".")[0]
    for key in ("kind", "source"):
        if table and "modes" not in table:
            data = changed(data, f"{table}.{key}", "documented")
    assert message in refused(data)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "fast", [], None, {}])
def test_a_number_is_positive_and_finite(trn2, value):
    if value is None:
        data = changed(trn2, "dma.link_bytes_per_s", {"value": None})
    else:
        data = changed(trn2, "dma.link_bytes_per_s", value)
    message = refused(data)
    assert message.startswith("trn2.toml: dma.link_bytes_per_s: ")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("dma.link_bytes_per_s", {"value": 2, "low": 3}, "expected low <= value <= high"),
        ("dma.link_bytes_per_s", {"value": 2, "high": 1}, "expected low <= value <= high"),
        ("dma.link_bytes_per_s", {"value": 2, "low": 0}, "dma.link_bytes_per_s.low: expected a"),
        ("dma.link_bytes_per_s", {"value": 2, "mean": 2}, "dma.link_bytes_per_s.mean: unknown key"),
        ("dma.engines_count", 16.5, "dma.engines_count: expected a whole number"),
        ("dma.kind", "guessed", "dma.kind: unknown 'guessed'; known: measured"),
        ("dma.kind", 3, "dma.kind: expected text"),
        ("dma.source", " ", "dma.source: expected text"),
        ("dma.source", "@nowhere", "dma.source: @nowhere is not in [sources]"),
        ("dma.note", 3, "dma.note: expected text"),
        ("dma.packet", 3, "dma.packet: unknown key"),
        ("dma", 3, "dma: expected a table"),
        ("schema_version", 2, "schema_version: expected 1, found 2"),
        ("sources", 3, "sources: expected a table"),
        ("lnc.default_count", 3, "lnc.default_count: 3 is none of [1.0, 2.0]"),
        ("chip.aliases", ["a", 1], "chip.aliases: expected a list of names"),
        ("dma.efficiency_curve.relative_ratio", [0.5, 1.0], "11 sizes and 2 ratios"),
        ("engines.vector.modes", {}, "engines.vector.modes: expected an array of tables"),
        ("engines.vector.modes.0.contiguous", "yes", "contiguous: expected true or false"),
        ("engines.vector.modes.0.operands", ["dram"], "operands: 'dram'; known: sbuf"),
        ("engines.vector.modes.0.dtypes", ["half"], "dtypes: 'half'; known: fp64"),
        ("engines.vector.modes.0.elements_per_lane_per_cycle", 0, "expected a positive"),
    ],
)
def test_wrong_values(trn2, path, value, message):
    text = refused(changed(trn2, path, value))
    assert message in text
    assert text.startswith("trn2.toml: ")


def test_spreads_may_be_given_on_one_side(trn2):
    data = changed(trn2, "dma.link_bytes_per_s", {"value": 2, "low": 1, "note": "low only"})
    number = parse_model(data, "trn2.toml").values["dma.link_bytes_per_s"]
    assert (number.low, number.value, number.high, number.note) == (1, 2, None, "low only")


def test_a_number_may_have_its_own_kind_and_source(trn2):
    own = {"value": 2, "kind": "inferred", "source": "@dma elsewhere"}
    values = parse_model(changed(trn2, "dma.link_bytes_per_s", own), "trn2.toml").values
    assert values["dma.link_bytes_per_s"].quality == "inferred"
    assert values["dma.link_bytes_per_s"].source.endswith("nki-dma-overview.rst elsewhere")
    assert values["dma.engines_count"].quality == "documented"


FITTED = {
    "kind": "calibrated",
    "source": "fit of tests",
    "data": "12 kernels of one suite",
    "residual": "median 4 %, worst 11 %",
    "valid": "128 partitions, 512 to 8192 elements",
    "overhead_s": {"value": 2e-6, "low": 1e-6, "high": 3e-6},
    "efficiency_ratio": 0.9,
}


def test_calibrated_constants_may_have_any_name(trn2):
    data = changed(trn2, "calibrated.copy.wide", FITTED)
    values = parse_model(data, "trn2.toml").values
    assert values["calibrated.copy.wide.overhead_s"].value == 2e-6
    assert values["calibrated.copy.wide.overhead_s"].unit == "s"
    assert values["calibrated.copy.wide.efficiency_ratio"].quality == "calibrated"


@pytest.mark.parametrize("key", ["data", "residual", "valid", "kind", "source"])
def test_calibrated_constants_say_on_what_and_how_well(trn2, key):
    table = {name: value for name, value in FITTED.items() if name != key}
    message = refused(changed(trn2, "calibrated.copy", table))
    assert message == f"trn2.toml: calibrated.copy.{key}: missing"
    message = refused(changed(trn2, "calibrated.copy", {**FITTED, "kind": "measured"}))
    assert "calibrated.copy.kind: expected 'calibrated'" in message
    message = refused(changed(trn2, "calibrated.copy", {**FITTED, "speed": 3}))
    assert "calibrated.copy.speed: the key names no unit; known suffixes: " in message


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("dma.link_bytes_per_s", "B/s"),
        ("a.capacity_bytes", "B"),
        ("a.peak_flop_per_s", "FLOP/s"),
        ("a.floor_s", "s"),
        ("a.clock_hz", "Hz"),
        ("a.latency_cycles", "cycle"),
        ("a.streaming_cycles_per_column", "cycle"),
        ("a.elements_per_lane_per_cycle", "element/cycle"),
        ("a.macs_per_pe_per_cycle", "MAC/cycle"),
        ("a.rate_ratio", "1"),
        ("a.engines_count", "1"),
        ("a.bank_fp32_elements", "element"),
        ("a.speed", None),
        ("a.status", None),
    ],
)
def test_units_come_from_the_key(path, unit):
    assert unit_of(path) == unit


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    junk=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["kind", "source", "value", "modes", "dma", "name", "x_s"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    ),
    path=st.sampled_from(
        [
            "dma",
            "dma.link_bytes_per_s",
            "chip",
            "engines.vector.modes",
            "engines.vector.modes.0",
            "sources",
            "instances",
            "instances.trn2_48xlarge",
            "lnc.choices_count",
            "calibrated",
            "name",
            "schema_version",
        ]
    ),
)
def test_no_content_breaks_the_parser(trn2, junk, path):
    """Whatever stands at a key, the model parses or the error is one line."""
    *tables, key = path.split(".")
    data = copy.deepcopy(trn2)
    node: Any = data
    for table in tables:
        node = node[table]
    if isinstance(node, list):
        node[int(key)] = junk
    else:
        node[key] = junk
    try:
        model = parse_model(data, "trn2.toml")
    except HardwareModelError as error:
        assert re.match(r"trn2\.toml: [\w.]+", str(error))  # noqa: PT017 - either way is right
    else:
        assert model.values
