from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from roofline.report.data import study_json
from roofline.report.run import study_result
from roofline.report.study_blocks import summary_blocks
from roofline.report.terminal import to_text
from roofline.study.check import check_study
from roofline.study.evaluate import StudyResult, evaluate
from roofline.study.load import list_studies, load_study
from roofline.study.untimed import untimed_variants

OPS = {"rmsnorm", "layernorm", "softmax", "swiglu_mlp", "matmul", "attention"}


def test_each_operator_has_a_study() -> None:
    assert {load_study(name).op for name in list_studies()} == OPS


@pytest.mark.parametrize("name", list_studies())
def test_times_are_positive_and_name_clock_and_source(name: str) -> None:
    study = load_study(name)
    assert study.name == name
    assert study.measurements
    for measured in study.measurements:
        assert measured.time_s > 0
        assert study.sources[measured.source].title
        assert measured.clock.key != "modelled"  # a published time is measured
    assert any(variant.callable for variant in study.variants)
    assert study.inputs


@pytest.mark.parametrize("name", list_studies())
def test_a_check_finds_no_error(name: str) -> None:
    _, _, remarks = check_study(name)
    assert [one for one in remarks if one.severity == "error"] == []


@pytest.mark.parametrize("name", list_studies())
def test_no_time_beats_its_lower_bound(name: str) -> None:
    for row in study_result(name).rows:
        assert row.placement.headroom is not None
        assert row.placement.headroom > 1


@pytest.mark.parametrize(
    ("name", "op", "size"),
    [("softmax-2048xN", "softmax", "cols"), ("matmul-4096xKx4096", "matmul_fp32_fp16_fp8", "k")],
)
def test_curves_are_those_that_the_model_is_checked_on(
    root: Path, name: str, op: str, size: str
) -> None:
    names = {"torch_eager": "eager", "nki": "nki"}
    with (root / "captures/published/tilebench_trn2.csv").open(encoding="utf-8") as file:
        published = {
            (names[row["implementation"]], row["dtype"], int(row["params"].split("=")[1])): float(
                row["time_us"]
            )
            for row in csv.DictReader(file)
            if row["op"] == op
        }
    held = {
        (one.variant, one.config.dtype, one.config.shape[size]): one.time_s * 1e6
        for one in load_study(name).measurements
    }
    assert held == pytest.approx(published)
    assert len(held) == 40


@pytest.fixture(scope="module")
def attention() -> StudyResult:
    return study_result("attention-Sx128")


def test_unfused_attention_moves_its_scores(attention: StudyResult) -> None:
    rows = {row.key: row for row in attention.rows}
    profile = rows["nki-unfused, profile, 512x128 fp32"]
    # q, k, v and the result once; the scores written and read twice
    assert profile.work.dispatched_bytes == 4 * (4 * 512 * 128 + 4 * 512 * 512)
    assert profile.work.measured_bytes == pytest.approx(profile.work.dispatched_bytes, rel=0.02)
    assert profile.verdict.label == "serialization"
    # its Tensor rate is counted: 4 S^2 d FLOP in the active time, one core's fp32 peak
    rate = profile.evidence.resource("tensor").rate
    assert rate == pytest.approx(4 * 512**2 * 128 / 51.623e-6 / 19.66e12, rel=1e-3)
    assert profile.evidence.resource("tensor").active == pytest.approx(0.32432 * 58.70991 / 51.623)
    fused = rows["nki-fused, 4096x128 bf16"]
    assert fused.work.dispatched_bytes == 4 * 4096 * 128 * 2


def test_swiglu_is_judged_on_the_roof_of_its_dtype() -> None:
    (row,) = study_result("swiglu-4096x1024x3072-fp32").rows
    # published: 156,766,306,304 less 2,147,483,648 of transposes, each fp32 product twice
    assert row.placement.tensor_flops == (156_766_306_304 - 2_147_483_648) // 2
    assert row.evidence.resource("tensor").rate == pytest.approx(0.80, abs=0.005)


def test_layernorm_on_a_host_clock_is_not_blamed_on_the_kernel() -> None:
    rows = study_result("layernorm-300x1000-fp32").rows
    assert {row.verdict.label for row in rows} == {"overhead:host"}


def test_fp32_products_of_torch_are_at_the_tensor_roof() -> None:
    rows = study_result("matmul-4096xKx4096").rows
    largest = {
        (row.variant.name, row.measurement.config.dtype): row.verdict.label
        for row in rows
        if row.measurement.config.shape["k"] == 19456
    }
    assert largest["eager", "fp32"] == "tensor:throughput"
    assert largest["nki", "fp32"] == "unknown"


def test_variants_without_a_time_are_modelled_and_said_to_be(attention: StudyResult) -> None:
    names = {variant.name for variant in untimed_variants(attention.study)}
    assert names == {"naive", "fused", "compiled"}
    assert len(attention.untimed) == 3 * 3
    for one in attention.untimed:
        assert one.placement.time_s is None
        assert one.estimate is not None
        assert one.placement.bound_s is not None
        assert one.placement.bound_s <= one.estimate.time_s
        assert one.estimate.low_s <= one.estimate.time_s <= one.estimate.high_s
    text = to_text(summary_blocks(attention))
    assert "Not timed" in text
    assert "and not measured" in text
    assert not names & {row.variant.name for row in attention.rows}


def test_a_study_without_such_variants_says_nothing() -> None:
    study = load_study("rmsnorm-4x512-bf16")
    timed = tuple(one for one in study.variants if one not in untimed_variants(study))
    result = evaluate(replace(study, variants=timed))
    assert result.untimed == ()
    assert study_json(result)["untimed"] == []
    assert "Not timed" not in to_text(summary_blocks(result))


def test_a_model_carried_over_from_another_chip_says_so() -> None:
    result = study_result("layernorm-300x1000-fp32")
    assert {one.estimate.quality for one in result.untimed if one.estimate} == {"inferred"}
    entry = study_json(result)["untimed"][0]
    assert entry["launches"] == 9
    assert entry["modelled"]["clock"] == "device_execution"
