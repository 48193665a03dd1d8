from __future__ import annotations

import pytest

from roofline.hardware.load import load_hardware

# every figure below is exact arithmetic on clocks and widths, or printed by the vendor to the
# digits given: tolerances are float rounding, or half a unit of the last printed digit
EXACT = {"rel": 1e-12}


def test_trn2_peaks_are_array_times_clock():
    core = load_hardware("trn2", lnc=1)
    assert core.tensor_peak("bf16").value == pytest.approx(128 * 128 * 2 * 2.4e9, **EXACT)
    assert core.tensor_peak("bf16").value == pytest.approx(78.6432e12, **EXACT)
    assert core.tensor_peak("fp32").value == pytest.approx(19.6608e12, **EXACT)
    assert core.tensor_peak("fp8").value == pytest.approx(157.2864e12, **EXACT)
    assert load_hardware("trn2").tensor_peak("bf16").value == pytest.approx(157.2864e12, **EXACT)


def test_trn2_memory_ceilings_and_ridges():
    core, pair = load_hardware("trn2", lnc=1), load_hardware("trn2", lnc=2)
    assert core.memory_ceiling().value == pytest.approx(435.2e9, **EXACT)
    assert core.memory_ceiling().resource == "dma"
    assert pair.memory_ceiling().value == pytest.approx(716.8e9, **EXACT)
    assert pair.memory_ceiling().resource == "hbm"
    assert core.ridge("bf16") == pytest.approx(180.7, abs=0.05)
    assert core.ridge("bf16", "sustained") == pytest.approx(213.7, abs=0.05)
    assert pair.ridge("bf16") == pytest.approx(219.4, abs=0.05)
    assert core.vendor_ridge() == pair.vendor_ridge() == pytest.approx(109.84, abs=0.005)
