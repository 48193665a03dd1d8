"""Shape texts and operator names as people write them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from roofline.errors import WorkError
from roofline.model.cases import read_cases
from roofline.model.names import resolve_op
from roofline.model.operands import parse_shapes, work_from


@pytest.mark.shared
def test_published_rows_move_the_bytes_they_say(root: Path, shared: Path) -> None:
    with (shared / "measured" / "tilebench_trn2.csv").open(newline="") as file:
        expected = [int(row["min_bytes"]) for row in csv.DictReader(file)]
    cases = read_cases(root / "captures/published/tilebench_trn2.csv", hardware="trn2")
    assert [case.work.minimal_bytes for case in cases if case.work] == expected


@pytest.mark.parametrize(
    ("op", "text", "flops", "size"),
    [
        ("matmul", "M=64 K=32 N=16", 2 * 64 * 32 * 16, 2 * (64 * 32 + 32 * 16 + 64 * 16)),
        ("matmul", "64x32 @ 32x16", 2 * 64 * 32 * 16, 2 * (64 * 32 + 32 * 16 + 64 * 16)),
        ("matmul", "a[64,32] b[32,16] -> c[64,16]:fp32", 65536, 2 * (2048 + 512) + 4 * 1024),
        ("vector_add", "n=1000", 1000, 6000),
        ("relu", "10x10", 100, 400),
        ("relu", "(10, 10)", 100, 400),
        ("matmul", "64x32, 32x16", 2 * 64 * 32 * 16, 2 * (64 * 32 + 32 * 16 + 64 * 16)),
        ("silu", "rows=8 cols=4", None, 128),
    ],
)
def test_counts(op: str, text: str, flops: int | None, size: int) -> None:
    work = work_from(op, parse_shapes(text, "bf16"), "bf16")
    assert work.minimal_bytes == size
    if flops is not None:
        assert work.total_flops == flops


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("vector_add", "add"),
        ("matmul_fp32_fp16_fp8", "matmul"),
        ("mean_reduction", "mean"),
        ("rmsnorm", "rms_norm"),
        ("RMS-Norm", "rms_norm"),
        ("log_softmax_fwd", "log_softmax"),
        ("fused_add_rmsnorm", "rms_norm"),
        ("gemv", "mv"),
        ("matrix_transpose", "transpose_copy"),
        ("frobnicate", None),
    ],
)
def test_names(name: str, key: str | None) -> None:
    assert resolve_op(name) == key


def test_an_unknown_operator_is_a_stream_and_says_so() -> None:
    work = work_from("frobnicate", parse_shapes("x[100,7] y[7] -> z[100,7]", "fp32"), "fp32")
    assert work.partial
    assert work.unknown_ops == ("frobnicate",)
    assert work.minimal_bytes == 4 * (700 + 7 + 700)
    assert work.element_passes == 700


def test_an_unknown_lookup_need_not_read_its_whole_table() -> None:
    shapes = parse_shapes("table[32000,64] ids[100]:int32 -> y[100,64]", "fp32")
    work = work_from("fetch_rows", shapes, "fp32")
    assert work.minimal_bytes == 4 * (100 * 64 + 100 + 100 * 64)
    assert work.dispatched_bytes == 4 * (32000 * 64 + 100 + 100 * 64)
    known = work_from("embedding", parse_shapes(
        "ids[100]:int32 table[32000,64] -> y[100,64]", "fp32"), "fp32")  # fmt: skip
    assert known.minimal_bytes == 4 * (100 * 64 + 100 + 100 * 64)


def test_a_chain_is_one_region() -> None:
    work = work_from("matmul+gelu", parse_shapes("M=64 K=32 N=16", "bf16"), "bf16")
    assert work.minimal_bytes == 2 * (64 * 32 + 32 * 16 + 64 * 16)
    assert work.tensor_flops == {"bf16": 2 * 64 * 32 * 16}
    chain = work_from("add_rmsnorm_matmul", parse_shapes("M=64 K=32 N=16", "fp32"), "fp32")
    assert chain.minimal_bytes == 4 * (2 * 64 * 32 + 32 * 16 + 64 * 16)


@pytest.mark.parametrize(
    "text",
    [
        "see the tutorial",
        "",
        "4 GiB",
        "256->256, 224x224, 3x3",
        "1 column",
        "1,128,512,512",
        "0x7",
        "x[9999999999999999999]",
    ],
)
def test_texts_that_are_no_shape(text: str) -> None:
    with pytest.raises(WorkError, match=r"no shape|at least 1"):
        parse_shapes(text, "bf16")


def test_a_transposition_without_its_result_moves_what_it_reads() -> None:
    work = work_from("transpose", parse_shapes("1024x512", "fp32"), "fp32")
    assert work.minimal_bytes == 2 * 4 * 1024 * 512
    assert not work.partial
