"""Files that call themselves the result of a sweep: read as one, or refused in one line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5netcdf
import numpy as np
import pytest
import xarray as xr

from roofline.errors import CaptureError, QueryError
from roofline.model.store import store
from roofline.model.stored import open_sweep, summarise
from roofline.model.stored_check import AXES, NEEDED
from roofline.model.sweep import dataset, plan
from roofline.report.sweep_report import sweep_json, sweep_report
from roofline.study.observe_sweep import observe_sweeps

GRID: dict[str, Any] = {"rows": "1:64:x4", "cols": "512,1024", "variant": ("fused", "eager")}

Change = Callable[[xr.Dataset], xr.Dataset]


@pytest.fixture(scope="module")
def swept() -> xr.Dataset:
    return dataset(plan("rmsnorm", **GRID))


def _with(name: str, values: Callable[[Any], Any]) -> Change:
    return lambda data: data.assign({name: (data[name].dims, values(data[name].values))})


def _sizes(values: Callable[[Any], Any]) -> Change:
    return lambda data: data.assign_coords(rows=values(data["rows"].values))


def _at(**values: list[Any]) -> Change:
    return lambda data: data.assign_coords(values)


REFUSED: dict[str, tuple[Change, str]] = {
    "text as a time": (_with("estimate", lambda v: v.astype(str)), "estimate holds .*not numbers"),
    "dates as a time": (_with("estimate", lambda v: v.astype("M8[ns]")), "not numbers"),
    "counts as a time": (_with("estimate", lambda v: v.astype("u8")), "estimate holds uint64"),
    "numbers as a bound": (_with("bound", lambda v: v * 0.5), "bound holds float64, not whole"),
    "a bound of no point": (
        lambda data: data.assign(bound=data["bound"].isel(rows=0, drop=True)),
        "bound has the dimensions hardware, dtype, variant, cols, not",
    ),
    "a time of no point": (lambda data: data.assign(estimate=1.0), "hardware is no dimension"),
    "one size twice": (_sizes(np.ones_like), "a size stands twice on rows"),
    "sizes that are text": (_sizes(lambda v: v.astype(str)), "sizes rows are .*not whole"),
    "sizes that are no numbers": (_sizes(lambda v: v * np.nan), "sizes rows are float64"),
    "sizes below one": (_sizes(lambda v: -v), "each is at least 1"),
    "sizes beyond 64 bits": (
        _sizes(lambda v: v.astype("u8") + np.uint64(2**63)),
        "each is at least 1",
    ),
    "no sizes": (lambda data: data.drop_vars("rows"), "dimension rows has no sizes"),
    "no points": (lambda data: data.isel(rows=slice(0, 0)), "a sweep without points"),
    "one variant twice": (_at(variant=["x", "x"]), "a name stands twice on variant"),
    "numbered variants": (_at(variant=[1, 2]), "variant holds int64, not names"),
    "one variant and no axis": (lambda data: data.isel(variant=0), "variant is no dimension"),
    **{
        f"no {name}": (lambda data, name=name: data.drop_vars(name), f"it lacks {name}")
        for name in (*AXES, *NEEDED)
    },
}


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_sweep_is_refused_by_what_is_wrong(
    swept: xr.Dataset, tmp_path: Path, what: str, suffix: str
) -> None:
    change, said = REFUSED[what]
    with pytest.raises(QueryError, match=said) as refused:
        open_sweep(_written(change(swept), tmp_path / f"s{suffix}"))
    assert "\n" not in str(refused.value)


def _written(data: xr.Dataset, path: Path) -> Path:
    if path.suffix == ".zarr":
        data.to_zarr(path, zarr_format=2)
    else:
        data.to_netcdf(path, engine="h5netcdf")
    return path


def test_the_order_of_dimensions_and_odd_units_change_nothing(
    swept: xr.Dataset, tmp_path: Path
) -> None:
    odd = swept.assign(estimate=swept["estimate"].transpose("rows", "cols", ...))
    odd["estimate"].attrs["units"] = "days since 2000-01-01"
    odd["bound"] = odd["bound"].transpose("cols", ...)
    odd["note"] = odd["bound"].astype(str)
    path, plain = _written(odd, tmp_path / "odd.nc"), _written(swept, tmp_path / "s.nc")
    assert summarise(open_sweep(path)) == summarise(open_sweep(plain))
    assert (
        sweep_json(sweep_report(str(path)))["rows"] == sweep_json(sweep_report(str(plain)))["rows"]
    )


def test_codes_that_name_nothing_and_shares_that_are_unknown_are_no_figures(
    swept: xr.Dataset, tmp_path: Path
) -> None:
    odd = swept.copy(deep=True)
    odd["bound"][:] = 99
    odd["side"][:] = 99
    odd["percent_of_roof"][:] = np.nan
    odd.attrs["lnc"] = "trn2=x=y trn2=² nothing"
    path = _written(odd, tmp_path / "s.nc")
    found = sweep_json(sweep_report(str(path)))
    json.dumps(found, allow_nan=False)
    assert {(row["bound"], row["side"]) for row in found["rows"]} == {(None, None)}
    assert found["series"][0]["extremes"]["fastest"]["percent_of_roof"] is None
    (run,) = observe_sweeps([path])
    assert {one.lnc for one in run.observed} == {None}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_damage_anywhere_in_a_file_is_no_internal_error(swept: xr.Dataset, tmp_path: Path) -> None:
    whole = _written(swept, tmp_path / "s.nc").read_bytes()
    generator = np.random.default_rng(5)
    refused = 0
    for number in range(60):
        damaged = np.frombuffer(whole, np.uint8).copy()
        places = generator.integers(0, len(whole) if number % 2 else 4000, 20)
        damaged[places] = generator.integers(0, 256, 20)
        path = tmp_path / "damaged.nc"
        path.write_bytes(damaged.tobytes()[: None if number % 3 else len(whole) * number // 60])
        try:
            json.dumps(sweep_json(sweep_report(str(path))), allow_nan=False)
        except (QueryError, CaptureError, OSError):
            refused += 1
    assert refused > 20


def test_a_claim_of_more_points_than_bytes_can_hold_is_refused(tmp_path: Path) -> None:
    path, side = tmp_path / "s.nc", 100_000
    dims = {**dict.fromkeys(AXES, 1), "rows": side, "cols": side}
    with h5netcdf.File(path, "w") as file:
        file.dimensions = dims
        for name in NEEDED:
            kind = "i1" if name == "bound" else "f8"
            file.create_variable(name, tuple(dims), kind, chunks=(1, 1, 1, 1000, 1000))
        for axis in AXES:
            file.create_variable(axis, (axis,), h5netcdf.core.h5py.string_dtype())[...] = ["x"]
        for size in ("rows", "cols"):
            file.create_variable(size, (size,), "i8")[...] = np.arange(1, side + 1)
        file.attrs["op"] = "rmsnorm"
    with pytest.raises(QueryError, match="claims 10000000000 points in"):
        open_sweep(path)


def _pipe(folder: Path) -> None:
    chunk = next(folder.glob("estimate/[0-9]*"))
    chunk.unlink()
    os.mkfifo(chunk)


def _endless(folder: Path) -> None:
    chunk = next(folder.glob("estimate/[0-9]*"))
    chunk.unlink()
    chunk.symlink_to("/dev/zero")


def _cut(folder: Path) -> None:
    for chunk in folder.glob("estimate/[0-9]*"):
        chunk.write_bytes(chunk.read_bytes()[:5])


def _log(folder: Path) -> None:
    log = folder / "roofline-blocks-done"
    log.write_text(log.read_text() + "²\n99999\n")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_pipe, "no regular file"),
        (_endless, "no regular file"),
        (_cut, "cannot be decoded"),
        (lambda folder: (folder / ".zmetadata").write_text("["), "cannot be"),
        (lambda folder: (folder / ".zmetadata").write_text("null"), "cannot be"),
    ],
)
def test_a_damaged_store_is_refused(
    tmp_path: Path, damage: Callable[[Path], Any], said: str
) -> None:
    path = tmp_path / "s.zarr"
    store(plan("rmsnorm", **GRID), path)
    damage(path)
    with pytest.raises((QueryError, CaptureError), match=said):
        sweep_report(str(path))
    with pytest.raises((QueryError, CaptureError), match=said):
        observe_sweeps([path])


def test_a_store_goes_on_only_from_blocks_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "s.zarr"
    store(plan("rmsnorm", **GRID), path)
    _log(path)
    with pytest.raises(QueryError, match="'²' is none of 1 blocks"):
        store(plan("rmsnorm", **GRID), path)
    (tmp_path / "file.zarr").write_text("x")
    with pytest.raises(QueryError, match="is a Zarr store, which is a folder"):
        store(plan("rmsnorm", **GRID), tmp_path / "file.zarr")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.nc")
    with pytest.raises(QueryError, match="is a netCDF file, and this is none"):
        open_sweep(tmp_path / "s.nc")
