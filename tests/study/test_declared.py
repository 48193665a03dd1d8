from __future__ import annotations

from pathlib import Path

import pytest

from roofline.errors import QueryError, StudyError
from roofline.model.kernel import KernelSchedule
from roofline.report.data import study_json
from roofline.report.run import Settings, study_result
from roofline.report.study_blocks import summary_blocks
from roofline.report.terminal import to_text
from roofline.study.check import check_study
from roofline.study.load import load_study

GOOD = {"element_passes": {"vector": 4096}, "hbm_read_bytes": 8192, "hbm_write_bytes": 8192}

STUDY = """\
schema_version = 1
name = "own"
title = "A kernel of mine"
op = "softmax"
hardware = ["trn2"]
lnc = 1

[[config]]
params = { rows = 128, cols = 1024 }
dtype = "bf16"

[sources.me]
title = "measured here"

[[variant]]
name = "torch"
mode = "fused"

[[variant.time]]
time = "33 us"
clock = "device_execution"
source = "me"

[[variant]]
name = "mine"
callable = "kernel.py:run"
mode = "fused"
device = "neuron"
requires = ["nki"]
schedule = "kernel.py:schedule"
reference = "kernel.py:reference"
"""

CODE = """\
def run(x): ...
def reference(x): ...
def schedule(*, rows, cols, dtype):
    return {"element_passes": {"vector": 9 * rows * cols}, "hbm_read_bytes": 4 * rows * cols,
            "hbm_write_bytes": 2 * rows * cols, "stages": 5}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "kernel.py").write_text(CODE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colour": 1}, "unknown colour"),
        ({"element_passes": {"tensor": 1}}, "vector, scalar, gpsimd"),
        ({"hbm_read_bytes": -1}, "a whole number from 0"),
        ({"hbm_read_bytes": 1.5}, "a whole number from 0"),
        ({"cores": 0}, "a whole number from 1"),
    ],
)
def test_wrong_schedules_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(QueryError, match=words):
        KernelSchedule.of({**GOOD, **change})


@pytest.mark.parametrize("key", list(GOOD))
def test_incomplete_schedules_are_refused(key: str) -> None:
    with pytest.raises(QueryError, match=f"missing {key}"):
        KernelSchedule.of({name: value for name, value in GOOD.items() if name != key})


def test_a_kernel_of_ones_own_sets_the_schedule_bound(own: Path) -> None:
    result = study_result(str(own), Settings(trust=True))
    (one,) = result.untimed
    assert one.schedule is not None
    assert one.estimate is not None
    # nine passes on one engine of 128 lanes at four elements a cycle, 0.96 GHz
    assert one.estimate.schedule_bound_s == pytest.approx(9 * 1024 / 4 / 0.96e9)
    assert one.estimate.bound.startswith("overhead")
    text = to_text(summary_blocks(result), width=80)
    assert "Vector passes" in text
    assert "1.18 M" in text
    record = study_json(result)["untimed"][0]["declared_schedule"]
    assert record["element_passes"] == {"vector": 9 * 128 * 1024}


def test_code_that_nobody_trusts_is_not_run(own: Path) -> None:
    result = study_result(str(own))
    (one,) = result.untimed
    assert one.schedule is None
    assert one.estimate is None  # the usual schedule would be another kernel's
    assert "--trust" in one.problem
    assert "Not modelled" in to_text(summary_blocks(result), width=80)


@pytest.mark.parametrize(
    ("body", "words"), [("1 / 0", "ZeroDivisionError"), ("None", "NoneType"), ("{}", "missing")]
)
def test_a_schedule_that_fails_is_a_problem_and_no_traceback(
    own: Path, body: str, words: str
) -> None:
    (own / "kernel.py").write_text(f"def schedule(**sizes):\n    return {body}\n")
    (one,) = study_result(str(own), Settings(trust=True)).untimed
    assert words in one.problem


def test_a_schedule_has_its_rung_where_the_kernel_was_timed(own: Path) -> None:
    path = own / "study.toml"
    path.write_text(
        path.read_text()
        + '[[variant.time]]\ntime = "44 us"\nclock = "device_execution"\nsource = "me"\n'
    )
    rows = {row.variant.name: row for row in study_result(str(own), Settings(trust=True)).rows}
    rung = rows["mine"].rung("schedule")
    assert rung is not None
    assert rung.value_s == pytest.approx(9 * 1024 / 4 / 0.96e9)
    assert rows["torch"].rung("schedule") is None
    assert rows["mine"].rungs[-1].key == "measured"
    bare = {row.variant.name: row for row in study_result(str(own)).rows}["mine"]
    assert bare.rung("schedule") is None
    assert any("no schedule bound" in note for note in bare.placement.notes)


def test_a_check_names_what_is_missing(own: Path) -> None:
    path = own / "study.toml"
    good = path.read_text()
    path.write_text(
        good.replace('reference = "kernel.py:reference"\n', "").replace(":sched", ":no")
    )
    remarks = {(one.severity, one.what) for one in check_study(own)[2]}
    assert any("has no 'noule'" in what for kind, what in remarks if kind == "error")
    assert any("no reference" in what for kind, what in remarks if kind == "warning")
    for wrong, words in (
        ('device = "gpu"', "known: cpu, neuron"),
        ("tolerance = 2.0", "between 0"),
    ):
        path.write_text(good.replace('device = "neuron"', wrong))
        with pytest.raises(StudyError, match=words):
            load_study(own)


def test_files_of_the_project_need_no_trust_and_files_of_the_study_do(own: Path) -> None:
    path = own / "study.toml"
    text = path.read_text().replace('"kernel.py:schedule"', '"captures/nki/rmsnorm.py:schedule"')
    path.write_text(text)
    (one,) = study_result(str(own)).untimed
    assert one.schedule is not None
    # a file of the same path inside the study is the study's own code
    (own / "captures" / "nki").mkdir(parents=True)
    (own / "captures" / "nki" / "rmsnorm.py").write_text(CODE)
    (one,) = study_result(str(own)).untimed
    assert "--trust" in one.problem
    path.write_text(text.replace("captures/nki", "captures/../../../tmp"))
    (one,) = study_result(str(own)).untimed
    assert "--trust" in one.problem
