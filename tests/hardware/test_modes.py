"""The rules that say which instruction runs at how many elements per lane and cycle."""

from __future__ import annotations

import pytest

from roofline.errors import RooflineError
from roofline.hardware.load import load_hardware


@pytest.mark.parametrize(
    ("name", "engine", "operation", "dtypes", "where", "expected"),
    [
        # Trainium2: documented conditions, and traces where they say more
        ("trn2", "vector", "tensor_copy", ["bf16", "bf16"], {"operands": "sbuf"}, 4),
        ("trn2", "vector", "tensor_scalar", ["fp16"], {"operands": "sbuf"}, 4),
        ("trn2", "vector", "tensor_copy", ["bf16"], {"operands": "one_psum"}, 2),
        ("trn2", "vector", "tensor_copy", ["bf16"], {"operands": "psum"}, 1),
        ("trn2", "vector", "tensor_copy", ["bf16"], {"operands": "sbuf", "contiguous": False}, 2),
        ("trn2", "vector", "tensor_copy", ["fp32"], {"operands": "sbuf"}, 2),
        ("trn2", "vector", "tensor_copy", ["fp32"], {"operands": "one_psum"}, 1),
        ("trn2", "vector", "tensor_scalar", ["bf16", "fp8"], {"operands": "sbuf"}, 2),
        ("trn2", "vector", "tensor_tensor", ["bf16"], {"operands": "sbuf"}, 2),
        ("trn2", "vector", "tensor_tensor", ["fp16"], {"operands": "sbuf", "broadcast": True}, 1),
        ("trn2", "vector", "tensor_tensor", ["fp32"], {"operands": "sbuf"}, 1),
        ("trn2", "vector", "tensor_reduce", ["fp16"], {"operands": "sbuf"}, 1),
        ("trn2", "vector", "reciprocal", ["fp32"], {"operands": "sbuf"}, 0.125),
        ("trn2", "scalar", "activation", ["bf16"], {"operands": "sbuf"}, 1),
        ("trn2", "gpsimd", "tensor_tensor", ["int32"], {"operands": "sbuf"}, 1),
        # Trainium1: one element a cycle, two inputs of one memory take two
        ("trn1", "vector", "tensor_tensor", ["fp32"], {"operands": "sbuf"}, 0.5),
        ("trn1", "vector", "tensor_tensor", ["fp32"], {"operands": "one_psum"}, 1),
        ("trn1", "vector", "tensor_tensor", ["bf16"], {"operands": "sbuf"}, 1),
        ("trn1", "vector", "tensor_copy", ["bf16"], {"operands": "sbuf"}, 1),
        # Trainium3: exponential on Vector, 2x copies on Scalar
        ("trn3", "vector", "exponential", ["fp32"], {"operands": "psum"}, 4),
        ("trn3", "scalar", "tensor_copy", ["bf16"], {"operands": "sbuf"}, 2),
        ("trn3", "scalar", "activation", ["bf16"], {"operands": "sbuf"}, 1),
    ],
)
def test_mode_of_an_instruction(name, engine, operation, dtypes, where, expected):
    rule = load_hardware(name).element_mode(
        engine, operation, *dtypes, **{"contiguous": True, "broadcast": False, **where}
    )
    assert rule.elements_per_lane_per_cycle == expected
    assert rule.source


def test_the_defaults_assume_the_least():
    view = load_hardware("trn2")
    assert view.element_mode("vector", "tensor_copy", "bf16").elements_per_lane_per_cycle == 1


def test_unknown_names_are_errors():
    view = load_hardware("trn2")
    with pytest.raises(RooflineError, match="unknown dtype"):
        view.element_mode("vector", "tensor_copy", "bf17")
    with pytest.raises(RooflineError, match="has no element rate"):
        view.element_mode("tensor", "matmul", "bf16")
