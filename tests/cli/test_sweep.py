"""``roofline sweep`` and ``roofline validate`` as a user runs them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

from roofline.cli.main import cli, main


def run(*args: str) -> str:
    result = CliRunner().invoke(cli, list(args), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def fail(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    return captured.err


SMALL = ("sweep", "rmsnorm", "--rows", "128,2048", "--cols=512:4096:x2", "--dtype", "bf16,fp32")


def test_text_and_json() -> None:
    text = run(*SMALL, "--pareto", "--sensitivity")
    assert "bound changes along cols" in text
    assert "Vector clock" in text
    data = json.loads(run(*SMALL, "--json", "--pareto"))
    assert len(data["rows"]) == 16
    row = data["rows"][0]
    assert row["lower_bound"] <= row["schedule_bound"] <= row["estimate"] <= row["estimate_high"]
    assert data["crossovers"][0]["dim"] == "cols"
    assert any(point["rows"] == 2048 for point in data["pareto"])


@pytest.mark.parametrize("kind", ["heat", "bounds", "trajectory", "curves"])
def test_figures(tmp_path: Path, root: Path, kind: str) -> None:
    path = tmp_path / "figure.svg"
    measured = str(root / "captures/published/tilebench_trn2.csv")
    run(*SMALL, "--plot", str(path), "--kind", kind, "--measured", measured)
    first = path.read_bytes()
    assert ElementTree.fromstring(first).tag.endswith("svg")
    run(*SMALL, "--plot", str(path), "--kind", kind, "--measured", measured)
    assert path.read_bytes() == first


def test_a_time_without_a_chip_is_of_the_only_one_of_the_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "times.csv"
    table.write_text("op,shape,dtype,implementation,time_us\nrmsnorm,2048x1024,bf16,fused,500\n")
    one = (*SMALL, "--hw", "trn3", "--plot", str(tmp_path / "a.svg"), "--kind", "curves")
    run(*one)
    bare = (tmp_path / "a.svg").read_text()
    run(*one, "--measured", str(table))
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn.count("<use") > bare.count("<use")
    two = (*SMALL, "--hw", "trn2,trn3", "--plot", str(tmp_path / "b.svg"), "--kind", "curves")
    told = fail(capsys, *two, "--measured", str(table))
    assert "times.csv: line 2 names no hardware, and the sweep is of trn2, trn3" in told


def test_files(tmp_path: Path) -> None:
    import xarray as xr

    run(*SMALL, "-o", str(tmp_path / "a.nc"))
    run(*SMALL, "-o", str(tmp_path / "a.csv"))
    run(*SMALL, "-o", str(tmp_path / "a.zarr"), "--chunk", "cols=2")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as netcdf:
        zarr = xr.open_zarr(tmp_path / "a.zarr", zarr_format=2)
        assert (netcdf["estimate"] == zarr["estimate"]).all()
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 17
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.nc", "a.zarr"]


def test_what_if_on_the_command_line() -> None:
    args = ("sweep", "relu", "--n", "67108864", "--json")
    base = json.loads(run(*args))["rows"][0]["estimate"]
    more = json.loads(run(*args, "--set", "memories.hbm.bandwidth=*1.5"))["rows"][0]["estimate"]
    assert more < base


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("sweep", "rmsnorm", "--rows", "0", "--cols", "1"), "at least 1"),
        (("sweep", "rmsnorm", "--rows", "4"), "give cols"),
        (("sweep", "rmsnorm", "--rows"), "has no sizes"),
        (("sweep", "nothing", "--n", "4"), "unknown operator"),
        (("sweep", "relu", "--n", "4", "--set", "x"), "NAME=VALUE"),
        (("sweep", "relu", "--n", "4", "-o", "x.bin"), ".nc"),
        (("sweep", "relu", "--n", "4", "--scheduler", "tcp://x:1"), "zarr"),
        (("sweep", "relu", "--n", "1:9", "--plot", "x.gif"), "x.gif"),
        (("sweep", "relu", "--n", "1:9", "--plot", "x.svg", "--kind", "heat"), "two sizes"),
        (("sweep", "relu", "--n", "4", "--chunk", "n=0"), "at least one point"),
        (("sweep", "relu", "--n", "4", "--measured", "x.csv"), "--plot"),
        (("validate", "no-such-file.csv"), "no-such-file.csv"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...], what: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert what in fail(capsys, *args)
    assert not list(tmp_path.iterdir())


CSV = """op,shape,dtype,implementation,time
rmsnorm,2048x4096,bf16,torch_eager,132.2 us
rmsnorm,2048x4096,bf16,nki,125.2 us
relu,x[1048576],bf16,nki,0.1 us
mystery,see elsewhere,bf16,nki,5 us
"""


def test_validate_a_file_of_your_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(CSV)
    text = run("validate", str(file))
    assert max(map(len, text.splitlines())) <= 80
    assert "1 of 4 measured times are below their lower bound" in text
    assert "mystery" in text
    assert "median" not in text  # of four rows
    assert "status calibrated" in text
    answers = ["as expected", "slower than expected", "below the bound", "no estimate"]
    places = [" ".join(text.split()).index(f"answer {answer}") for answer in answers]
    assert places == sorted(places)
    data = json.loads(run("validate", str(file), "--json"))
    assert data["estimate"][0]["rows"] == 3
    run("validate", str(file), "-o", str(tmp_path / "rows.csv"))
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 5
    run("validate", str(file), "-o", str(tmp_path / "page.md"))
    assert "| op |" in (tmp_path / "page.md").read_text()
    run("validate", str(file), "-o", str(tmp_path / "figure.svg"))
    assert ElementTree.parse(tmp_path / "figure.svg").getroot().tag.endswith("svg")


def test_the_accuracy_page_is_what_the_command_writes(tmp_path: Path, root: Path) -> None:
    page = tmp_path / "accuracy.md"
    run("validate", str(root / "captures/published/tilebench_trn2.csv"), "-o", str(page))
    committed = (root / "docs/accuracy.md").read_text()
    for line in page.read_text().splitlines():
        if line.startswith(("| rmsnorm", "| estimate")):
            assert line in committed


def test_calibrate_writes_a_file_of_your_own(tmp_path: Path, root: Path) -> None:
    rows = (root / "captures/published/tilebench_trn2.csv").read_text().splitlines()
    file = tmp_path / "some.csv"
    file.write_text("\n".join([rows[0], *(r for r in rows if r.startswith("relu"))]) + "\n")
    out = tmp_path / "mine.toml"
    text = run("validate", str(file), "--calibrate", "-o", str(out))
    assert "hbm.efficiency_ratio" in text
    assert "trn2" in run("hw", "check", str(out)) or out.exists()
    data = json.loads(run("sweep", "relu", "--n", "1048576", "--hw", str(out), "--json"))
    assert data["rows"][0]["estimate"] == pytest.approx(23.3e-6, rel=0.2)
