from __future__ import annotations

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from roofline.errors import MissingFormulaError, WorkError
from roofline.work import from_cache_key, from_signature, from_trace_inputs
from roofline.work.signature import parse_cache_key

EXAMPLE = (
    '"mse_loss--_[128,1024]:BFloat16:S(C)_[128,1024]:BFloat16:S(C)_i1:'
    '0b5c1f1c9ce0a1b2c3d4e5f60718293a4b5c6d7e8f900112233445566778899a"'
)


def test_the_published_cache_key() -> None:
    op, arguments = parse_cache_key(EXAMPLE)
    assert op == "mse_loss"
    assert [str(a) for a in arguments] == ["128x1024:bf16", "128x1024:bf16", "1"]
    count = from_cache_key(EXAMPLE)
    assert count.known
    assert count.total_flops == 3 * 128 * 1024
    assert count.bytes == 2 * 2 * 128 * 1024 + 2


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=4),
       st.sampled_from(["BFloat16", "Half", "Float"]))  # fmt: skip
def test_keys_of_any_shape(shape: list[int], dtype: str) -> None:
    text = ",".join(map(str, shape))
    key = f"mul--_[{text}]:{dtype}:S(C)_[{text}]:{dtype}:S(C):{'ab' * 32}"
    spec = f"{'x'.join(map(str, shape))}:{dtype}"
    assert from_cache_key(key).bytes == from_signature("mul", [spec, spec]).bytes


@pytest.mark.parametrize("key", ["", "mul", "mul--what", "mul--_[4,5]:Nothing:S(C):" + "ab" * 32])
def test_other_keys_are_refused(key: str) -> None:
    with pytest.raises(WorkError):
        from_cache_key(key)


def test_the_six_operators_of_the_naive_norm() -> None:
    wide, row, weight = "4x512:bf16", "4x1:bf16", "512:bf16"
    counts = [
        from_signature("aten::mul", [wide, wide]),
        from_signature("aten::mean", [wide, [-1], True]),
        from_signature("aten::add", [row, 1e-6]),
        from_signature("aten::rsqrt", [row]),
        from_signature("aten::mul", [wide, row]),
        from_signature("aten::mul", [wide, weight]),
    ]
    assert sum(count.total_flops for count in counts) == 8_200
    assert sum(count.bytes for count in counts) == 33_840


def test_a_profile_of_torch_gives_counts() -> None:
    from torch.profiler import ProfilerActivity, profile

    x, w = torch.ones(4, 512, dtype=torch.bfloat16), torch.ones(512, dtype=torch.bfloat16)
    eps = torch.tensor(1e-6)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * w
    outer = [event for event in recorded.events() if event.cpu_parent is None]
    wanted = {"aten::mul", "aten::mean", "aten::add", "aten::rsqrt"}
    ops = [event for event in outer if event.name in wanted]
    total = flops = host = 0
    for event in ops:
        types = ["c10::BFloat16" if shape else "" for shape in event.input_shapes]
        concrete = [""] * len(types)
        if event.name == "aten::mean":
            concrete[1:3] = ["[-1]", "True"]
        if event.name == "aten::add":
            types[1], concrete[2] = "float", "1"
        count = from_trace_inputs(
            event.name, json.dumps(event.input_shapes), json.dumps(types), json.dumps(concrete)
        )
        total, flops, host = (
            total + count.bytes,
            flops + count.total_flops,
            host + (count.host_copy_bytes),
        )
    assert (len(ops), flops, total, host) == (6, 8_200, 33_840, 4)


def test_unknown_is_named_and_strict_raises() -> None:
    count = from_signature("mine::mystery", ["4x4:bf16"])
    assert not count.known
    with pytest.raises(MissingFormulaError, match="mine::mystery"):
        from_signature("mine::mystery", ["4x4:bf16"], strict=True)


def test_what_a_signature_does_not_tell_is_an_error() -> None:
    with pytest.raises(WorkError, match="give outputs"):
        from_signature("aten::constant_pad_nd", ["4x4:bf16", [1, 1]])
    known = from_signature("aten::constant_pad_nd", ["4x4:bf16", [1, 1]], outputs=["4x6:bf16"])
    assert known.bytes == 2 * (16 + 24)
    with pytest.raises(WorkError, match="inner sizes differ"):
        from_signature("aten::mm", ["4x4:bf16", "5x4:bf16"])
    with pytest.raises(WorkError, match="broadcast"):
        from_signature("aten::mul", ["4x4:bf16", "5x5:bf16"])


def test_scaled_formats_read_their_scales() -> None:
    # 4096 x 4096 of mxfp8: one byte an element and one a block of 32
    count = from_signature("aten::mm", ["4096x4096:mxfp8", "4096x4096:mxfp8"],
                           outputs=["4096x4096:bf16"])  # fmt: skip
    n = 4096 * 4096
    assert count.read_bytes == 2 * (n + n // 32)
    assert count.write_bytes == 2 * n
    assert count.tensor_flops == {"mxfp8": 2 * 4096**3}
    assert count.accumulate_dtype == "fp32"
    fp4 = from_signature("aten::mm", ["64x64:mxfp4", "64x64:mxfp4"], outputs=["64x64:bf16"])
    assert fp4.read_bytes == 2 * (64 * 64 // 2 + 64 * 64 // 32)


def test_mixed_inputs_multiply_in_the_wider_type() -> None:
    mixed = from_signature("aten::mm", ["8x8:fp8", "8x8:bf16"], outputs=["8x8:bf16"])
    assert mixed.tensor_flops == {"bf16": 1024}
    assert from_signature("aten::mm", ["8x8:int8", "8x8:int8"]).accumulate_dtype == "int32"


TORCH_DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32, "int32": torch.int32,
                "int64": torch.int64, "bool": torch.bool}  # fmt: skip


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("add", ["4x8:bf16", "8:bf16"]),
        ("add", ["4x8:bf16", "8:fp32"]),
        ("mul", ["4x8:int32", 2]),
        ("mul", ["4x8:int32", 2.5]),
        ("div", ["4x8:int32", "4x8:int32"]),
        ("exp", ["4x8:int32"]),
        ("sigmoid", ["4x8:bf16"]),
        ("where", ["4x8:bool", "4x8:bf16", "8:bf16"]),
        ("lt", ["4x8:bf16", "8:bf16"]),
        ("sum", ["4x8:bf16", [-1], True]),
        ("sum", ["4x8:int32", [-1]]),
        ("mean", ["4x8:fp32", [0, 1]]),
        ("amax", ["4x8:fp32", [0]]),
        ("max", ["4x8:fp32", 1]),
        ("argmax", ["4x8:fp32", 1]),
        ("var", ["4x8:fp32", [1]]),
        ("softmax", ["4x8:fp32", -1]),
        ("cumsum", ["4x8:fp32", 1]),
        ("sort", ["4x8:fp32"]),
        ("topk", ["4x8:fp32", 3]),
        ("mm", ["4x8:bf16", "8x6:bf16"]),
        ("matmul", ["3x1x4x8:bf16", "2x8x6:bf16"]),
        ("matmul", ["4x8:bf16", "8:bf16"]),
        ("addmm", ["6:bf16", "4x8:bf16", "8x6:bf16"]),
        ("linear", ["2x4x8:bf16", "6x8:bf16", "6:bf16"]),
        ("conv2d", ["2x3x9x9:fp32", "4x3x3x3:fp32", None, [2, 2], [1, 1]]),
        ("layer_norm", ["4x8:fp32", [8], "8:fp32", "8:fp32"]),
        ("rms_norm", ["4x8:bf16", [8], "8:bf16"]),
        ("embedding", ["100x8:bf16", "3x4:int64"]),
        ("index_select", ["5x6:bf16", 0, "3:int64"]),
        ("gather", ["5x6:bf16", 0, "5x6:int64"]),
        ("clone", ["4x8:bf16"]),
        ("mse_loss", ["4x8:fp32", "4x8:fp32", 1]),
        ("mse_loss", ["4x8:fp32", "4x8:fp32", 0]),
        ("scaled_dot_product_attention", ["1x2x8x4:bf16"] * 3),
    ],
)
def test_inferred_results_are_those_of_torch(op: str, arguments: list[object]) -> None:
    def made(argument: object) -> object:
        if isinstance(argument, str):
            shape, dtype = argument.split(":")
            sizes = [int(size) for size in shape.split("x")]
            return torch.empty(sizes, dtype=TORCH_DTYPES[dtype], device="meta")
        return argument

    fn = getattr(torch.ops.aten, op)
    out = fn(*map(made, arguments))
    results = out if isinstance(out, tuple) else (out,)
    inferred = from_signature(op, arguments).outputs
    names = {dtype: key for key, dtype in TORCH_DTYPES.items()}
    assert list(inferred) == [(tuple(t.shape), names[t.dtype]) for t in results]


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("max_pool2d", ["1x2x8x8:fp32", [2, 2]]),
        ("all_to_all_single", ["4x8:fp32"]),
        ("quantize_per_tensor", ["4x8:fp32", 0.1, 0]),
        ("_scaled_mm", ["32x32:fp8", "32x16:fp8"]),
        ("repeat", ["4x8:fp32", [2, 1]]),
        ("native_layer_norm_backward", ["4x8:fp32", "4x8:fp32", [8], "4x1:fp32", "4x1:fp32"]),
    ],
)
def test_results_that_do_not_follow_are_asked_for(op: str, arguments: list[object]) -> None:
    name = f"_c10d_functional::{op}" if op == "all_to_all_single" else op
    with pytest.raises(WorkError, match="give outputs"):
        from_signature(name, arguments)
