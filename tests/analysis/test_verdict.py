from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.analysis.verdict import (
    LABELS,
    PRESETS,
    Evidence,
    ResourceEvidence,
    decide,
)
from roofline.errors import QueryError


def evidence(time_s: float = 1e-3, basis: str = "summary", **kwargs: object) -> Evidence:
    resources = tuple(
        ResourceEvidence(resource=name, **values)
        for name, values in kwargs.pop("resources", {}).items()
    )
    clock = kwargs.pop("clock", "device_body")
    return Evidence(time_s=time_s, clock=clock, basis=basis, resources=resources, **kwargs)


# Kernels whose limit is established by their published counters. Fractions are published figures
# over the window; memory rates are bytes / time / what one logical core can reach
# (272 GB/s on trn1 and inf2, 368 GB/s on trn2 with LNC 1, 716.8 GB/s with LNC 2).
PUBLISHED = {
    "mp2 energy, trn1": (
        evidence(
            0.2083,
            resources={
                "vector": {"active": 0.96454 * 0.2138 / 0.20825},
                "scalar": {"active": 0.0377},
                "tensor": {"active": 2.3e-6},
                "gpsimd": {"active": 1.1e-4},
                "dma": {"active": 0.2712, "rate": 6.584e9 / 0.20825 / 272e9},
            },
        ),
        "vector:",
    ),
    "matmul 4096 V0, trn2": (
        evidence(
            8602e-6,
            resources={
                "dma": {"active": 7906 / 8602, "rate": 1207697408 / 8602e-6 / 368e9},
                "tensor": {"active": 4806 / 8602, "rate": 1748 / 8602},
                "vector": {"active": 176 / 8602},
            },
        ),
        "dma:small-transfers",
    ),
    "matmul 4096 V1, trn2": (
        evidence(
            2451e-6,
            resources={
                "dma": {"active": 1325 / 2451, "rate": 201326592 / 2451e-6 / 368e9},
                "tensor": {"active": 2163 / 2451, "rate": 1748 / 2451},
                "vector": {"active": 174 / 2451},
            },
        ),
        "tensor:",
    ),
    "matmul 4096 V2, trn2": (
        evidence(
            1801e-6,
            resources={
                "dma": {"active": 819 / 1801, "rate": 201326592 / 1801e-6 / 368e9},
                "tensor": {"active": 1781 / 1801, "rate": 1748 / 1801},
                "vector": {"active": 172 / 1801},
            },
        ),
        "tensor:throughput",
    ),
    "decode attention, trn2": (
        evidence(
            resources={
                "vector": {"active": 0.41},
                "dma": {"active": 0.055},
                "hbm": {"rate": 0.047},
            }
        ),
        "serialization",
    ),
    "serialization stall, trn2": (
        evidence(resources={"tensor": {"rate": 0.20}, "hbm": {"rate": 0.15}}),
        "serialization",
    ),
    "28 RMSNorms, trn2 LNC 2": (
        evidence(
            601e-6,
            union=True,
            cores=2,
            resources={
                "tensor": {"active": 0.0876 / 0.9452},
                "vector": {"active": 0.7105 / 0.9452},
                "scalar": {"active": 0.7296 / 0.9452},
                "gpsimd": {"active": 0.0350 / 0.9452},
                "hbm": {"rate": 0.0149},
            },
        ),
        "serialization",
    ),
    "28 SiLUs, trn2 LNC 2": (
        evidence(
            220e-6,
            union=True,
            cores=2,
            resources={
                "scalar": {"active": 0.936 / 0.9823},
                "vector": {"active": 0.018},
                "hbm": {"rate": 0.04},
            },
        ),
        "scalar:",
    ),
    "AdamW, trn1": (
        evidence(
            1999.8e-6,
            clock="device_total",
            resources={
                "vector": {"active": 0.900},
                "scalar": {"active": 0.616},
                "gpsimd": {"active": 0.006},
                "dma": {"rate": 448.3e6 / 1999.8e-6 / 272e9},
                "hbm": {"rate": 448.3e6 / 1999.8e-6 / 410e9},
            },
        ),
        "vector:",
    ),
    "LayerNorm, inf2": (
        evidence(
            780e-6,
            resources={
                "dma": {"active": 778 / 780, "rate": 134742016 / 780e-6 / 272e9},
                "hbm": {"rate": 134742016 / 780e-6 / 410e9},
                "vector": {"active": 317 / 780},
                "tensor": {"active": 0.55 / 780},
            },
        ),
        "dma:bandwidth",
    ),
    "RMSNorm 4x512 compiled": (
        evidence(
            375.5e-6,
            basis="time",
            clock="framework_window",
            fixed_s=(295e-6, 375e-6),
            launches=1,
            resources={"hbm": {"rate": 3e-5}},
        ),
        "overhead:host",
    ),
    "RMSNorm 2048x10240 eager, trn2 LNC 2": (
        evidence(
            292.1e-6,
            basis="time",
            clock="device_execution",
            fixed_s=(9e-6, 22e-6),
            resources={"hbm": {"rate": 83906560 / 292.1e-6 / 716.8e9}},
        ),
        "unknown",
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_kernel_whose_limit_is_known_gets_it(name: str) -> None:
    given_evidence, expected = PUBLISHED[name]
    verdict = decide(given_evidence)
    assert verdict.label.startswith(expected), verdict
    assert verdict.label in LABELS
    assert verdict.explanation.endswith(".")


def test_under_the_mark_is_said_with_its_margin() -> None:
    verdict = decide(PUBLISHED["matmul 4096 V1, trn2"][0])
    assert verdict.margin is not None
    assert round(verdict.margin, 2) == -0.02
    assert verdict.margin_words == "0.02 under the vendor's mark of 0.90"
    assert verdict.weak


def test_serialization_names_the_busiest_resource() -> None:
    assert decide(PUBLISHED["28 RMSNorms, trn2 LNC 2"][0]).busiest == "scalar"
    decode = decide(PUBLISHED["decode attention, trn2"][0])
    assert decode.busiest == "vector"
    assert {"hbm", "dma"} <= set(decode.excluded)


def test_a_time_alone_excludes_the_memory_and_names_no_engine() -> None:
    verdict = decide(PUBLISHED["RMSNorm 2048x10240 eager, trn2 LNC 2"][0])
    assert verdict.excluded == ("hbm",)
    assert "1.5 times the counted bytes" in verdict.explanation
    assert verdict.missing
    near = evidence(basis="time", clock="device_execution", resources={"hbm": {"rate": 0.58}})
    assert decide(near).label == "unknown"
    assert decide(near).excluded == ()
    assert (decide(near).busiest, decide(near).utilization) == ("hbm", 0.58)


def test_a_time_alone_says_which_rate_is_nearest_to_its_mark() -> None:
    rates = {"hbm": {"rate": 0.13}, "tensor": {"rate": 0.5}}
    verdict = decide(evidence(basis="time", clock="device_execution", resources=rates))
    assert (verdict.label, verdict.busiest, verdict.utilization) == ("unknown", "tensor", 0.5)
    assert "Not HBM-bound at 0.13" in verdict.explanation
    assert "the Tensor engine reaches 0.50 of its peak" in verdict.explanation


def test_a_time_alone_at_the_mark_of_a_roof_names_it_but_weakly() -> None:
    verdict = decide(
        evidence(basis="time", clock="device_execution", resources={"hbm": {"rate": 0.89}})
    )
    assert verdict.label == "hbm:bandwidth"
    assert verdict.weak


def test_the_union_of_cores_is_a_weaker_verdict() -> None:
    assert decide(PUBLISHED["28 SiLUs, trn2 LNC 2"][0]).weak


def test_reasons_of_the_tensor_engine() -> None:
    def tensor(**values: float) -> str:
        return decide(
            evidence(resources={"tensor": {"active": 0.95, **values}, "dma": {"active": 0.2}})
        ).label

    assert tensor(rate=0.9) == "tensor:throughput"
    assert tensor(rate=0.4) == "tensor:underfilled"
    assert tensor(rate=0.4, throttled=0.45) == "tensor:throttled"
    assert tensor() == "tensor:unknown"


def test_weight_loads_are_not_work() -> None:
    verdict = decide(
        evidence(
            resources={
                "tensor": {"active": 0.95, "working": 0.5, "rate": 0.4},
                "dma": {"active": 0.2},
            }
        )
    )
    assert verdict.label == "serialization"


@pytest.mark.parametrize("engine", ["vector", "scalar", "gpsimd"])
def test_reasons_of_the_element_engines(engine: str) -> None:
    def label(**values: float) -> str:
        return decide(
            evidence(resources={engine: {"active": 0.95, **values}, "dma": {"active": 0.2}})
        ).label

    assert label(streaming=0.8) == f"{engine}:throughput"
    assert label(streaming=0.2) == f"{engine}:instruction-overhead"
    assert label(rate=0.9) == f"{engine}:throughput"
    assert label() == f"{engine}:unknown"


def test_reasons_of_dma() -> None:
    def label(**values: float) -> str:
        return decide(
            evidence(resources={"dma": {"active": 0.95, **values}, "tensor": {"active": 0.2}})
        ).label

    assert label(rate=0.8) == "dma:bandwidth"
    assert label(rate=0.2, bytes_per_partition=256) == "dma:small-transfers"
    assert label(rate=0.2, bytes_per_partition=8192, issue=0.7) == "dma:issue"
    assert label(rate=0.2) == "dma:small-transfers"
    assert label() == "dma:unknown"


def test_the_memory_ceiling_that_binds_gives_the_name() -> None:
    both = {"dma": {"active": 0.95, "rate": 0.7}, "hbm": {"rate": 0.72}, "tensor": {"active": 0.1}}
    assert decide(evidence(resources=both)).label == "hbm:bandwidth"


def test_fixed_time_comes_before_everything_but_bad_data() -> None:
    full = {"vector": {"active": 0.99}, "dma": {"active": 0.1}}
    fixed = evidence(clock="device_total", fixed_s=(6e-4, 7e-4), resources=full)
    assert decide(fixed).label == "overhead:device-start"
    unsure = evidence(clock="device_total", fixed_s=(1e-4, 7e-4), resources=full)
    verdict = decide(unsure)
    assert verdict.label == "vector:unknown"
    assert verdict.alternatives == (
        ("fixed time at the upper end, 700 µs", "overhead:device-start"),
    )
    lost = evidence(clock="device_total", fixed_s=(6e-4, 7e-4), resources=full, lost_fraction=0.2)
    assert decide(lost).label == "unknown"


def test_launches_that_cannot_have_taken_so_little_are_no_verdict() -> None:
    six = {"basis": "time", "clock": "device_execution", "fixed_s": (54e-6, 132e-6), "launches": 6}
    verdict = decide(evidence(38e-6, **six))
    assert verdict.label == "unknown"
    assert "6 launches are counted" in verdict.explanation
    assert "54 µs or more" in verdict.explanation
    assert decide(evidence(55e-6, **six)).label == "overhead:device-start"
    one = {**six, "launches": 1}  # a published floor is no law: one launch may be faster
    assert decide(evidence(38e-6, **one)).label == "overhead:device-start"


def test_a_contradiction_is_not_judged() -> None:
    verdict = decide(evidence(resources={"vector": {"active": 1.4}, "dma": {"active": 0.1}}))
    assert verdict.label == "unknown"
    assert "more than all of it" in verdict.explanation


def test_a_roof_moved_across_its_spread_shows_in_the_verdict() -> None:
    verdict = decide(
        evidence(
            resources={
                "dma": {"active": 0.95, "rate": 0.62, "rate_low": 0.52, "rate_high": 0.63},
                "tensor": {"active": 0.1},
            }
        )
    )
    assert verdict.label == "dma:bandwidth"
    assert not verdict.stable
    assert verdict.alternatives == (
        ("dma roof at its highest documented value", "dma:small-transfers"),
    )


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_fraction_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(QueryError, match=r"vector: active"):
        ResourceEvidence(resource="vector", active=value)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_a_window_has_a_length(value: float) -> None:
    with pytest.raises(QueryError, match="positive time"):
        evidence(value)


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(QueryError, match="vendor, strict"):
        decide(evidence(), "sloppy")


fraction = st.one_of(st.none(), st.floats(0, 1))


@given(
    basis=st.sampled_from(["capture", "summary", "time"]),
    active=st.lists(fraction, min_size=5, max_size=5),
    rates=st.lists(fraction, min_size=5, max_size=5),
    fixed=st.one_of(st.none(), st.floats(0, 2e-3)),
    preset=st.sampled_from(sorted(PRESETS)),
)
def test_every_evidence_gets_a_known_label_and_a_consistent_margin(
    basis: str,
    active: list[float | None],
    rates: list[float | None],
    fixed: float | None,
    preset: str,
) -> None:
    names = ("tensor", "vector", "scalar", "gpsimd", "dma")
    resources = {
        name: {"active": busy, "rate": rate}
        for name, busy, rate in zip(names, active, rates, strict=True)
    }
    given_evidence = evidence(
        basis=basis,
        resources=resources,
        fixed_s=None if fixed is None else (fixed / 2, fixed),
        clock="device_total",
    )
    verdict = decide(given_evidence, preset)
    assert verdict.label in LABELS
    assert verdict.resource not in verdict.excluded
    marks = PRESETS[preset]
    if verdict.resource in (*names, "hbm"):
        assert verdict.margin is not None
        assert verdict.margin >= -marks.near - 1e-6
    if verdict.label == "serialization":
        assert verdict.margin is not None
        assert verdict.margin < -marks.near + 1e-6
    assert decide(given_evidence, preset) == verdict


@given(busy=st.floats(0.01, 1), step=st.floats(0, 0.2))
def test_more_activity_never_makes_an_engine_less_of_a_limit(busy: float, step: float) -> None:
    def named(value: float) -> bool:
        resources = {"scalar": {"active": min(1.0, value)}, "dma": {"active": 0.3}}
        return decide(evidence(resources=resources)).resource == "scalar"

    assert named(busy + step) or not named(busy)
