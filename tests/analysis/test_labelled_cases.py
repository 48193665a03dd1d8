"""Published executions whose limiter is known: the verdict and the findings have to say it.

The cases stand in the shared measurements; a few, with their sources, are repeated here so that
the same is shown without them.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from roofline.analysis.bounds import vendor_bounds
from roofline.analysis.bounds_counters import capture_bounds
from roofline.analysis.evidence import Evidence
from roofline.analysis.findings.registry import find
from roofline.analysis.findings.scene import scene_of
from roofline.analysis.from_summary import evidence_from_summary
from roofline.analysis.from_time import evidence_from_time
from roofline.analysis.placement import place
from roofline.analysis.verdict import Verdict, decide
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.study.evaluate import evaluate
from roofline.study.load import load_study
from roofline.work.closed_form import closed_form
from tests.analysis.synthetic import capture

Case = dict[str, Any]

ENGINES = ("tensor", "vector", "scalar", "gpsimd")

# trnsci/trnblas, docs/design/mp2_energy_profile_findings.md: an MP2 energy on trn1
MP2: Case = {
    "hardware": "trn1",
    "summary": {
        "total_time": 0.213808050051,
        "total_active_time": 0.20825356317,
        "tensor_engine_active_time_percent": 2.26e-6,
        "vector_engine_active_time_percent": 0.96454,
        "scalar_engine_active_time_percent": 0.036733,
        "gpsimd_engine_active_time_percent": 0.000105,
        "dma_active_time_percent": 0.264166,
        "hbm_read_bytes": 6582249472,
        "hbm_write_bytes": 1835008,
        "dma_transfer_total_bytes": 3288352768,
    },
    "expect": {"resource": "vector", "findings": ["tensor-idle-by-design"]},
}

# aws-neuron/neuron-agentic-development, example-bounds-analysis: 4096^3 bf16, first version
MATMUL_V0: Case = {
    "hardware": "trn2",
    "lnc": 1,
    "times_us": {"total": 8602, "dma_active": 7906, "tensor_active": 4806, "vector_active": 176},
    "work": {
        "matmul_flops": 2 * 4096**3,
        "dtype": "bf16",
        "dma_bytes": 1207697408,
        "minimal_bytes": 3 * 4096**2 * 2,
    },
    "expect": {
        "bound": "dma:small-transfers",
        "findings": ["reloads", "dma-small-transfers"],
        "bounds_us": {"memory_bound": 7906, "memory_bound_ideal": 2776},
    },
}

# the same repository, third version
MATMUL_V2: Case = {
    "hardware": "trn2",
    "lnc": 1,
    "times_us": {"total": 1801, "dma_active": 819, "tensor_active": 1781, "vector_active": 172},
    "work": {
        "matmul_flops": 2 * 4096**3,
        "dtype": "bf16",
        "dma_bytes": 201326592,
        "minimal_bytes": 3 * 4096**2 * 2,
    },
    "expect": {"bound": "tensor:throughput", "percent_of_roof_min": 0.95},
}

# aws-neuron/nki-samples#133: decode attention, believed memory bound by its author
DECODE: Case = {
    "hardware": "trn2",
    "fractions": {"hbm_of_peak": 0.047, "vector_active": 0.41, "dma_active": 0.055},
    "expect": {"bound": "serialization", "busiest": "vector"},
}

# bbioren/hf-kernels-neuron: 28 RMSNorms chained in one program, kept on chip
RMSNORMS: Case = {
    "hardware": "trn2",
    "lnc": 2,
    "summary": {
        "total_time": 635.999e-6,
        "total_active_time_percent": 0.945198,
        "tensor_engine_active_time_percent": 0.0875955,
        "vector_engine_active_time_percent": 0.710459,
        "scalar_engine_active_time_percent": 0.729646,
        "gpsimd_engine_active_time_percent": 0.0350495,
        "hbm_read_bytes": 3272720,
        "hbm_write_bytes": 3145728,
        "mbu_estimated_percent": 0.0140742,
    },
    "expect": {"bound": "serialization", "busiest": "scalar"},
}

# AnchovyPark/npu_profiling_code: a first run on inf2
LAYERNORM: Case = {
    "hardware": "inf2",
    "times_us": {
        "total": 2640,
        "total_active": 780,
        "dma_active": 778,
        "vector_active": 317,
        "tensor_active": 0.55,
    },
    "work": {"hbm_read_bytes": 67633152, "hbm_write_bytes": 67108864},
    "expect": {"resource": "dma", "findings": ["start-up-dominates-total"]},
}


def summary_of(case: Case, hardware: Hardware) -> dict[str, float]:
    """The published figures under the vendor's names: nothing is added to them."""
    if "summary" in case:
        return dict(case["summary"])
    summary: dict[str, float] = {}
    work = case.get("work", {})
    if "times_us" in case:
        for name, value in case["times_us"].items():
            engine = name.partition("_")[0]
            field = f"{engine}_engine_active_time" if engine in ENGINES else f"{name}_time"
            summary[field] = value * 1e-6
        flops = work.get("matmul_flops")
        if flops:
            peak = hardware.tensor_peak(work["dtype"]).value
            summary["hardware_flops"] = flops
            summary["hfu_estimated_percent"] = flops / peak / summary["total_time"]
    else:
        summary["total_time"] = 1.0  # only fractions are published
        for name, value in case["fractions"].items():
            engine = name.partition("_")[0]
            field = {
                "hbm_of_peak": "mbu_estimated_percent",
                "mbu": "mbu_estimated_percent",
                "mfu": "mfu_estimated_percent",
                "mfu_max_achievable": "mfu_max_achievable_estimated_percent",
            }.get(name)
            if field is None:
                field = f"{name}_time_percent"
                if engine in ENGINES:
                    field = f"{engine}_engine_active_time_percent"
            summary[field] = value
    if "dma_bytes" in work:
        summary["dma_transfer_total_bytes"] = work["dma_bytes"]
        # loads and stores of HBM make up all of it
        summary["hbm_read_bytes"], summary["hbm_write_bytes"] = work["dma_bytes"], 0
    for field in ("hbm_read_bytes", "hbm_write_bytes"):
        if field in work:
            summary[field] = work[field]
    if "minimal_bytes" in work:
        summary["inputs_outputs_weights_size_bytes"] = work["minimal_bytes"]
    return summary


def judge(case: Case) -> tuple[Evidence, Verdict, Hardware]:
    hardware = load_hardware(case["hardware"], lnc=case.get("lnc"))
    evidence = evidence_from_summary(summary_of(case, hardware), hardware)
    return evidence, decide(evidence), hardware


def check(case: Case) -> None:
    expect = case["expect"]
    evidence, verdict, hardware = judge(case)
    summary = summary_of(case, hardware)
    if "bound" in expect:
        assert verdict.label == expect["bound"], verdict.explanation
    if "resource" in expect:
        assert verdict.resource == expect["resource"], verdict.explanation
    if "busiest" in expect:
        assert verdict.busiest == expect["busiest"]
    if "margin_to_vendor_mark" in expect:
        # given to two digits
        assert verdict.margin == pytest.approx(expect["margin_to_vendor_mark"], abs=0.005)
    if "percent_of_roof_min" in expect:
        rate = evidence.resource(verdict.resource).rate
        assert rate is not None
        assert rate >= expect["percent_of_roof_min"]
    for name in expect.get("excluded", ()):
        assert name in verdict.excluded
    if "findings" in expect:
        made = capture(summary=summary, metadata={"hardware": case["hardware"], "cores": 1})
        found = {one.id for one in find(scene_of(made, hardware))}
        assert set(expect["findings"]) <= found
    if "bounds_us" in expect:
        made = capture(summary=summary)
        bounds = vendor_bounds(capture_bounds(made, hardware, "total", roofs="vendor"))
        for name, value in expect["bounds_us"].items():
            assert bounds[name] * 1e6 == pytest.approx(value, abs=0.5), name


@pytest.mark.parametrize(
    "case",
    [MP2, MATMUL_V0, MATMUL_V2, DECODE, RMSNORMS, LAYERNORM],
    ids=["mp2", "matmul-v0", "matmul-v2", "decode", "rmsnorms", "layernorm"],
)
def test_published_cases(case: Case) -> None:
    check(case)


def test_the_third_matmul_has_no_finding_about_data() -> None:
    """At 99 % Tensor activity and 97 % of the roof, data is not what there is to say."""
    _, _, hardware = judge(MATMUL_V2)
    made = capture(summary=summary_of(MATMUL_V2, hardware))
    found = {one.id for one in find(scene_of(made, hardware))}
    assert found & {"tensor-waits-on-dma", "dma-small-transfers", "tensor-idle-by-design"} == set()


NAMES = [
    "mp2-energy-trn1",
    "matmul-4096-v0-trn2",
    "matmul-4096-v1-trn2",
    "matmul-4096-v2-trn2",
    "decode-attention-trn",
    "serialization-stall",
    "rmsnorm-torch-28-chained-trn2",
    "silu-torch-28-chained-trn2",
    "adamw-nki-trn1",
    "layernorm-inf2",
]


def labelled(shared: Path) -> dict[str, Case]:
    with (shared / "measured/labelled_cases.toml").open("rb") as file:
        return {case["name"]: case for case in tomllib.load(file)["case"]}


@pytest.mark.shared
@pytest.mark.parametrize("name", NAMES)
def test_labelled_cases_with_counters(shared: Path, name: str) -> None:
    check(labelled(shared)[name])


@pytest.mark.shared
def test_the_article_is_launch_bound(shared: Path) -> None:
    """Framework windows of an article: no counters, but a clock with the host in it."""
    expect = labelled(shared)["rmsnorm-4x512-bf16"]["expect"]
    rows = evaluate(load_study("rmsnorm-4x512-bf16")).rows
    clocked = [row for row in rows if row.placement.clock == "framework_window"]
    assert {row.variant.name for row in clocked} >= set(expect["variants"])
    assert {row.verdict.label for row in clocked} == {expect["bound"]}


@pytest.mark.shared
def test_a_time_alone_excludes_memory_and_names_no_engine(shared: Path) -> None:
    case = labelled(shared)["rmsnorm-2048x10240-eager-trn2"]
    work = closed_form("rmsnorm", rows=2048, cols=10240, dtype=case["work"]["dtype"])
    assert work.minimal_bytes == case["work"]["minimal_bytes"]
    placed = place(
        work,
        load_hardware(case["hardware"], lnc=case["lnc"]),
        time_s=case["times_us"]["device_execution"] * 1e-6,
        clock="device_execution",
    )
    verdict = decide(evidence_from_time(placed))
    assert verdict.label == case["expect"]["bound"]
    assert set(case["expect"]["excluded"]) <= set(verdict.excluded)


@pytest.mark.shared
def test_every_labelled_case_is_covered(shared: Path) -> None:
    others = {"rmsnorm-4x512-bf16", "rmsnorm-2048x10240-eager-trn2"}
    assert set(labelled(shared)) == set(NAMES) | others
