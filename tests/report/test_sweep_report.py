from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.cli.main import main
from roofline.errors import QueryError
from roofline.report.run import report
from roofline.report.sweep_report import sweep_report


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
    assert page.count('src="data:image/png;base64,') == 3
    assert 'data-panel="roofline"' in page


def test_what_is_no_sweep_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.nc").write_bytes(b"not a sweep")
    assert run("report", str(tmp_path / "x.nc"), "-o", str(tmp_path / "out")) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
    with pytest.raises(QueryError, match="no such"):
        sweep_report(str(tmp_path / "none.nc"))
