"""Summaries of stored sweeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from roofline.analysis.verdict import LABELS
from roofline.model import stored
from roofline.model.stored import open_sweep, summarise
from roofline.model.sweep import dataset, plan


@pytest.fixture(scope="module")
def swept() -> xr.Dataset:
    ready = plan(
        "rmsnorm", rows="1:16384:x4", cols="512:8192:x2", hardware=("trn2", "trn3"),
        dtype=("bf16",), variant=("fused", "eager"),
    )  # fmt: skip
    return dataset(ready)


@pytest.fixture
def path(swept: xr.Dataset, tmp_path: Path) -> Path:
    found = tmp_path / "sweep.nc"
    swept.to_netcdf(found, engine="h5netcdf")
    return found


def test_best_and_worst_are_those_of_the_values(swept: xr.Dataset, path: Path) -> None:
    for one in summarise(open_sweep(path)):
        part = swept.sel(hardware=one.hardware, dtype=one.dtype, variant=one.variant)
        times = part["estimate"].values
        assert one.points == times.size
        assert one.extremes["fastest"].estimate_s == times.min()
        assert one.extremes["slowest"].estimate_s == times.max()
        best = one.extremes["best"]
        assert best.percent_of_roof == part["percent_of_roof"].values.max()
        at = part.sel(best.sizes)
        assert float(at["estimate"]) == best.estimate_s
        assert LABELS[int(at["bound"])] == best.bound
        assert sum(one.bounds.values()) == times.size


def test_changes_of_bound_are_every_step_along_the_longest_size(
    swept: xr.Dataset, path: Path
) -> None:
    for one in summarise(open_sweep(path)):
        assert one.along == "rows"
        part = swept.sel(hardware=one.hardware, dtype=one.dtype, variant=one.variant)
        codes = part["bound"].transpose("cols", "rows").values
        found = {}
        for line in codes:
            for at in range(1, len(line)):
                if line[at] != line[at - 1]:
                    key = (LABELS[line[at - 1]], LABELS[line[at]])
                    found.setdefault(key, []).append(int(part["rows"].values[at]))
        assert one.changes == {
            key: (len(firsts), min(firsts), max(firsts)) for key, firsts in found.items()
        }


def test_blocks_change_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = summarise(open_sweep(path))
    monkeypatch.setattr(stored, "_BLOCK", 3)
    pieces = summarise(open_sweep(path))
    assert [(one.key, one.bounds, one.changes) for one in pieces] == [
        (one.key, one.bounds, one.changes) for one in whole
    ]
    assert [one.extremes["best"].percent_of_roof for one in pieces] == [
        one.extremes["best"].percent_of_roof for one in whole
    ]


def test_points_without_a_time_are_counted_apart(swept: xr.Dataset, tmp_path: Path) -> None:
    holed = swept.copy(deep=True)
    holed["estimate"][0, 0, 0, :2, :] = np.nan
    holed["bound"][0, 0, 0, :2, :] = -1
    holed.to_netcdf(tmp_path / "holed.nc", engine="h5netcdf")
    first = summarise(open_sweep(tmp_path / "holed.nc"))[0]
    assert first.empty == 2 * swept.sizes["cols"]
    assert "unknown" not in first.bounds


def test_a_store_is_read_like_a_file(swept: xr.Dataset, path: Path, tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    pytest.importorskip("dask")
    swept.to_zarr(tmp_path / "sweep.zarr", zarr_format=2, consolidated=True)
    assert summarise(open_sweep(tmp_path / "sweep.zarr")) == summarise(open_sweep(path))
