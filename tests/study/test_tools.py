from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from roofline.cli.main import main
from roofline.errors import StudyError
from roofline.study.check import check_study
from roofline.study.load import list_studies, load_study
from roofline.study.scaffold import new_study

HEAD = """schema_version = 1
name = "grid"
title = "a grid"
op = "rmsnorm"
hardware = ["trn2"]

[sources.mine]
title = "here"

[[config]]
params = { rows = 128, cols = [512, 1024] }
dtype = ["bf16", "fp32"]
"""
TIME = """
[[variant.time]]
config = {config}
time = "{time}"
clock = "device_execution"
source = "mine"
n = 5
profiled = false
"""


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def study(folder: Path, *parts: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text("".join((HEAD, *parts)), encoding="utf-8")
    return folder


def variant(name: str, *times: tuple[str, str]) -> str:
    return f'\n[[variant]]\nname = "{name}"\n' + "".join(
        TIME.format(config=config, time=time) for config, time in times
    )


def test_lists_of_a_config_stand_for_all_combinations(tmp_path: Path):
    found = load_study(study(tmp_path / "s", variant("a", ("3", "9 us"))))
    assert [one.key for one in found.configs] == [
        "128x512 bf16", "128x512 fp32", "128x1024 bf16", "128x1024 fp32",
    ]  # fmt: skip
    assert found.measurements[0].config.key == "128x1024 fp32"


def test_a_config_may_be_named_by_its_key(tmp_path: Path):
    found = load_study(study(tmp_path / "s", variant("a", ('"128x1024 bf16"', "9 us"))))
    assert found.measurements[0].config.shape == {"rows": 128, "cols": 1024}


def test_an_unknown_config_is_an_error_with_its_line(tmp_path: Path):
    folder = study(tmp_path / "s", variant("a", ('"1x1 bf16"', "9 us")))
    with pytest.raises(StudyError, match=r"study\.toml:18: config = '1x1 bf16': .*'128x512 bf16'"):
        load_study(folder)


@pytest.mark.parametrize("text", ["cols = []", "cols = [512, 0]"])
def test_empty_and_zero_parameters_are_refused(tmp_path: Path, text: str):
    folder = study(tmp_path / "s", variant("a", ("0", "9 us")))
    file = folder / "study.toml"
    file.write_text(file.read_text().replace("cols = [512, 1024]", text), encoding="utf-8")
    with pytest.raises(StudyError, match="a parameter is 1 or more"):
        load_study(folder)


def test_a_table_shows_variants_by_configs(tmp_path: Path, capsys):
    folder = study(
        tmp_path / "s",
        variant("slow", ("0", "20 us"), ("1", "40 us")),
        variant("quick", ("0", "10 us")),
    )
    assert run("study", "table", str(folder)) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["128x512", "bf16", "20", "µs", "10", "µs*"] in lines
    assert ["128x512", "fp32", "40", "µs", "-"] in lines
    assert run("study", "table", str(folder), "--value", "speedup") == 0
    assert "2.00x" in capsys.readouterr().out
    assert run("study", "table", str(folder), "--json") == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [(c["variant"], c["time_s"], c["base_over_time"]) for c in cells] == [
        ("slow", 20e-6, 1.0), ("quick", 10e-6, 2.0), ("slow", 40e-6, 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["time", "speedup", "bound", "bandwidth", "verdict"])
def test_every_value_of_every_shipped_study_can_be_tabulated(value: str, capsys):
    for name in list_studies():
        assert run("study", "table", name, "--value", value) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize("name", list_studies())
def test_shipped_studies_have_no_errors(name: str, capsys):
    assert run("study", "check", name) == 0
    assert "no errors" in capsys.readouterr().out


def test_a_check_points_at_lines_and_runs_nothing(tmp_path: Path, capsys):
    folder = study(
        tmp_path / "s",
        variant("a", ("0", "9 us")),
        '\n[[variant]]\nname = "idle"\ncallable = "v.py:missing"\n',
        '\n[sources.unused]\ntitle = "x"\n',
    )
    (folder / "v.py").write_text("raise SystemExit('must not run')\ndef there(): ...\n")
    file, _, remarks = check_study(folder)
    text = file.read_text(encoding="utf-8").splitlines()
    found = {(one.severity, text[one.line - 1]) for one in remarks}
    assert ("error", 'callable = "v.py:missing"') in found
    assert ("info", 'name = "idle"') in found
    assert ("warning", "[sources.unused]") in found
    assert run("study", "check", str(folder)) == 1
    assert "v.py has no 'missing'; it has there" in capsys.readouterr().out


def test_an_operator_nobody_can_count_is_an_error(tmp_path: Path):
    folder = study(tmp_path / "s", variant("a", ("0", "9 us")))
    file = folder / "study.toml"
    file.write_text(file.read_text().replace('"rmsnorm"', '"mystery"'), encoding="utf-8")
    assert [one.severity for one in check_study(folder)[2]] == ["error"]


@pytest.mark.parametrize("op", ["rmsnorm", "my-op"])
def test_a_new_study_is_valid_as_soon_as_it_has_a_time(tmp_path: Path, op: str, capsys):
    folder = tmp_path / "mine"
    args = ("--param", "rows=128", "--param", "cols=512,1024", "--dtype", "bf16")
    assert run("study", "new", str(folder), "--op", op, *args) == 0
    assert run("study", "check", str(folder)) == 2
    assert "has no time and no capture" in capsys.readouterr().err
    file = folder / "study.toml"
    lines = file.read_text(encoding="utf-8").splitlines()
    start = lines.index("# [[variant.time]]")
    for index in range(start, lines.index("", start)):
        lines[index] = lines[index].removeprefix("# ")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run("study", "check", str(folder)) == 0
    assert "1 time," in capsys.readouterr().out
    if op == "my-op":
        compile((folder / "variants.py").read_text(encoding="utf-8"), "variants.py", "exec")


def test_a_new_study_counts_what_is_not_torch_as_one_launch(tmp_path: Path):
    variants = ["naive", "eager", "fused", "compiled", "nki-onepass"]
    new_study(
        tmp_path / "s",
        op="rmsnorm",
        params={"rows": [1]},
        dtypes=["bf16"],
        variants=variants,
        hardware=["trn2"],
    )
    data = tomllib.loads((tmp_path / "s" / "study.toml").read_text(encoding="utf-8"))
    modes = [one["mode"] for one in data["variant"]]
    assert modes == ["eager", "eager", "fused", "compiled", "fused"]


def test_a_folder_with_content_is_left_alone(tmp_path: Path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(StudyError, match="is there already"):
        new_study(
            tmp_path,
            op="rmsnorm",
            params={"rows": [1]},
            dtypes=["bf16"],
            variants=["a"],
            hardware=["trn2"],
        )
    assert (tmp_path / "x").read_text() == "mine"


@pytest.mark.parametrize("param", ["rows", "rows=", "rows=a", "=3", "rows=1,"])
def test_parameters_that_make_no_sense_are_refused(tmp_path: Path, param: str, capsys):
    assert run("study", "new", str(tmp_path / "s"), "--op", "rmsnorm", "--param", param) == 2
    assert "write NAME=N" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_shipped_studies_are_listed(capsys):
    assert run("study", "list") == 0
    out = capsys.readouterr().out
    assert all(name in out for name in list_studies())
