from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from roofline.cli.main import main
from roofline.errors import OptionalDependencyError, StudyError
from roofline.resources import shipped
from roofline.study.callables import count_variant, digest, is_shipped, load_callable
from roofline.study.evaluate import evaluate, work_of
from roofline.study.load import list_studies, load_study

OWN = """\
schema_version = 1
name = "own"
title = "My own operator"
op = "my-operator"
hardware = ["trn2"]

[inputs]
callable = "code.py:inputs"

[[config]]
params = { rows = 128, cols = 64 }
dtype = "fp32"

[sources.me]
title = "measured here"

[[variant]]
name = "one"
callable = "code.py:twice"

[[variant.time]]
time = "33 us"
clock = "device_execution"
source = "me"
"""

CODE = """\
import torch

def inputs(*, rows, cols, dtype):
    return (torch.empty(rows, cols, device="meta"),)

def twice(x):
    return x * 2.0 + x
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "study.toml").write_text(OWN, encoding="utf-8")
    (folder / "code.py").write_text(CODE, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", list_studies())
def test_code_of_shipped_studies_counts_what_the_closed_form_says(name: str) -> None:
    pytest.importorskip("torch")
    study = load_study(name)
    for variant in study.variants:
        if not variant.callable:
            continue
        for config in (study.configs[0], study.configs[-1]):
            counted = count_variant(study, variant, config)
            closed = work_of(study, variant, config)
            assert counted.total_flops == closed.total_flops
            assert counted.flops == closed.flops
            assert counted.launches == closed.launches
            assert counted.element_passes == closed.element_passes
            assert counted.host_copy_bytes == closed.host_copy_bytes
            # a compiled graph may hold epsilon as a constant of 4 bytes
            slack = {0, 4} if variant.mode == "compiled" else {0}
            assert counted.minimal_bytes - closed.minimal_bytes in slack
            assert counted.dispatched_bytes - closed.dispatched_bytes in slack


def test_code_that_is_not_shipped_needs_trust(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = load_study(own)
    assert not is_shipped(study)
    with pytest.raises(StudyError, match=r"read it, then give --trust"):
        evaluate(study)
    with pytest.raises(SystemExit) as stop:
        main(["report", str(own)])
    assert stop.value.code == 2
    assert "--trust" in capsys.readouterr().err


def test_trusted_code_is_counted(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    (row,) = evaluate(load_study(own), trust=True).rows
    assert row.work.total_flops == 2 * 128 * 64
    assert row.work.minimal_bytes == 2 * 128 * 64 * 4
    with pytest.raises(SystemExit) as stop:
        main(["report", str(own), "--trust"])
    assert stop.value.code == 0
    assert "My own operator" in capsys.readouterr().out


def test_a_shipped_study_is_known_by_content_and_not_by_name(tmp_path: Path) -> None:
    original = shipped("captures") / "rmsnorm-4x512-bf16"
    copy = tmp_path / "another-name"
    shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert digest(copy) == digest(original)
    assert is_shipped(load_study(copy))
    changed = copy / "variants.py"
    changed.write_text(changed.read_text("utf-8") + "\nimport os\n", "utf-8")
    assert not is_shipped(load_study(copy))
    with pytest.raises(StudyError, match="--trust"):
        load_callable(load_study(copy), "variants.py:naive")


def test_names_that_lead_nowhere(own: Path) -> None:
    study = load_study(own)
    for name, message in (
        ("code.py", "not of the form"),
        ("code.py:nothing", "no function 'nothing'"),
        ("other.py:twice", "no such file"),
        ("no_such_module_here:f", "cannot be imported"),
    ):
        with pytest.raises(StudyError, match=message):
            load_callable(study, name, trust=True)


def test_without_torch_the_extra_is_named(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(OptionalDependencyError, match=r'pip install "roofline\[torch\]"'):
        load_callable(load_study(own), "code.py:twice", trust=True)


def test_a_report_of_a_shipped_study_works_without_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert len(evaluate(load_study("rmsnorm-4x512-bf16")).rows) == 3


def test_an_operator_without_closed_form_or_code_says_so(own: Path) -> None:
    text = OWN.replace('callable = "code.py:twice"\n', "")
    (own / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match="no closed form for 'my-operator' and no callable"):
        evaluate(load_study(own))
