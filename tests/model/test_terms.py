"""Bounds and estimates over random work and hardware, and against arithmetic done by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.analysis.verdict import LABELS
from roofline.errors import HardwareModelError, QueryError, WorkError
from roofline.hardware.load import load_hardware
from roofline.model.bounds import bound_codes
from roofline.model.demand import demand_of, figures, with_figures
from roofline.model.estimate import estimate
from roofline.model.operands import parse_shapes, work_from
from roofline.model.rates import rates_for
from roofline.model.schedule import VARIANTS
from roofline.model.terms import lower_seconds, schedule_seconds, times
from roofline.work.closed_form import closed_form, families, family
from roofline.work.work import Work

CHIPS = ("trn1", "inf2", "trn2", "trn3")


@st.composite
def works(draw: st.DrawFn) -> tuple[Work, str]:
    entry = family(draw(st.sampled_from(families())))
    sizes = {name: draw(st.integers(1, 5000)) for name in entry.sizes}
    dtype = draw(st.sampled_from(["bf16", "fp16", "fp32"]))
    variant = draw(st.sampled_from(["eager", "fused", "compiled", "nki"]))
    return closed_form(entry.name, dtype=dtype, variant=VARIANTS[variant][0], **sizes), variant


@settings(deadline=None, max_examples=150)
@given(works(), st.sampled_from(CHIPS), st.data())
def test_lower_bound_schedule_bound_estimate_are_ordered(
    drawn: tuple[Work, str], chip: str, data: st.DataObject
) -> None:
    work, variant = drawn
    hardware = load_hardware(chip)
    for path in (
        "memories.hbm.stack.bandwidth_bytes_per_s",
        "engines.vector.clock_hz",
        "engines.tensor.clock_hz",
    ):
        factor = data.draw(st.floats(0.05, 20.0))
        hardware = hardware.replace_value(path, hardware.value(path).value * factor)
    found = estimate(work, hardware, variant=variant)
    assert 0 < found.lower_bound_s <= found.schedule_bound_s * (1 + 1e-12)
    assert found.schedule_bound_s <= found.low_s <= found.time_s <= found.high_s
    assert found.bound in LABELS
    assert all(np.isfinite(value) and value >= 0 for value in found.terms_s.values())
    # the terms are all there is: floor and fill, then resources side by side
    ahead = ("floor", "stages", "fill")
    resources = [v for name, v in found.terms_s.items() if name not in ahead]
    fixed = sum(found.terms_s[name] for name in ahead)
    assert fixed + max(resources) <= found.time_s * (1 + 1e-9)
    assert found.time_s <= (fixed + sum(resources)) * (1 + 1e-9)


def test_a_stream_by_hand() -> None:
    # relu of 2^24 bf16 elements: 64 MiB over one stack, one Vector pass, one launch
    hardware = load_hardware("trn2")
    found = estimate(closed_form("relu", n=2**24, dtype="bf16", variant="fused"), hardware)
    stream = 2**26 / (716.8e9 * hardware.value("calibrated.hbm.efficiency_ratio").value)
    assert found.terms_s["dma"] == pytest.approx(stream, rel=1e-12)
    lanes = 2**24 / 256
    cycles = lanes * 1.0 + 62 * lanes / 2048
    assert found.terms_s["vector"] == pytest.approx(cycles / 0.96e9, rel=1e-12)
    floor = hardware.value("calibrated.device.floor_s").value
    stage = hardware.value("calibrated.device.stage_s").value
    fill = stage + cycles / 0.96e9 / (lanes / 2048)
    assert found.time_s == pytest.approx(floor + fill + stream, rel=1e-12)
    assert found.bound == "hbm:bandwidth"


def test_few_rows_leave_lanes_idle() -> None:
    hardware = load_hardware("trn2", lnc=1)
    few = estimate(
        closed_form("rmsnorm", rows=4, cols=8192, dtype="bf16", variant="fused"), hardware
    )
    full = estimate(
        closed_form("rmsnorm", rows=128, cols=8192, dtype="bf16", variant="fused"), hardware
    )
    assert few.terms_s["vector"] == pytest.approx(full.terms_s["vector"], rel=1e-12)


def test_a_reduction_to_one_number_uses_every_lane() -> None:
    hardware = load_hardware("trn2")
    shapes = parse_shapes("x[16777216] -> y[1]", "fp32")
    found = estimate(work_from("sum", shapes, "fp32"), hardware)
    assert found.bound == "hbm:bandwidth"
    rows = parse_shapes("x[2048,8192] -> y[2048]", "fp32")
    tied = estimate(work_from("sum", rows, "fp32"), hardware)
    # whole rows make fewer tiles, and so more of a fill
    assert found.time_s == pytest.approx(tied.time_s, rel=0.1)


def test_a_burst_of_products_starts_at_half_rate() -> None:
    hardware = load_hardware("trn2", lnc=1)
    work = closed_form("matmul", m=512, n=512, k=512, dtype="bf16", variant="fused")
    found = estimate(work, hardware, variant="nki")
    efficiency = hardware.value("calibrated.matmul.nki.bits16.efficiency_ratio").value
    full = 2 * 512**3 / 78.6432e12 / efficiency
    # 1.25 windows of 4096 cycles at 1.2 GHz are limited: half of that is lost, if it lasts so long
    limited = 1.25 * 4096 / 1.2e9
    assert found.terms_s["tensor"] == pytest.approx(full + min(full, limited / 2), rel=1e-12)


def test_each_eager_operator_is_a_launch() -> None:
    hardware = load_hardware("trn2")
    work = closed_form("rmsnorm", rows=4, cols=512, dtype="bf16", variant="eager")
    found = estimate(work, hardware, variant="eager")
    floor = hardware.value("calibrated.device.floor_s")
    assert found.terms_s["floor"] == pytest.approx(6 * floor.value, rel=1e-12)
    assert found.bound == "overhead:device-start"
    assert found.floor_range_s == pytest.approx((6 * 9e-6, 6 * 21.8e-6))


def test_clocks_differ_by_their_floor() -> None:
    hardware = load_hardware("trn2")
    work = closed_form("relu", n=2**20, dtype="bf16", variant="fused")
    body = estimate(work, hardware, clock="device_body")
    window = estimate(work, hardware, clock="framework_window")
    assert body.terms_s["floor"] == 0
    assert window.time_s - body.time_s == pytest.approx(316e-6, rel=1e-9)
    assert window.bound == "overhead:host"


def test_outside_the_calibration_an_estimate_says_so() -> None:
    hardware = load_hardware("trn2")
    inside = estimate(closed_form("relu", n=2**22, dtype="bf16", variant="fused"), hardware)
    outside = estimate(closed_form("relu", n=2**36, dtype="bf16", variant="fused"), hardware)
    assert not inside.extrapolated
    assert outside.extrapolated
    assert outside.high_s / outside.time_s > inside.high_s / inside.time_s
    assert any("do not fit" in note for note in outside.notes)
    other = estimate(
        closed_form("relu", n=2**22, dtype="bf16", variant="fused"), load_hardware("trn3")
    )
    assert other.quality == "inferred"
    assert other.high_s / other.time_s > inside.high_s / inside.time_s


def test_a_given_schedule_replaces_passes() -> None:
    hardware = load_hardware("trn2")
    work = closed_form("rmsnorm", rows=2048, cols=8192, dtype="bf16", variant="fused")
    once = estimate(work, hardware, schedule={"norm": 1.0})
    twice = estimate(work, hardware, schedule={"norm": 2.0})
    assert twice.terms_s["vector"] == pytest.approx(2 * once.terms_s["vector"], rel=1e-12)


def test_mistakes_are_named() -> None:
    hardware = load_hardware("trn2")
    work = closed_form("relu", n=8, dtype="bf16", variant="fused")
    with pytest.raises(QueryError, match="unknown variant 'hand'"):
        estimate(work, hardware, variant="hand")
    with pytest.raises(QueryError, match="no estimate on clock 'sundial'"):
        estimate(work, hardware, clock="sundial")
    empty = closed_form("relu", n=0, dtype="bf16", variant="fused")
    with pytest.raises(WorkError, match="nothing to estimate"):
        estimate(empty, hardware)
    bare = replace(
        hardware,
        values={k: v for k, v in hardware.values.items() if not k.startswith("calibrated")},
    )
    with pytest.raises(HardwareModelError, match="no calibrated constants"):
        estimate(work, bare)
    with pytest.raises(HardwareModelError, match="no Tensor rate for 'int32'"):
        estimate(closed_form("matmul", m=8, n=8, k=8, dtype="int32", variant="fused"), hardware)


@pytest.mark.parametrize("name", ["rmsnorm", "matmul", "attention", "relu"])
@pytest.mark.parametrize("variant", ["eager", "fused"])
def test_arrays_give_what_numbers_give(name: str, variant: str) -> None:
    hardware = load_hardware("trn2")
    entry = family(name)
    sizes = [{s: 128 * (i + 1) + 3 * j for j, s in enumerate(entry.sizes)} for i in range(5)]
    works = [closed_form(name, dtype="fp32", variant=variant, **size) for size in sizes]
    demands = [demand_of(work, separate=variant == "eager") for work in works]
    rates = rates_for(hardware, "fp32", "eager")
    rows = [figures(demand) for demand in demands]
    stacked = with_figures(demands[0], {k: np.array([r[k] for r in rows]) for k in rows[0]})
    tensor, elements, memory = lower_seconds(stacked, rates)
    lower = np.maximum(np.maximum(tensor, elements), memory)
    scheduled = schedule_seconds(stacked, rates, lower)
    found = times(stacked, rates)
    codes = bound_codes(stacked, rates, found)
    for at, work in enumerate(works):
        one = estimate(work, hardware, variant=variant)
        assert lower[at] == pytest.approx(one.lower_bound_s, rel=1e-12)
        assert scheduled[at] == pytest.approx(one.schedule_bound_s, rel=1e-12)
        assert found.estimate[at] == pytest.approx(one.time_s, rel=1e-12)
        assert LABELS[int(codes[at])] == one.bound
