"""Operators of a kernel suite: recognised by name and shape, or counted as a stream that says so.

The expected bytes and FLOP are written out by hand; times in here are no measurements.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from roofline.hardware.load import load_hardware
from roofline.model.cases import read_cases
from roofline.model.estimate import estimate
from roofline.model.operands import Said, parse_shapes, work_from
from roofline.model.validate import validate

M = 1 << 20
ROWS = 2048 * 512

STREAMS = [  # bf16 unless said: (operator, shape, bytes each operand once)
    ("matrix_addition", "A[1024,1024] B[1024,1024] -> C[1024,1024]", 6 * M),
    ("vector_sub", "x[1048576] y[1048576] -> z[1048576]", 6 * M),
    ("saxpy", "x[1048576] y[1048576] -> z[1048576]", 6 * M),
    ("outer_product", "x[1024] y[1024] -> A[1024,1024]", 2 * M + 4096),
    ("tensor_add_broadcast", "x[2048,512] y[1,512] -> z[2048,512]", 4 * ROWS + 1024),
    ("leaky_relu", "x[1048576] -> y[1048576]", 4 * M),
    ("hard_swish", "x[1048576] → y[1048576]", 4 * M),
    ("value_clipping", "x[1048576] -> y[1048576]", 4 * M),
    ("color_inversion", "x[1024,1024,4] -> y[1024,1024,4]", 16 * M),
    ("geglu", "x[2048,1024] -> y[2048,512]", 6 * ROWS),
    ("swiglu", "gate[2048,512] up[2048,512] -> y[2048,512]", 6 * ROWS),
    ("layernorm", "x[1,2048,512] w[512] b[512] -> y[1,2048,512]", 4 * ROWS + 2048),
    ("groupnorm", "x[8,64,32,32] w[64] b[64] -> y[8,64,32,32]", 2 * M + 256),
    ("batchnorm", "x[8,64,32,32] w[64] b[64] -> y[8,64,32,32]", 2 * M + 256),
    ("l2norm", "x[2048,512] -> y[2048,512]", 4 * ROWS),
    ("fused_add_rmsnorm", "x[2048,512] r[2048,512] w[512] -> y[2048,512] h[2048,512]",
     8 * ROWS + 1024),
    ("masked_softmax", "x[2048,512] m[2048,512]:bool -> y[2048,512]", 5 * ROWS),
    ("dropout", "x[1048576] mask[1048576]:uint8 -> y[1048576]", 5 * M),
    ("cast", "x[1048576] -> y[1048576]:fp32", 6 * M),
    ("quantize_int8", "x[2048,512] -> y[2048,512]:int8 s[2048]:fp32", 3 * ROWS + 8192),
    ("permute_0213", "x[2,128,8,64] -> y[2,8,128,64]", 4 * 131072),
    ("reverse_array", "x[1048576] -> y[1048576]", 4 * M),
    ("interleave", "a[1048576] b[1048576] -> c[2097152]", 8 * M),
    ("split", "x[2048,1024] -> a[2048,512] b[2048,512]", 8 * ROWS),
    ("slice", "x[2048,1024] -> y[2048,512]", 4 * ROWS),
    ("pad", "x[1024,1024] -> y[1026,1026]", 2 * (M + 1026 * 1026)),
    ("memset", "-> y[1048576]", 2 * M),
    ("embedding", "ids[2048]:int32 table[32000,512] -> y[2048,512]", 4 * ROWS + 8192),
    ("embedding", "ids[2048]:int64 table[4,512] -> y[2048,512]", 16384 + 4096 + 2 * ROWS),
    ("gather_rows", "x[32000,512] idx[2048]:int64 -> y[2048,512]", 4 * ROWS + 16384),
    ("scatter", "x[2048,512] idx[2048]:int32 -> y[32000,512]", 4 * ROWS + 8192),
    ("max_reduction", "x[2048,512] -> y[2048]", 2 * ROWS + 4096),
    ("reduce_sum", "x[1048576] -> y[1]:fp32", 2 * M + 4),
    ("argmax", "x[2048,512] -> y[2048]:int32", 2 * ROWS + 8192),
    ("prefix_sum", "x[1048576] -> y[1048576]", 4 * M),
    ("topk", "x[2048,512] -> v[2048,8] i[2048,8]:int32", 2 * ROWS + 6 * 16384),
    ("bitonic_sort", "x[1048576] -> y[1048576]", 4 * M),
    ("mse", "x[1048576] y[1048576] -> z[1]:fp32", 4 * M + 4),
    ("cross_entropy", "x[1024,32000] t[1024]:int64 -> loss[1]:fp32", 65536000 + 8192 + 4),
    ("maxpool2d", "x[8,64,56,56] -> y[8,64,28,28]", 2 * (1605632 + 401408)),
    ("stencil_2d", "x[1024,1024] -> y[1024,1024]", 4 * M),
    ("depthwise_conv1d", "x[8,512,1024] w[512,4] -> y[8,512,1024]", 16 * M + 4096),
    ("conv1d", "x[1048576] w[31] -> y[1048546]", 2 * (M + 31 + 1048546)),
    ("adamw", "p[1048576] g[1048576] m[1048576] v[1048576] -> p[1048576] m[1048576] v[1048576]",
     14 * M),
    ("rope", "x[1,1024,8,64] cos[1024,64] sin[1024,64] -> y[1,1024,8,64]", 4 * 524288 + 4 * 65536),
]  # fmt: skip

CUBE = 2 * 1024 * 512 * 256
SQUARE = 4 * 8 * 1024 * 1024 * 64  # two products of 8 heads, 1024 positions, 64 wide
PRODUCTS = [  # (operator, shape, Tensor FLOP, multiply dtype)
    ("matrix_multiplication", "A[1024,512] B[512,256] -> C[1024,256]", CUBE, "bf16"),
    ("matmul_transb", "A[1024,512] B[256,512] -> C[1024,256]", CUBE, "bf16"),
    ("matmul_ta", "A[512,1024] B[512,256] -> C[1024,256]", CUBE, "bf16"),
    ("linear", "x[1024,512] w[512,256] b[256] -> y[1024,256]", CUBE, "bf16"),
    ("matmul_bias_gelu", "A[1024,512] B[512,256] b[256] -> C[1024,256]", CUBE, "bf16"),
    ("grouped_gemm", "x[1024,512] w[8,512,256] -> y[1024,256]", CUBE, "bf16"),
    ("batched_matmul", "A[8,1024,512] B[8,512,256] -> C[8,1024,256]", 8 * CUBE, "bf16"),
    ("fp8_matmul", "A[1024,512]:fp8 B[512,256]:fp8 -> C[1024,256]:bf16", CUBE, "fp8_e4m3"),
    ("matmul_int8", "A[1024,512]:int8 B[512,256]:int8 -> C[1024,256]:int32", CUBE, "bf16"),
    ("matvec", "A[4096,4096] x[4096] -> y[4096]", 2 * 4096 * 4096, "bf16"),
    ("flash_attention", "q[8,1024,64] k[8,1024,64] v[8,1024,64] -> o[8,1024,64]", SQUARE, "bf16"),
    ("flash_attention", "q[8,64,1024] k[8,64,1024] v[8,1024,64] -> o[8,1024,64]", SQUARE, "bf16"),
    ("attention", "q[1,1024,8,64] k[1,1024,8,64] v[1,1024,8,64] -> o[1,1024,8,64]",
     SQUARE, "bf16"),
    ("gqa", "q[1,8,1024,64] k[1,2,1024,64] v[1,2,1024,64] -> o[1,8,1024,64]", SQUARE, "bf16"),
    ("causal_attention", "q[8,1024,64] k[8,1024,64] v[8,1024,64] -> o[8,1024,64]",
     4 * 8 * 64 * 1024 * 1025 // 2, "bf16"),
    ("decode_attention", "q[1,8,1,64] k[1,8,1024,64] v[1,8,1024,64] -> o[1,8,1,64]",
     SQUARE // 1024, "bf16"),
    ("conv2d", "x[8,64,56,56] w[128,64,3,3] -> y[8,128,54,54]",
     2 * 8 * 128 * 54 * 54 * 64 * 9, "bf16"),
]  # fmt: skip

UNKNOWN = [
    ("frobnicate", "x[2048,512] -> y[2048,512]"),
    ("mamba_scan", "u[1,512,1024] delta[1,512,1024] A[512,16] -> y[1,512,1024]"),
    ("linear_attention", "q[1,8,1024,64] k[1,8,1024,64] v[1,8,1024,64] -> o[1,8,1024,64]"),
    ("sliding_window_attention", "q[8,1024,64] k[8,1024,64] v[8,1024,64] -> o[8,1024,64]"),
    ("fft", "x[2048,512] -> y[2048,512]"),
    ("attention_block", "x[1,1024,512] w[512,1536] o[512,512] -> y[1,1024,512]"),
]


@pytest.mark.parametrize(("op", "shape", "size"), STREAMS)
def test_bytes_of_known_operators(op: str, shape: str, size: int) -> None:
    work = work_from(op, parse_shapes(shape, "bf16"), "bf16")
    assert work.minimal_bytes == size
    assert not work.partial


@pytest.mark.parametrize(("op", "shape", "flops", "dtype"), PRODUCTS)
def test_products_of_known_operators(op: str, shape: str, flops: int, dtype: str) -> None:
    work = work_from(op, parse_shapes(shape, "bf16"), "bf16")
    assert work.tensor_flops == {dtype: flops}
    assert not work.partial


def test_the_flop_of_a_row_say_whether_an_attention_is_masked() -> None:
    shapes = parse_shapes("q[8,1024,64] k[8,1024,64] v[8,1024,64] -> o[8,1024,64]", "bf16")
    half = work_from("attention", shapes, "bf16", said=Said(flops=SQUARE / 2))
    full = work_from("attention", shapes, "bf16", said=Said(flops=SQUARE))
    named = work_from("attention", shapes, "bf16", said=Said(words="causal=True"))
    assert half.tensor_flops == named.tensor_flops == {"bf16": 4 * 8 * 64 * 1024 * 1025 // 2}
    assert full.tensor_flops == {"bf16": SQUARE}


def test_bytes_of_a_row_bring_the_bound_down_and_never_up() -> None:
    shapes = parse_shapes("x[2048,512] -> y[2048,512]", "bf16")
    less = work_from("relu", shapes, "bf16", said=Said(bytes=3 * ROWS))
    more = work_from("relu", shapes, "bf16", said=Said(bytes=9 * ROWS))
    assert (less.minimal_bytes, more.minimal_bytes) == (3 * ROWS, 4 * ROWS)
    assert less.dispatched_bytes == more.dispatched_bytes == 4 * ROWS


def test_flop_of_an_unknown_operator_are_passes_or_products() -> None:
    shapes = parse_shapes("x[1024,512] w[512,1024] -> y[1024,512]", "bf16")
    few = work_from("frobnicate", shapes, "bf16", said=Said(flops=6 * 1024 * 512))
    many = work_from("frobnicate", shapes, "bf16", said=Said(flops=4 * CUBE))
    assert few.ops[0].element_passes == 3 * 1024 * 512
    assert not few.tensor_flops
    assert many.tensor_flops == {"bf16": 4 * CUBE}


def test_the_stages_of_an_attention_follow_one_another() -> None:
    shapes = parse_shapes("q[8,1024,64] k[8,1024,64] v[8,1024,64] -> o[8,1024,64]", "bf16")
    work = work_from("attention", shapes, "bf16")
    found = estimate(work, load_hardware("trn2", lnc=1), variant="nki")
    engines = sum(found.terms_s[name] for name in ("vector", "scalar", "tensor", "dma"))
    fixed = found.terms_s["floor"] + found.terms_s["stages"]
    assert found.time_s == pytest.approx(engines + fixed)  # the sum of the terms, in floats
    scores = 8 * 1024 * 1024 / 128  # on each lane, one exponential and two passes of Vector
    assert found.terms_s["scalar"] > scores / 1.2e9
    assert found.terms_s["vector"] > 2 * scores / 0.96e9


def test_every_row_of_a_suite_has_a_bound_and_an_estimate(tmp_path: Path) -> None:
    rows = [(op, shape) for op, shape, *_ in (*STREAMS, *PRODUCTS)] + UNKNOWN
    head = "op,params,shape,dtype,implementation,time_us,flops_by_their_formula,min_bytes,notes"
    file = tmp_path / "suite.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        out.write(head + "\n")
        writer = csv.writer(out)
        for op, shape in rows:
            for dtype in ("bf16", "fp32", "int8"):
                for who in ("torch_eager", "nki"):
                    writer.writerow([op, "K=512", shape, dtype, who, 1e6, "", "", ""])
        writer.writerow(["whatever", "S=1", "see the text", "bf16", "nki", 90, "", 4 * M, ""])
        writer.writerow(["whatever", "", "see the text", "bf16", "nki", 90, "", "", ""])
    *found, streamed, lost = validate(read_cases(file, hardware="trn2")).rows
    for row in found:
        assert row.estimate is not None, (row.case.op, row.problem)
        assert row.lower is not None
        limits = (row.lower.seconds, row.estimate.schedule_bound_s, row.estimate.time_s)
        assert limits == tuple(sorted(limits))
        known = row.case.op not in {op for op, _ in UNKNOWN}
        assert row.estimate.partial != known
        assert known or row.estimate.high_s > 2 * row.estimate.time_s
    assert streamed.estimate is not None
    assert streamed.estimate.partial
    assert streamed.case.work is not None
    assert streamed.case.work.minimal_bytes == 4 * M
    assert lost.estimate is None
    assert "no shape" in lost.problem
