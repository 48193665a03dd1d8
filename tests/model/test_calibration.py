"""Measured times: what is carried with the project, and the public rest where it is at hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from roofline.errors import RooflineError
from roofline.hardware.load import load_hardware
from roofline.model.calibrate import calibrate, section, split, with_calibration, write_section
from roofline.model.cases import Case, read_cases
from roofline.model.validate import check_rows, error_table, validate

PUBLISHED = "captures/published/tilebench_trn2.csv"


@pytest.fixture(scope="module")
def cases(root: Path) -> list[Case]:
    return read_cases(root / PUBLISHED, hardware="trn2")


@pytest.mark.slow
def test_committed_constants_are_what_the_fit_gives(cases: list[Case]) -> None:
    found = calibrate(cases, data=PUBLISHED)
    hardware = load_hardware("trn2")
    for path, value in found.complete.items():
        committed = hardware.value(f"calibrated.{path}")
        # a search stops within a part in a thousand of the optimum; other BLAS, other last digits
        assert committed.value == pytest.approx(value, rel=5e-3), path
        assert committed.quality == "calibrated"
    assert hardware.value("calibrated.device.floor_s").low is not None
    for other in ("trn1", "inf2", "trn3"):
        carried = load_hardware(other)
        for path in carried.paths("calibrated"):
            assert carried.value(path).value == hardware.value(path).value
            assert carried.value(path).quality == "inferred"


def test_the_fit_recovers_constants_it_is_given(cases: list[Case]) -> None:
    # made-up times of a made-up machine: only streams, so that few constants are at stake
    streams = [c for c in cases if c.op in ("relu", "vector_add") and c.dtype in ("fp32", "bf16")]
    truth = {
        **{f"interval.{w}.{k}": 1.0 for w in ("eager", "nki") for k in ("low_ratio", "high_ratio")},
        **{
            f"interval.{w}.{k}_bytes": 1.0
            for w in ("eager", "nki")
            for k in ("smallest", "largest")
        },
        "device.floor_s": 15e-6,
        "device.stage_s": 3e-6,
        "hbm.efficiency_ratio": 0.8,
    }
    made = validate(streams, hardware=with_calibration(load_hardware("trn2"), truth))
    noiseless = [replace(row.case, time_s=row.estimate.time_s) for row in made.rows if row.estimate]
    found = calibrate(noiseless, data="made up").values
    assert found["hbm.efficiency_ratio"] == pytest.approx(0.8, rel=1e-3)
    # one stage each: only the sum of floor and stage can be told
    total = found["device.floor_s"] + found["device.stage_s"]
    assert total == pytest.approx(18e-6, rel=1e-3)


def test_targets_on_sizes_that_were_not_fitted(cases: list[Case]) -> None:
    check = check_rows(validate(cases))
    (overall,) = error_table(check, by=())
    assert overall.rows == 260
    assert overall.median <= 0.10
    assert overall.p90 <= 0.40
    for row in error_table(check):
        assert row.median <= 0.25, row
    inside = [
        row.estimate.low_s <= row.case.time_s <= row.estimate.high_s
        for row in check.rows
        if row.estimate
    ]
    assert np.mean(inside) >= 0.85  # quantiles of the same rows, pooled over implementations


@pytest.mark.parametrize("op", ["relu", "mul2", "vector_add", "matrix_copy"])
def test_an_unseen_stream(op: str, cases: list[Case]) -> None:
    rest = [case for case in cases if case.op != op and "matmul" not in case.op]
    found = calibrate(rest, data="without one operator")
    hardware = with_calibration(load_hardware("trn2"), found.complete)
    own = validate([case for case in cases if case.op == op], hardware=hardware)
    (row,) = error_table(own, by=())
    assert row.median <= 0.35


def test_no_carried_time_beats_its_bound(cases: list[Case]) -> None:
    found = validate(cases)
    assert len(found.rows) == 520
    assert not found.without
    assert not found.beating


@pytest.mark.shared
def test_times_below_their_bound_are_explained(shared: Path) -> None:
    found = validate(read_cases(shared / "measured" / "kernels.csv", hardware="trn2"))
    assert len(found.rows) == 218
    for row in found.beating:
        # 28 silu in one program, kept on chip: the bytes of one call are moved once
        assert row.case.calls == 28
        assert "stays on chip" in row.reason
    for row in found.without:
        assert row.problem


def test_a_stub_is_recognised_by_its_counters(tmp_path: Path) -> None:
    file = tmp_path / "stub.csv"
    file.write_text(
        "op,shape,dtype,implementation,time_us,hbm_read_bytes,hbm_write_bytes\n"
        "relu,x[1048576000],bf16,nki,9.8,16,16\n"
    )
    (row,) = validate(read_cases(file, hardware="trn2")).rows
    assert row.beats_bound
    assert "did not do this work" in row.reason


def test_more_cores_than_stated(tmp_path: Path) -> None:
    file = tmp_path / "cores.csv"
    file.write_text(
        "op,shape,dtype,variant,time,hardware,lnc\n"
        "matmul,M=8192 K=8192 N=8192,bf16,NKI,8 ms,trn2,1\n"
    )
    (row,) = validate(read_cases(file, hardware="trn2")).rows
    assert row.beats_bound  # 1.1e12 FLOP in 8 ms is 137 TFLOP/s; one core has 78.6
    assert "more cores" in row.reason


def test_split_alternates_sizes_of_each_kind(cases: list[Case]) -> None:
    fit, check = split(cases)
    assert len(fit) == len(check) == 260
    assert not {case.row for case in fit} & {case.row for case in check}


def test_a_section_round_trips(tmp_path: Path, root: Path, cases: list[Case]) -> None:
    streams = [c for c in cases if c.op == "relu" and c.dtype != "int8"]
    found = calibrate(streams, data="relu")
    out = tmp_path / "mine.toml"
    write_section(root / "hw_models/trn2.toml", section(found), out=out)
    mine = load_hardware(out)
    assert (
        mine.value("calibrated.hbm.efficiency_ratio").value == found.values["hbm.efficiency_ratio"]
    )
    write_section(out, section(found, inferred_for="mine"))
    assert load_hardware(out).value("calibrated.device.stage_s").quality == "inferred"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("op,shape,dtype\nrelu,8x8,bf16\n", "no column of times"),
        ("op,shape,time_us\nrelu,8x8,3\n", "no column dtype"),
        ("op,shape,dtype,time_us\nrelu,8x8,bf16,-3\n", "line 2: .* is negative"),
        ("op,shape,dtype,time_us\nrelu,8x8,bf16,0\n", "line 2: a time of 0 s"),
        ("op,shape,dtype,time_us\n", "no measured times"),
        ("", "no column of times"),
        ("shape,dtype,time_us\n8x8,bf16,3\n", "no column op"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(RooflineError, match=what):
        read_cases(file, hardware="trn2")


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("relu,0x8,bf16,3,trn2", "at least 1"),
        ("relu,x[4],bf17,3,trn2", "unknown dtype"),
        ("relu,x[4],bf16,3,trn9", "trn9"),
        ("relu,4 GiB,bf16,3,trn2", "no shape"),
        ("matmul,M=8 K=8 N=8,int64,3,trn2", "no Tensor rate"),
    ],
)
def test_a_row_that_is_not_understood_is_kept(tmp_path: Path, row: str, what: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(f"op,shape,dtype,time_us,hardware\n{row}\nrelu,x[1048576],bf16,23,trn2\n")
    bad, good = validate(read_cases(file, hardware="trn2")).rows
    assert what in bad.problem
    assert good.estimate is not None
