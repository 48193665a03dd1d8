from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roofline.study.evaluate import evaluate, work_of
from roofline.study.load import load_study
from roofline.study.onset import fit_times


def test_rows_become_a_dataset_that_survives_a_file(tmp_path: Path) -> None:
    import xarray as xr

    result = evaluate(load_study("rmsnorm-2048xK"))
    data = result.to_dataset()
    assert data.sizes == {"row": 60}
    assert all("units" in variable.attrs for variable in data.data_vars.values())
    assert data["flop"].dtype == np.int64
    assert np.isnan(data["measured_intensity"]).all()  # no byte counter was published
    path = tmp_path / "study.nc"
    data.to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as back:
        assert back["time"].values.tolist() == data["time"].values.tolist()
        assert back["verdict"].values.tolist() == data["verdict"].values.tolist()
    wide = data.where(data["variant"] == "nki", drop=True)
    assert wide.sizes["row"] == 30


def test_chained_calls_multiply_work_and_not_minimal_bytes() -> None:
    study = load_study("rmsnorm-512x3072-bf16")
    one, chain = study.measurements[:2]
    config = study.configs[0]
    single = work_of(study, study.variants[0], config, one)
    many = work_of(study, study.variants[0], config, chain)
    assert many.total_flops == 28 * single.total_flops
    assert many.element_passes == 28 * single.element_passes
    assert many.minimal_bytes == single.minimal_bytes
    assert many.launches == 1
    assert many.measured_read_bytes == 3_272_720


def test_the_window_can_be_the_whole_profile() -> None:
    study = load_study("rmsnorm-512x3072-bf16")
    body, total = (evaluate(study, window=window).rows[0] for window in ("body", "total"))
    assert body.evidence.time_s == pytest.approx(38.37911e-6 * 0.902579)
    assert total.evidence.time_s == pytest.approx(38.37911e-6)
    assert body.evidence.resource("vector").active == pytest.approx(0.582291 / 0.902579)


def test_lines_through_the_curve_are_least_squares() -> None:
    fits = {fit.label: fit for fit in fit_times(evaluate(load_study("rmsnorm-2048xK")).rows)}
    eager = fits["eager, bf16"]
    # published fit over twenty columns: 21.8 us and 13.2 ps an element; here are ten of them
    assert eager.fixed_s == pytest.approx(21.8e-6, rel=0.03)
    assert eager.pace_s == pytest.approx(13.2e-12, rel=0.03)
    assert eager.n == 10
    assert eager.r2 > 0.99


def test_other_candidates_are_judged_too() -> None:
    result = evaluate(load_study("rmsnorm-4x512-bf16"))
    assert list(result.others) == ["trn3"]
    assert evaluate(load_study("rmsnorm-4x512-bf16"), hardware="inf2").hardware.name == "inf2"
