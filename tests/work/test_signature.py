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
