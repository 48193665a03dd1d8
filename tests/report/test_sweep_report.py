from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from roofline.cli.main import main
from roofline.errors import QueryError
from roofline.plots.draw import draw, save
from roofline.plots.figure import Figure
from roofline.plots.table import figure_from_csv
from roofline.report.blocks import Table
from roofline.report.run import report
from roofline.report.sweep_figures import sweep_figures
from roofline.report.sweep_report import sweep_report
from roofline.report.sweep_summary import ratios
from roofline.units import format_span, format_time


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


@pytest.fixture(scope="module", params=[".nc", ".zarr"])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / f"s{request.param}"
    sizes = ("--rows", "128,2048", "--cols", "512:4096:x2")
    assert run("sweep", "rmsnorm", *sizes, "--dtype", "bf16,fp32", "-o", str(path)) == 0
    return path


def test_every_point_of_a_sweep_is_in_its_report(stored: Path, tmp_path: Path) -> None:
    text = "".join(report([str(stored)], output=tmp_path / "out"))
    assert "Sweep of rmsnorm" in text
    found = sweep_report(str(stored))
    assert len(found.rows) == found.total
    lines = (tmp_path / "out" / "points.csv").read_text("utf-8").splitlines()
    assert len(lines) == found.total + 1
    data = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert data["kind"] == "sweep"
    assert len(data["rows"]) == found.total
    for row in data["rows"]:  # percent of roof is what the model says it is
        share = row["lower_bound"] / row["estimate"] * 100
        assert row["percent_of_roof"] == pytest.approx(share, rel=1e-9)
    root = Path(__file__).parents[2]
    schema = json.loads((root / "docs" / "schema" / "sweep-1.json").read_text("utf-8"))
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(schema).validate(data)
    assert "Best and worst" in text
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "<img" not in page
    for figure, _ in sweep_figures(found.data):
        assert f'data-panel="{figure.key}"' in page
        written = (tmp_path / "out" / f"{figure.key}.csv").read_text("utf-8")
        assert figure_from_csv(written) == figure
        save(figure_from_csv(written), tmp_path / "again.svg")
        drawn = (tmp_path / "out" / f"{figure.key}.svg").read_bytes()
        assert (tmp_path / "again.svg").read_bytes() == drawn
        assert all((tmp_path / "out" / f"{figure.key}.{form}").exists() for form in ("png", "pdf"))


def test_what_is_no_sweep_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.nc").write_bytes(b"not a sweep")
    assert run("report", str(tmp_path / "x.nc"), "-o", str(tmp_path / "out")) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
    with pytest.raises(QueryError, match="no such"):
        sweep_report(str(tmp_path / "none.nc"))


def figures(tmp_path: Path, *args: str) -> dict[str, Figure]:
    path = tmp_path / "sweep.nc"
    assert run("sweep", *args, "-o", str(path)) == 0
    return {figure.key: figure for figure, _ in sweep_figures(sweep_report(str(path)).data)}


def test_a_folder_holds_the_result_and_the_report_of_it(tmp_path: Path) -> None:
    assert run("sweep", "rmsnorm", "--rows", "128,256", "--cols", "512", "-o",
               str(tmp_path / "one")) == 0  # fmt: skip
    "".join(report([str(tmp_path / "one" / "sweep.nc")], output=tmp_path / "two"))
    first = {path.name: path for path in (tmp_path / "one").iterdir()}
    second = {path.name: path for path in (tmp_path / "two").iterdir()}
    assert set(first) - set(second) == {"sweep.nc"}
    for name, path in second.items():
        assert path.read_bytes() == first[name].read_bytes(), name


def test_each_chip_has_its_roofline_and_each_series_its_map(tmp_path: Path) -> None:
    found = figures(tmp_path, "rmsnorm", "--rows", "128,256", "--cols", "512,1024,4096",
                    "--hw", "trn2,trn1", "--variant", "fused,eager")  # fmt: skip
    assert list(found) == ["roofline-trn2", "roofline-trn1", "heat", "bounds", "curves"]
    assert [title for _, title, _ in found["heat"].groups] == [
        f"{chip} bf16 {variant}" for chip in ("trn2", "trn1") for variant in ("fused", "eager")
    ]
    rows = sweep_report(str(tmp_path / "sweep.nc")).rows
    assert len(found["heat"].cells) == len(found["bounds"].cells) == len(rows) == 24
    for cell, bound, row in zip(found["heat"].cells, found["bounds"].cells, rows, strict=True):
        assert (cell.x, cell.y) == (row["cols"], row["rows"])
        assert cell.value == row["percent_of_roof"]
        assert bound.tone == row["bound"]
        assert row["status"] in dict(cell.detail)["estimate"]
        assert cell.left < cell.x < cell.right
    assert found["heat"].x.ticks == (512.0, 1024.0, 4096.0)
    # cells leave no gap: each begins where the one before ends
    across = [cell for cell in found["heat"].cells if cell.row == 0 and cell.y == 128]
    assert [cell.right for cell in across[:-1]] == [cell.left for cell in across[1:]]


@pytest.mark.parametrize(
    ("args", "keys"),
    [
        (("rmsnorm", "--rows", "128", "--cols", "512"), []),
        (("rmsnorm", "--rows", "128:1024:x2", "--cols", "512"), ["curves", "trajectory"]),
        (("matmul", "--m", "128,512", "--k", "512,1024", "--n", "512,2048", "--hw", "trn3"),
         ["heat", "bounds", "curves"]),
        (("copy", "--rows", "1024:8192:x2", "--cols", "512"), None),
    ],
)  # fmt: skip
def test_odd_sweeps_have_the_figures_that_they_can(
    tmp_path: Path, args: tuple[str, ...], keys: list[str] | None
) -> None:
    found = figures(tmp_path, *args)
    if keys is None:  # nothing is computed: no point on a roofline
        assert list(found) == ["curves"]
    else:
        chip = "trn3" if "trn3" in args else "trn2"
        assert list(found) == [f"roofline-{chip}", *keys]
    if "heat" in found:
        assert "at k" in found["heat"].subtitle or "at n" in found["heat"].subtitle
    for figure in found.values():
        save(figure, tmp_path / "a.svg")


def test_points_without_a_model_are_named_and_leave_gaps(tmp_path: Path) -> None:
    found = figures(tmp_path, "rmsnorm", "--rows", "128:1024:x2", "--cols", "512,1024",
                    "--where", "rows != 256")  # fmt: skip
    gone = [cell for cell in found["bounds"].cells if cell.y == 256]
    assert {cell.tone for cell in gone} == {"none"}
    assert all("excluded" in dict(cell.detail)["status"] for cell in gone)
    curves = [curve for curve in found["curves"].curves if curve.role == "model"]
    assert [curve.x for curve in curves] == [(128.0,), (512.0, 1024.0)]
    for key in ("heat", "bounds"):
        assert "not modelled" in [text.get_text() for text in draw(found[key]).labels]


def test_large_sweeps_are_drawn_in_part_and_say_so(tmp_path: Path) -> None:
    found = figures(tmp_path, "rmsnorm", "--rows", "1:400:+1", "--cols", "1:400:+1")
    assert len(found["heat"].cells) <= 10_000
    assert any("of 400 rows" in note for note in found["heat"].notes)
    assert found["heat"].x.scale == found["curves"].x.scale == "linear"  # sizes in even steps
    assert "drawn are" not in " ".join(found["curves"].notes)  # one line of 400 is whole


def test_chips_dtypes_and_variants_are_held_against_each_other(tmp_path: Path) -> None:
    out = tmp_path / "s.nc"
    assert run("sweep", "rmsnorm", "--rows", "128,4096", "--cols", "512,2048", "--hw", "trn2,trn1",
               "--dtype", "bf16,fp32", "--variant", "fused,naive", "-o", str(out)) == 0  # fmt: skip
    estimates = sweep_report(str(out)).data["estimate"]
    (_, table) = ratios(estimates)
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["hardware", "dtype", "variant"]
    for axis, what, middle, low, high in table.rows:
        other, first = what.split(" against ")
        exact = (estimates.sel({axis: other}) / estimates.sel({axis: first})).values
        shown = [float(cell.removesuffix("x")) for cell in (middle, low, high)]
        assert shown == pytest.approx([np.median(exact), exact.min(), exact.max()], rel=0.01)
    assert list(ratios(estimates.isel(hardware=[0], dtype=[0], variant=[0]))) == []


def test_many_points_are_printed_series_by_series_within_their_width(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("sweep", "rmsnorm", "--rows", "128:8192:x2", "--cols", "512:8192:x2", "--hw",
               "trn2,trn1", "--dtype", "bf16,fp32", "--variant", "fused,naive") == 0  # fmt: skip
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for series in ("trn2 bf16 fused", "trn1 fp32 eager"):
        assert f"\n{series}:\n" in text
    assert "all 280 points are in --json and -o" in text


def test_a_sweep_of_one_size_is_a_row_a_series(tmp_path: Path) -> None:
    args = ("--rows", "2048", "--cols", "4096", "--hw", "trn2,trn3", "--dtype", "bf16,fp32")
    assert run("sweep", "softmax", *args, "-o", str(tmp_path / "out")) == 0
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "Of 4 points: vector:throughput 4 (100 %)." in text
    assert "Best and worst" not in text
    assert "Crossovers" not in text
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| trn")]
    assert len(rows) == 4
    data = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))["rows"]
    for row, told in zip(data, rows, strict=True):
        low, high = row["estimate_low"], row["estimate_high"]
        assert told[5:8] == [format_time(row["estimate"]), format_span(low, high),
                             format_time(row["lower_bound"])]  # fmt: skip
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert page.count("calibrated") >= 2  # the one table is not there twice
    assert ">Points<" not in page


def test_a_point_that_is_several_extremes_is_one_row(tmp_path: Path) -> None:
    assert run("sweep", "rmsnorm", "--rows", "128:8192:x2", "--cols", "512", "-o",
               str(tmp_path / "out")) == 0  # fmt: skip
    lines = (tmp_path / "out" / "report.md").read_text("utf-8").splitlines()
    start = lines.index("## Best and worst")
    rows = [
        line for line in lines[start : lines.index("## Crossovers")] if line.startswith("| trn")
    ]
    assert [row.split(" | ")[1] for row in rows] == [
        "fastest, farthest from its roof",
        "slowest, nearest to its roof",
    ]
    figures = json.loads((tmp_path / "out" / "figures.json").read_text("utf-8"))
    notes = [
        note for one in figures["figures"] if one["key"] == "roofline-trn2" for note in one["notes"]
    ]
    assert any("those of Vector, which bounds points here" in note for note in notes)
