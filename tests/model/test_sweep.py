"""Sweeps against single estimates, brute force, and what cannot be swept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.analysis.verdict import LABELS
from roofline.errors import HardwareModelError, QueryError, WorkError
from roofline.hardware.load import load_hardware
from roofline.model.crossover import crossovers
from roofline.model.estimate import estimate
from roofline.model.grid import parse_condition, parse_sizes
from roofline.model.pareto import pareto
from roofline.model.points import STATUS
from roofline.model.polynomial import fit_counts
from roofline.model.schedule import VARIANTS
from roofline.model.store import store
from roofline.model.sweep import dataset, plan, sweep
from roofline.model.whatif import change, find_path, sensitivity
from roofline.work.closed_form import closed_form, families, family
from roofline.work.registry import formula_names


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("512", [512]),
        ("4,1,2,2", [1, 2, 4]),
        ("1:16:x2", [1, 2, 4, 8, 16]),
        ("3:20:x3", [3, 9]),
        ("512:1600:+512", [512, 1024, 1536]),
        ("1:4", [1, 2, 3, 4]),
        ("1,8:32:x2,100", [1, 8, 16, 32, 100]),
    ],
)
def test_sizes(text: str, sizes: list[int]) -> None:
    assert parse_sizes(text, "rows").tolist() == sizes


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-4",
        "1:8:x1",
        "8:1",
        "0:8",
        "1:8:+0",
        "a",
        "",
        "1:9:*2",
        "1.5",
        "9" * 30,
        "1:1000000000000",
    ],
)
def test_sizes_that_make_no_sense(text: str) -> None:
    with pytest.raises(QueryError, match="rows"):
        parse_sizes(text, "rows")


@pytest.mark.parametrize("given_sizes", [[0], [-1], [1.5], [True], [], 0])
def test_numbers_that_make_no_sense(given_sizes: object) -> None:
    with pytest.raises(QueryError, match="rows"):
        parse_sizes(given_sizes, "rows")  # type: ignore[arg-type]


def test_conditions_are_arithmetic_and_nothing_else() -> None:
    condition = parse_condition("rows * cols <= 2**4 and not cols % 2 == 1", ["rows", "cols"])
    sizes = {"rows": np.array([1, 4, 9]), "cols": np.array([2, 3, 4])}
    assert condition(sizes).tolist() == [True, False, False]
    for text in ("__import__('os')", "rows.real", "depth < 3", "rows <", "rows in cols", "[1]"):
        with pytest.raises(QueryError, match="condition"):
            parse_condition(text, ["rows", "cols"])


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(-(10**9), 10**9), max_size=6
    ),
    st.integers(1, 10**4),
    st.integers(1, 10**4),
)
def test_polynomials_are_found_exactly(
    terms: dict[tuple[int, int], int], rows: int, cols: int
) -> None:
    def count(rows: int, cols: int) -> dict[str, int]:
        return {"n": sum(c * rows**i * cols**j for (i, j), c in terms.items())}

    found = fit_counts(count, ["rows", "cols"])["n"]
    assert found.terms == {p: float(c) for p, c in terms.items() if c}
    expected = count(rows, cols)["n"]
    size = max(sum(abs(c) * rows**i * cols**j for (i, j), c in terms.items()), 1)
    assert float(found({"rows": rows, "cols": cols})) == pytest.approx(expected, abs=1e-12 * size)


def test_what_is_no_polynomial_is_refused() -> None:
    with pytest.raises(QueryError, match="no polynomial"):
        fit_counts(lambda n: {"ops": n**3}, ["n"])
    with pytest.raises(QueryError, match="no polynomial"):
        fit_counts(lambda n: {"ops": n.bit_length()}, ["n"])


@pytest.mark.parametrize("name", families())
def test_every_closed_form_sweeps_as_it_is_estimated(name: str) -> None:
    entry = family(name)
    dims = {s: [100 + 7 * i, 333] for i, s in enumerate(entry.sizes) if s not in entry.defaults}
    data = sweep(
        name, hardware=["trn1", "trn2"], dtype=["bf16", "fp32"],
        variant=["eager", "fused", "nki"], terms=True, **dims,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(6):
        at = {dim: rng.integers(size) for dim, size in data.sizes.items()}
        point = data.isel(at)
        sizes = {dim: int(point[dim]) for dim in dims}
        variant, dtype = str(point["variant"].values), str(point["dtype"].values)
        work = closed_form(name, dtype=dtype, variant=VARIANTS[variant][0], **sizes)
        one = estimate(work, load_hardware(str(point["hardware"].values)), variant=variant)
        assert float(point["estimate"]) == pytest.approx(one.time_s, rel=1e-9)
        assert float(point["estimate_low"]) == pytest.approx(one.low_s, rel=1e-9)
        assert float(point["estimate_high"]) == pytest.approx(one.high_s, rel=1e-9)
        assert float(point["lower_bound"]) == pytest.approx(one.lower_bound_s, rel=1e-9)
        assert float(point["schedule_bound"]) == pytest.approx(one.schedule_bound_s, rel=1e-9)
        assert LABELS[int(point["bound"])] == one.bound
        assert ("memory", "compute")[int(point["side"])] == one.side
        assert float(point["minimal_bytes"]) == work.minimal_bytes
        assert float(point["flops"]) == work.total_flops
        for term, value in one.terms_s.items():
            assert float(point[f"term_{term}"]) == pytest.approx(value, rel=1e-9, abs=1e-15)


def test_results_are_labelled_and_saved(tmp_path: Path) -> None:
    import xarray as xr

    data = sweep("rmsnorm", rows=[128, 256], cols="512:2048:x2", hardware=["trn2", "trn3"])
    assert data["estimate"].dims == ("hardware", "dtype", "variant", "rows", "cols")
    assert data["estimate"].attrs["units"] == "s"
    assert data["intensity"].attrs["units"] == "FLOP/B"
    assert "hbm:bandwidth" in data["bound"].attrs["flag_meanings"]
    assert data.attrs["clock"] == "device_execution"
    assert (data["status"].sel(hardware="trn3") & STATUS["inferred"] > 0).all()
    assert not (data["status"].sel(hardware="trn2") & STATUS["inferred"] > 0).any()
    data.to_netcdf(tmp_path / "out.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as again:
        xr.testing.assert_equal(again, data)


def test_registered_operators_sweep_by_name() -> None:
    done = 0
    for name in formula_names():
        try:
            data = sweep(name, n=[4096, 2**22], variables=("estimate", "lower_bound"))
        except (QueryError, WorkError):
            continue  # it takes more than one operand, or is free
        assert np.isfinite(data["estimate"]).all()
        assert (data["lower_bound"] <= data["estimate"]).all()
        done += 1
    assert done > 80
    several = sweep("layer_norm", shape="x[rows,cols] w[cols] b[cols]", rows=[128, 2048], cols=512)
    assert several["minimal_bytes"].values.ravel().tolist() == [
        2 * (2 * rows * 512 + 2 * 512) for rows in (128, 2048)
    ]


def test_a_torch_function_sweeps() -> None:
    torch = pytest.importorskip("torch")

    def normed(x, weight, scale):
        return torch.nn.functional.rms_norm(x, (x.shape[-1],), weight) * scale

    data = sweep(
        normed, shape="x[rows,cols] weight[cols]", arguments={"scale": 2.0},
        variant=["eager", "fused"], rows=[256, 300], cols=[1024, 1500],
    )  # fmt: skip
    assert data.attrs["op"] == "normed"
    one = data.sel(rows=300, cols=1500, variant="fused", hardware="trn2", dtype="bf16")
    assert float(one["minimal_bytes"]) == 2 * (2 * 300 * 1500 + 1500)
    # two launches against one
    assert (data["estimate"].sel(variant="eager") > data["estimate"].sel(variant="fused")).all()


def test_points_that_cannot_be_are_marked_not_silent() -> None:
    data = sweep(
        "matmul", hardware=["trn2", "trn3"], dtype=["bf16", "mxfp8"],
        m=[128, 1000], n=128, k=[128, 10**12], conditions=["m * k <= 2**17"],
    )  # fmt: skip
    status = data["status"]
    assert int(status.sel(hardware="trn2", dtype="mxfp8", m=128, k=128).squeeze()) == 8
    assert np.isnan(data["estimate"].sel(hardware="trn2", dtype="mxfp8")).all()
    assert int(status.sel(hardware="trn3", dtype="mxfp8", m=128, k=128).squeeze()) & 8 == 0
    excluded = status.sel(m=1000) & STATUS["excluded"] > 0
    assert not excluded.sel(k=128).any()
    assert excluded.sel(k=10**12).all()
    assert np.isnan(data["estimate"]).values[(data["status"] & (8 | 16) > 0).values].all()
    kept = (data["status"] & (8 | 16) == 0).values
    assert np.isfinite(data["estimate"].values[kept]).all()
    assert "mxfp8" in data.attrs["problems"]
    huge = sweep("rmsnorm", rows=2, cols=10**18)
    assert np.isfinite(huge["estimate"]).all()
    assert int(huge["status"].squeeze()) & STATUS["larger-than-hbm"]
    assert int(huge["status"].squeeze()) & STATUS["extrapolated"]


@pytest.mark.parametrize(
    ("settings_", "error", "what"),
    [
        ({"rows": 1}, QueryError, "give cols"),
        ({"rows": 1, "cols": 1, "depth": 1}, QueryError, "no dimension depth"),
        ({"rows": 0, "cols": 1}, QueryError, "at least 1"),
        ({"rows": 1, "cols": 1, "dtype": ["bf17"]}, WorkError, "unknown dtype"),
        ({"rows": 1, "cols": 1, "hardware": ["trn9"]}, HardwareModelError, "trn9"),
        ({"rows": 1, "cols": 1, "variant": ["magic"]}, QueryError, "unknown variant"),
        ({"rows": 1, "cols": 1, "variables": ["speed"]}, QueryError, "no variable speed"),
        ({"rows": 1, "cols": 1, "dtype": ["bf16", "bfloat16"]}, QueryError, "given twice"),
        ({"rows": 1, "cols": 1, "clock": "sundial"}, QueryError, "sundial"),
    ],
)
def test_mistakes(settings_: dict, error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        sweep("rmsnorm", **settings_)


def test_more_mistakes() -> None:
    with pytest.raises(QueryError, match=r"unknown operator 'rmsnrm'.*rmsnorm"):
        sweep("rmsnrm", n=4)
    with pytest.raises(HardwareModelError, match="no Tensor rate for 'mxfp4'"):
        sweep("matmul", dtype="mxfp4", m=8, n=8, k=8)
    with pytest.raises(QueryError, match="no dimension deep"):
        sweep("relu", n=[1, 2], chunks={"deep": 1})


def test_crossovers_are_the_first_size_with_the_new_bound() -> None:
    ready = plan(
        "rmsnorm", dtype=["bf16", "fp32"], variant=["fused", "nki"], rows=[512, 2048],
        cols="64:16384:x4",
    )  # fmt: skip
    found = crossovers(ready, "cols")
    assert found
    hardware = load_hardware("trn2")
    for one in found:
        for size, label in ((one.at - 1, one.before), (one.at, one.after)):
            work = closed_form("rmsnorm", dtype=one.dtype, variant="fused", cols=size, **one.sizes)
            assert estimate(work, hardware, variant=one.variant).bound == label
        if one.before == "overhead:device-start":
            assert one.low is None or one.low <= one.at
            assert one.high is None or one.high >= one.at
    with pytest.raises(QueryError, match="no dimension 'depth'"):
        crossovers(ready, "depth")


def test_the_crossover_flag_against_neighbours() -> None:
    data = sweep("rmsnorm", rows="128:4096:x2", cols="64:8192:x2", variant=["fused", "nki"])
    bound, flag = data["bound"].values[0, 0], data["crossover"].values[0, 0]
    assert flag.any()
    for v, i, j in np.ndindex(bound.shape):
        up = i > 0 and bound[v, i, j] != bound[v, i - 1, j]
        left = j > 0 and bound[v, i, j] != bound[v, i, j - 1]
        assert flag[v, i, j] == (up or left)
    lazy = sweep("rmsnorm", rows="128:4096:x2", cols="64:8192:x2", variant=["fused", "nki"],
                 chunks={"rows": 2})  # fmt: skip
    np.testing.assert_array_equal(lazy["crossover"].values[0, 0], flag)


def test_chunked_and_whole_agree() -> None:
    ready = plan("softmax", dtype=["fp32"], rows="1:40", cols="1:50", terms=True)
    whole = dataset(ready)
    lazy = dataset(ready, chunks={"rows": 7})
    assert lazy["estimate"].chunks is not None
    for name in whole:
        np.testing.assert_array_equal(whole[name].values, lazy[name].compute().values)


def test_a_stopped_store_goes_on_where_it_stopped(tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise Stopped

    ready = plan("relu", dtype=["bf16", "fp32"], n="1:1000")
    path = tmp_path / "out.zarr"
    with pytest.raises(Stopped):
        store(ready, path, chunks={"n": 100}, progress=stop)
    later: list[int] = []
    data = store(ready, path, chunks={"n": 100}, progress=lambda done, total: later.append(done))
    assert later == list(range(4, 11))
    whole = dataset(ready)
    for name in whole:
        np.testing.assert_array_equal(whole[name].values, data[name].values)
    with pytest.raises(QueryError, match="another sweep"):
        store(plan("relu", n="1:999"), path, chunks={"n": 100})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(QueryError, match="no store of a sweep"):
        store(ready, tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep"


@pytest.mark.slow
def test_a_cluster_gives_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    ready = plan("relu", dtype=["bf16"], n="1:400")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False
    ) as cluster:
        data = store(
            ready, tmp_path / "out.zarr", chunks={"n": 100}, scheduler=cluster.scheduler_address
        )
    np.testing.assert_array_equal(data["estimate"].values, dataset(ready)["estimate"].values)


def test_the_front_against_every_pair() -> None:
    data = sweep("rmsnorm", rows="1:512:x2", cols="64:4096:x2", dtype=["bf16"])
    front = pareto(data).values.ravel()
    cost, worth = data["estimate"].values.ravel(), data["minimal_bytes"].values.ravel()
    for i in range(len(cost)):
        beaten = (cost <= cost[i]) & (worth >= worth[i]) & ((cost < cost[i]) | (worth > worth[i]))
        assert front[i] == (not beaten.any())


def test_what_if_and_sensitivity() -> None:
    hardware = load_hardware("trn2")
    path = "memories.hbm.stack.bandwidth_bytes_per_s"
    assert find_path(hardware, "memories.hbm.bandwidth") == path
    assert change(hardware, "memories.hbm.bandwidth", "*1.5").value(path).value == 1.5 * 716.8e9
    assert change(hardware, path, "800e9").value(path).value == 800e9
    with pytest.raises(HardwareModelError, match="no value"):
        change(hardware, "memories.moon.bandwidth", "*2")
    with pytest.raises(HardwareModelError, match="may be"):
        find_path(hardware, "clock_hz")
    with pytest.raises(QueryError, match=r"write \*1.5"):
        change(hardware, path, "much more")
    with pytest.raises(HardwareModelError, match="positive"):
        change(hardware, path, "-1e15")
    stream = closed_form("relu", n=2**26, dtype="bf16", variant="fused")
    first, *rest = sensitivity(stream, hardware)
    assert first.roof == "HBM bandwidth"
    # the streaming part gains, until the DMA path of two cores (2 x 16 x 23 GB/s) binds instead
    one = estimate(stream, hardware)
    rate = 2**28 / one.terms_s["dma"]
    assert rate < 736e9 < 1.1 * rate
    assert first.saved_s == pytest.approx(one.terms_s["dma"] * (1 - rate / 736e9), rel=1e-6)
    assert all(gain.saved_s >= 0 for gain in rest)
    faster = sweep("relu", n=2**26, changes={"memories.hbm.bandwidth": "*1.1"})
    assert float(faster["estimate"].squeeze()) == pytest.approx(first.time_s, rel=1e-12)
