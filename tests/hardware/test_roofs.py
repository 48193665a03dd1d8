"""Every derived peak against first principles and against what the vendor prints."""

from __future__ import annotations

import pytest

from roofline.errors import HardwareModelError, RooflineError
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware

# exact arithmetic on clocks and widths: only float rounding is allowed
EXACT = 1e-12

# chip: clocks in GHz (tensor, vector, scalar, gpsimd), MACs per PE and cycle by dtype
CLOCKS = {
    "trn1": (2.8, 1.12, 1.4, 1.4),
    "inf2": (2.8, 1.12, 1.4, 1.4),
    "trn2": (2.4, 0.96, 1.2, 1.2),
    "trn3": (2.4, 1.2, 1.2, 1.2),
}
MACS = {
    "trn1": {"bf16": 1, "fp16": 1, "tf32": 1, "fp32": 0.25, "fp8_e4m3": 1},
    "inf2": {"bf16": 1, "fp16": 1, "tf32": 1, "fp32": 0.25, "fp8_e4m3": 1},
    "trn2": {"bf16": 1, "tf32": 1, "fp32": 0.25, "fp8_e4m3": 2, "fp8_e3m4": 1, "sparse": 4},
    "trn3": {"bf16": 1, "fp32": 0.25, "fp8_e5m2": 2, "mxfp8": 4, "mxfp4": 4, "sparse": 4},
}
# bytes/s: one HBM stack, link and sustained rate of the 16 DMA engines of a core
MEMORY = {
    "trn1": (410e9, 435.2e9, 272e9),
    "inf2": (410e9, 435.2e9, 272e9),
    "trn2": (716.8e9, 435.2e9, 368e9),
    "trn3": (1228.8e9, 614.4e9, 528e9),
}
CHIPS = tuple(CLOCKS)


def one_core(name: str) -> Hardware:
    view = load_hardware(name)
    return load_hardware(name, lnc=view.lnc_choices[0])


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name, macs in MACS.items() for dtype in macs]
)
def test_tensor_peak_is_array_times_clock(name, dtype):
    peak = one_core(name).tensor_peak(dtype)
    expected = 128 * 128 * 2 * MACS[name][dtype] * CLOCKS[name][0] * 1e9
    assert peak.value == pytest.approx(expected, rel=EXACT)
    assert (peak.unit, peak.kind, peak.scope) == ("FLOP/s", "theoretical", "core")


@pytest.mark.parametrize(
    ("name", "dtype", "tflops"),
    [
        ("trn1", "bf16", 91.7504),
        ("trn1", "fp32", 22.9376),
        ("trn2", "bf16", 78.6432),
        ("trn2", "fp32", 19.6608),
        ("trn2", "fp8", 157.2864),
        ("trn2", "sparse", 314.5728),
        ("trn3", "bf16", 78.6432),
        ("trn3", "mxfp8", 314.5728),
    ],
)
def test_peaks_are_those_the_vendors_profiles_divide_by(name, dtype, tflops):
    assert one_core(name).tensor_peak(dtype).value == pytest.approx(tflops * 1e12, rel=EXACT)


@pytest.mark.parametrize("name", CHIPS)
@pytest.mark.parametrize("dtype", ["bf16", "fp8", "mxfp8", "fp32", "sparse"])
def test_peaks_round_to_the_figures_printed_for_a_core(name, dtype):
    core = one_core(name)
    printed = core.values.get(f"engines.tensor.vendor_printed.{dtype}_flop_per_s")
    if printed is None:
        assert f"engines.tensor.vendor_printed.{dtype}_flop_per_s" not in core.paths()
        return
    # printed with two or three digits; 158 and 316 are doubled after rounding 78.64 up to 79
    assert core.tensor_peak(dtype).value == pytest.approx(printed.value, rel=0.02)


@pytest.mark.parametrize("name", CHIPS)
def test_element_rates_are_lanes_times_clock_times_mode(name):
    core = one_core(name)
    for engine, ghz in zip(("vector", "scalar", "gpsimd"), CLOCKS[name][1:], strict=True):
        for mode in core.element_modes(engine):
            roof = core.element_rate(engine, mode)
            assert roof.value == pytest.approx(128 * ghz * 1e9 * mode, rel=EXACT)
            assert (roof.unit, roof.mode, roof.resource) == ("element/s", mode, engine)
    assert core.clock_hz("PE") == pytest.approx(CLOCKS[name][0] * 1e9, rel=EXACT)


def test_printed_vector_and_scalar_flops_are_lanes_times_a_constant_and_no_roof():
    # 16 operations a lane and cycle on v2, 8 after: the reason they are kept apart
    for name, per_lane in (("trn1", 16), ("inf2", 16), ("trn2", 8), ("trn3", 8)):
        core = one_core(name)
        for engine in ("vector", "scalar"):
            printed = core.value(f"engines.{engine}.vendor_printed.fp32_flop_per_s").value
            # printed to two digits
            assert core.lane_rate(engine) * per_lane == pytest.approx(printed, rel=0.025)
            assert printed not in {roof.value for roof in core.roofs()}


@pytest.mark.parametrize("name", CHIPS)
def test_memory_roofs_of_one_core(name):
    core, (stack, link, sustained) = one_core(name), MEMORY[name]
    theoretical = {roof.resource: roof.value for roof in core.memory_roofs("theoretical")}
    assert theoretical == pytest.approx({"hbm": stack, "dma": link}, rel=EXACT)
    assert core.memory_roofs("sustained")[0].value == pytest.approx(sustained, rel=EXACT)
    assert core.memory_ceiling().value == pytest.approx(min(stack, link), rel=EXACT)
    assert core.memory_ceiling("sustained").value == pytest.approx(min(stack, sustained), rel=EXACT)


def test_the_stack_is_pins_times_pin_rate():
    for name, gigabits in (("trn1", 3.2), ("trn2", 5.6), ("trn3", 9.6)):
        stack = load_hardware(name).value("memories.hbm.stack.bandwidth_bytes_per_s")
        # 3.2 Gb/s gives 409.6: the vendor prints and divides by 410
        assert stack.value == pytest.approx(gigabits * 1e9 * 1024 / 8, rel=0.001)
        assert stack.low is not None
        assert stack.low <= gigabits * 1e9 * 1024 / 8 <= (stack.high or stack.value)


@pytest.mark.parametrize(
    ("name", "lnc", "kind", "ridge"),
    [
        ("trn1", 1, "theoretical", 223.8),
        ("trn1", 1, "sustained", 337.3),
        ("trn2", 1, "theoretical", 180.7),
        ("trn2", 1, "sustained", 213.7),
        ("trn2", 2, "theoretical", 219.4),
        ("trn2", 2, "sustained", 219.4),
        ("trn3", 2, "theoretical", 128.0),
        ("trn3", 2, "sustained", 148.9),
    ],
)
def test_ridges(name, lnc, kind, ridge):
    # given to one decimal
    assert load_hardware(name, lnc=lnc).ridge("bf16", kind) == pytest.approx(ridge, abs=0.05)


def test_vendor_ridges():
    # printed by the vendor's profiler: 223.781463973542 and 109.8369
    assert load_hardware("trn1").vendor_ridge() == pytest.approx(223.781463973542, rel=1e-8)
    for lnc in (1, 2):
        assert load_hardware("trn2", lnc=lnc).vendor_ridge() == pytest.approx(109.8369, abs=5e-5)


def test_ridges_of_other_dtypes_scale_with_the_rate():
    pair = load_hardware("trn2", lnc=2)
    assert pair.ridge("fp32") == pytest.approx(pair.ridge("bf16") / 4, rel=EXACT)
    assert pair.ridge("fp8") == pytest.approx(pair.ridge("bf16") * 2, rel=EXACT)


def test_chip_totals_add_the_other_engines():
    """The chip figures of Trainium2 and 3 follow from one recipe, rounded to a TFLOP/s."""
    gpsimd = {"bf16": 1.536e12, "fp32": 0.768e12}
    for name, vector, printed in (
        ("trn2", 0.96e9 * 128 * 8, {"bf16": 667, "fp32": 181}),
        ("trn3", 1.2e9 * 128 * 8, {"bf16": 671, "fp32": 183}),
    ):
        core = one_core(name)
        scalar = 1.2e9 * 128 * 8
        for dtype, chip in printed.items():
            vectors = 2 * vector if dtype == "bf16" else vector
            total = 8 * (core.tensor_peak(dtype).value + vectors + scalar + gpsimd[dtype])
            assert total == pytest.approx(chip * 1e12, abs=0.5e12)
            assert core.value(f"chip.printed.{dtype}_flop_per_s").value == chip * 1e12
    trn2, trn3 = one_core("trn2"), one_core("trn3")
    fp8, sparse = (trn2.value(f"chip.printed.{key}_flop_per_s").value for key in ("fp8", "sparse"))
    assert fp8 == 667e12 + 8 * 79e12
    assert sparse == 1299e12 + 8 * 158e12
    # Trainium3 prints the Tensor engine alone for these two
    for key in ("mxfp8", "sparse"):
        chip = trn3.value(f"chip.printed.{key}_flop_per_s").value
        assert 8 * trn3.tensor_peak(key).value == pytest.approx(chip, abs=0.5e12)


@pytest.mark.parametrize("name", CHIPS)
def test_roofs_of_the_chip_do_not_depend_on_the_view(name):
    view = load_hardware(name)
    core = one_core(name)
    assert view.chip_roofs() == core.chip_roofs()
    roofs = {(roof.resource, roof.dtype): roof for roof in view.chip_roofs()}
    assert {roof.scope for roof in roofs.values()} == {"chip"}
    bf16 = view.cores_per_chip * core.tensor_peak("bf16").value
    assert roofs["tensor", "bf16"].value == pytest.approx(bf16, rel=EXACT)
    stack, link, _ = MEMORY[name]
    stacks = {"trn1": 2, "inf2": 2, "trn2": 4, "trn3": 4}[name]
    assert roofs["hbm", ""].value == pytest.approx(stacks * stack, rel=EXACT)
    assert roofs["dma", ""].value == pytest.approx(view.cores_per_chip * link, rel=EXACT)


@pytest.mark.parametrize("name", CHIPS)
def test_chip_memory_totals(name):
    view = load_hardware(name)
    stacks = view.value("memories.hbm.stacks_count").value
    stack = view.value("memories.hbm.stack.bandwidth_bytes_per_s").value
    printed = view.value("memories.hbm.printed.chip_bandwidth_bytes_per_s").value
    # printed to two or three digits
    assert stacks * stack == pytest.approx(printed, rel=0.012)
    on_stack = view.value("memories.hbm.cores_per_stack_count").value
    assert stacks * on_stack == view.cores_per_chip


@pytest.mark.parametrize("name", CHIPS)
def test_on_chip_memories_are_partitions_times_size(name):
    view = load_hardware(name)
    for memory in ("sbuf", "psum"):
        size = view.value(f"memories.{memory}.partition_bytes").value
        count = view.value(f"memories.{memory}.partitions_count").value
        assert size * count == view.value(f"memories.{memory}.capacity_bytes").value
    banks = view.value("memories.psum.banks_count").value
    elements = view.value("memories.psum.bank_fp32_elements").value
    assert banks * elements * 4 == view.value("memories.psum.partition_bytes").value
    mib = {"trn1": 24, "inf2": 24, "trn2": 28, "trn3": 32}[name]
    assert view.value("memories.sbuf.capacity_bytes").value == mib * 2**20
    gib = {"trn1": 32, "inf2": 32, "trn2": 96, "trn3": 144}[name]
    assert view.value("memories.hbm.capacity_bytes").value == gib * 2**30


@pytest.mark.parametrize("name", ["trn2", "trn3"])
def test_lnc_changes_what_it_should_and_nothing_else(name):
    core, pair = load_hardware(name, lnc=1), load_hardware(name, lnc=2)
    assert pair.tensor_peak("bf16").value == 2 * core.tensor_peak("bf16").value
    for engine in ("vector", "scalar", "gpsimd"):
        assert pair.element_rate(engine).value == 2 * core.element_rate(engine).value
    for one, two in zip(
        (roof for roof in core.memory_roofs() if roof.resource == "dma"),
        (roof for roof in pair.memory_roofs() if roof.resource == "dma"),
        strict=True,
    ):
        assert two.value == (one.value if one.kind == "vendor" else 2 * one.value)
    stack = core.memory_roofs("theoretical")[0]
    assert stack.resource == "hbm"
    assert pair.memory_roofs("theoretical")[0].value == stack.value
    assert core.values == pair.values
    assert core.vendor_ridge() == pair.vendor_ridge()
    assert pair.tensor_peak("bf16", "vendor").value == core.tensor_peak("bf16").value


def test_an_idle_core_of_a_pair_leaves_the_rates_of_one():
    half, core = load_hardware("trn2", lnc=2, working_cores=1), load_hardware("trn2", lnc=1)
    assert [roof.value for roof in half.roofs()] == [roof.value for roof in core.roofs()]
    assert {roof.scope for roof in half.roofs("theoretical")} == {"logical core"}
    assert half.memory_ceiling().name == "DMA link"


def test_the_binding_ceiling_follows_from_the_working_cores():
    assert load_hardware("trn2", lnc=1).memory_ceiling().resource == "dma"
    assert load_hardware("trn2", lnc=2).memory_ceiling().resource == "hbm"
    assert load_hardware("trn1").memory_ceiling().resource == "hbm"
    assert load_hardware("trn1").memory_ceiling("sustained").resource == "dma"


def test_busy_neighbours_share_the_stack():
    alone = load_hardware("trn2", lnc=1)
    crowded = load_hardware("trn2", lnc=1, neighbours_busy=True)
    assert crowded.memory_ceiling().value == pytest.approx(358.4e9, rel=EXACT)
    assert crowded.memory_ceiling().resource == "hbm"
    assert crowded.memory_roofs("theoretical")[1] == alone.memory_roofs("theoretical")[1]
    # the pair has its stack for itself, and a core of trn1 too
    for name, lnc in (("trn2", 2), ("trn1", 1)):
        busy = load_hardware(name, lnc=lnc, neighbours_busy=True)
        assert busy.roofs() == load_hardware(name, lnc=lnc).roofs()


def test_measured_stack_rate_needs_every_core_of_the_stack():
    assert not [
        r for r in load_hardware("trn2", lnc=1).memory_roofs("measured") if r.resource == "hbm"
    ]
    pair = load_hardware("trn2", lnc=2)
    measured = [r for r in pair.memory_roofs("measured") if r.resource == "hbm"]
    assert measured[0].value < pair.memory_ceiling().value
    assert pair.memory_ceiling("measured").name == "HBM measured"


def test_spreads_scale_with_the_roof():
    core, pair = load_hardware("trn2", lnc=1), load_hardware("trn2", lnc=2)
    one = next(roof for roof in core.roofs("measured", "dma") if not roof.direction)
    two = next(roof for roof in pair.roofs("measured", "dma") if not roof.direction)
    assert (two.low, two.high) == (2 * one.low, 2 * one.high)
    for roof in (*core.roofs(), *pair.roofs()):
        assert (roof.low or roof.value) <= roof.value <= (roof.high or roof.value)
        assert roof.source
        assert roof.quality


def test_roofs_are_filtered():
    core = load_hardware("trn2", lnc=1)
    assert {roof.kind for roof in core.roofs()} == {
        "theoretical",
        "sustained",
        "measured",
        "vendor",
    }
    assert {roof.resource for roof in core.roofs(resource="DVE")} == {"vector"}
    assert {roof.dtype for roof in core.roofs(resource="tensor", dtype="bfloat16")} == {"bf16"}
    assert {roof.dtype for roof in core.roofs(dtype="sparse")} == {"", "sparse"}
    assert {roof.resource for roof in core.roofs(kind="sustained")} == {"dma"}


def test_unknown_rates_are_errors_and_not_zero():
    core, new = load_hardware("trn2", lnc=1), load_hardware("trn3")
    with pytest.raises(HardwareModelError, match=r"no Tensor rate for 'mxfp8'; known: bf16"):
        core.tensor_peak("mxfp8")
    with pytest.raises(HardwareModelError, match=r"no Tensor rate for 'int8'"):
        core.tensor_peak("int8")
    with pytest.raises(RooflineError, match="unknown dtype"):
        core.tensor_peak("bf17")
    with pytest.raises(HardwareModelError, match="scalar has no 4x mode; known: 1x"):
        core.element_rate("scalar", 4)
    with pytest.raises(HardwareModelError, match="tensor has no element rate"):
        core.element_rate("tensor")
    with pytest.raises(HardwareModelError, match=r"trn3: no measured rate of the DMA path"):
        new.memory_ceiling("measured")
    with pytest.raises(HardwareModelError, match=r"trn3: no value 'engines.tensor.measured"):
        new.tensor_peak("bf16", "measured")
    with pytest.raises(HardwareModelError, match="no roof of kind 'best'; known: theoretical"):
        core.memory_ceiling("best")
    with pytest.raises(HardwareModelError, match=r"trn2: no value 'dma.fixed.magic'"):
        core.value("dma.fixed.magic")
    with pytest.raises(HardwareModelError, match=r"trn2: no list 'dma.packet'"):
        core.series("dma.packet")


def test_best_element_rate_bounds_every_mix():
    core = load_hardware("trn2", lnc=1)
    # Vector at 4x, Scalar at 1x, GpSimd with 32 lanes of 16 bit a processor
    assert core.best_element_rate("bf16") == pytest.approx(
        (491.52 + 153.6 + 307.2) * 1e9, rel=EXACT
    )
    assert core.best_element_rate("fp32") == pytest.approx(
        (245.76 + 153.6 + 153.6) * 1e9, rel=EXACT
    )
    # named: no faster mode of another instruction
    tensor_tensor = core.best_element_rate("fp32", "tensor_tensor")
    assert tensor_tensor == pytest.approx((122.88 + 153.6 + 153.6) * 1e9, rel=EXACT)
    pair = load_hardware("trn2", lnc=2)
    assert pair.best_element_rate("bf16") == 2 * core.best_element_rate("bf16")
    trn1 = load_hardware("trn1")
    assert trn1.best_element_rate("fp32") == pytest.approx((143.36 + 2 * 179.2) * 1e9, rel=EXACT)
    for dtype in ("bf16", "fp32", "int8"):
        assert core.best_element_rate(dtype) >= sum(
            core.element_rate(engine).value for engine in ("vector", "scalar", "gpsimd")
        )
