from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from roofline.cli.main import main
from roofline.errors import CaptureError
from roofline.report.compare_run import check_baseline, save_baseline
from roofline.study.observe import observe
from roofline.study.options import Options

STUDY = "rmsnorm-4x512-bf16"


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def times(path: Path, *microseconds: float) -> str:
    rows = "".join(f"gelu,{value},nki_benchmark\n" for value in microseconds)
    path.write_text(f"op,time_us,clock\n{rows}", encoding="utf-8")
    return str(path)


def test_a_baseline_holds_all_that_was_observed(tmp_path: Path, root: Path):
    file = tmp_path / "b.json"
    saved = save_baseline([STUDY], file)
    assert observe(str(file)).observed == saved.observed
    schema = json.loads((root / "docs/schema/baseline-1.json").read_text("utf-8"))
    jsonschema.validate(json.loads(file.read_text("utf-8")), schema)
    first = file.read_bytes()
    save_baseline([STUDY], file)
    assert file.read_bytes() == first


def test_several_files_are_repeats_and_give_the_noise(tmp_path: Path):
    files = [times(tmp_path / f"{i}.csv", t) for i, t in enumerate((10.0, 10.2, 9.8, 10.1))]
    save_baseline(files, tmp_path / "b.json")
    found = check_baseline(tmp_path / "b.json", [times(tmp_path / "new.csv", 10.3)])
    (pair,) = found.comparison.pairs
    assert pair.outcome == "below-noise"
    assert "one side" in pair.noise.source
    assert found.passes


@pytest.mark.parametrize(("now", "code"), [(10.1, 0), (20.0, 1)])
def test_check_sets_the_exit_code(tmp_path: Path, capsys, now: float, code: int):
    assert (
        run("baseline", "save", times(tmp_path / "a.csv", 10.0), "-o", str(tmp_path / "b.json"))
        == 0
    )
    assert "1 kernel, " in capsys.readouterr().out
    assert (
        run("baseline", "check", str(tmp_path / "b.json"), times(tmp_path / "n.csv", now)) == code
    )
    assert ("Gate fails" in capsys.readouterr().out) is bool(code)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema_version": 9, "kind": "baseline"}', "schema version 9"),
        ('{"schema_version": 1, "kind": "baseline"}', "no key 'run'"),
        ('{"schema_version": 1, "kind": "baseline", "run": {"label": 3}}', "label"),
        ('{"schema_version": 1, "kind": "baseline", ', "not JSON"),
        ('{"schema_version": 1, "kind": "study", "rows": []}', "no key"),
    ],
)
def test_a_file_that_is_no_baseline_of_this_version_says_so(tmp_path: Path, text, message):
    (tmp_path / "b.json").write_text(text, encoding="utf-8")
    with pytest.raises(CaptureError, match=message):
        observe(str(tmp_path / "b.json"))


def test_a_time_in_a_baseline_is_checked(tmp_path: Path):
    file = tmp_path / "b.json"
    save_baseline([times(tmp_path / "a.csv", 10.0)], file)
    data = json.loads(file.read_text("utf-8"))
    data["run"]["observed"][0]["timings"][0]["seconds"] = -1
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(CaptureError, match="not -1"):
        observe(str(file))


@pytest.mark.shared
def test_captures_can_be_repeats_of_one_kernel(shared: Path, tmp_path: Path):
    folder = shared / "captures" / "trn2-v6-attention"
    names = [str(folder / f"fused_bf16_s512.{kind}") for kind in ("ntff", "json.gz")]
    saved = save_baseline(names, tmp_path / "b.json", options=Options(repeats=True))
    (one,) = saved.observed
    assert one.timings[0].n == 2
    assert run("baseline", "check", str(tmp_path / "b.json"), names[0]) == 0
