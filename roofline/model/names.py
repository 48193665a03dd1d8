"""Names people give to operators, and the registered operator each of them means."""

from __future__ import annotations

import itertools
import re
from typing import Final

from roofline.work.formulas.movement import FREE
from roofline.work.registry import find_formula, op_key

__all__ = ["resolve_op"]

_SYNONYMS: Final = {
    "add": "addition plus axpy saxpy sgd",
    "sub": "subtract subtraction minus",
    "mul": "multiply multiplication scale scaling hadamard outer_product",
    "div": "divide division",
    "neg": "negate negation",
    "rsub": "inversion invert",
    "clamp": "clipping clip clamping",
    "relu": "rectified",
    "leaky_relu": "leakyrelu lrelu",
    "silu": "swish",
    "hardswish": "hard_swish",
    "hardsigmoid": "hard_sigmoid",
    "swiglu": "geglu reglu swish_glu",
    "clone": "copy memcpy identity",
    "cast": "cast convert astype upcast downcast conversion",
    "quantize": "quant quantization",
    "dequantize": "dequant dequantization",
    "fill": "memset constant",
    "transpose_copy": "transpose transposition swapaxes",
    "permute_copy": "permute permutation shuffle",
    "expand_copy": "broadcast expand",
    "slice_copy": "slice narrow strided split chunk unbind unstack deinterleave select crop",
    "flip": "reverse reversal mirror",
    "cat": "interleave concatenate concatenation zip",
    "pad": "padding",
    "embedding": "lookup",
    "cumsum": "prefix_sum scan prefix inclusive_scan exclusive_scan cumulative_sum",
    "sum": "reduction reduce",
    "mean": "average avg",
    "amax": "max maximum_reduction",
    "amin": "min",
    "count_nonzero": "count",
    "topk": "top_k",
    "sort": "sorting bitonic argsort_values",
    "rms_norm": "rmsnorm rms_normalization",
    "layer_norm": "layernorm layer_normalization",
    "group_norm": "groupnorm group_normalization",
    "batch_norm": "batchnorm batch_normalization batchnorm2d batchnorm1d",
    "instance_norm": "instancenorm",
    "normalize": "l2norm l2_norm l2normalize normalization",
    "log_softmax": "logsoftmax",
    "cross_entropy": "crossentropy nll",
    "mse_loss": "mse mean_squared squared_error",
    "l1_loss": "mae",
    "mm": "gemm",
    "mv": "gemv matvec matrix_vector mat_vec",
    "matmul": "matrix_multiplication matrix_multiply matrix_mul mat_mul matmult mmult",
    "dot": "inner_product",
    "_grouped_mm": "grouped_matmul grouped_gemm grouped_mm moe_gemm moe_matmul",
    "scaled_dot_product_attention": "attention attn flashattention sdpa mha gqa mqa",
    "rope": "rotary",
    "conv1d": "convolution_1d 1d_convolution causal_conv1d",
    "conv2d": "convolution_2d 2d_convolution blur stencil stencil_2d jacobi laplacian",
    "conv3d": "convolution_3d 3d_convolution",
    "max_pool1d": "maxpool1d",
    "max_pool2d": "maxpool maxpool2d max_pool max_pooling pooling pool",
    "max_pool3d": "maxpool3d",
    "avg_pool1d": "avgpool1d",
    "avg_pool2d": "avgpool avgpool2d avg_pool avg_pooling average_pooling mean_pool",
    "avg_pool3d": "avgpool3d",
    "adaptive_avg_pool2d": "global_avg global_average gap",
    "adamw": "adam",
}
_WORDS: Final = {
    "mul2": "mul",
    **{word: key for key, words in _SYNONYMS.items() for word in words.split()},
}
"""Name or part of a name -> registered operator."""

_OUT_OF_REACH: Final = frozenset(
    (
        *("linear_attention", "sliding", "window", "local", "sparse", "spmv", "spmm", "paged"),
        *("mamba", "ssm", "selective", "sort_merge", "mlp", "ffn", "lora", "recurrent", "fft"),
    )
)
"""Words that change how much a named operator does: its formula would count too much."""

_AMBIGUOUS: Final = frozenset(
    str.split(
        "to data set size item mode random normal uniform all any index real put float half "
        "double norm dist vector matrix t tile"
    )
)
"""Registered operators that are also ordinary parts of a name."""

_HEAVY: Final = (
    *("grouped", "mm", "matmul", "mv", "linear", "conv", "attention", "rms_norm", "layer_norm"),
    *("norm", "entropy", "softmax", "pool", "rope", "rotary", "topk", "sort", "cumsum"),
    *("embedding", "gather", "scatter", "swiglu", "adam", "loss"),
)
"""Heaviest first: of several known words the one that says how the operator runs."""


def resolve_op(name: str) -> str | None:
    """Return the registered operator a name means, or ``None`` if no part of it is known.

    ``vector_add`` is ``add``, ``matmul_fp32_fp16_fp8`` is ``matmul``: the whole name first, then
    its words, alone and in pairs; of several the heaviest.
    """
    whole = op_key(name.strip().lower().replace("-", "_").replace(" ", "_"))
    for word in (whole, whole.replace("_", "")):
        if key := _known(word):
            return key
    words = [word for word in re.split(r"[_\W]+", whole) if word]
    pairs = [f"{first}_{second}" for first, second in itertools.pairwise(words)]
    if not _OUT_OF_REACH.isdisjoint((*words, *pairs)):
        return None
    # two words together (rms_norm, log_softmax) count like one
    found = [key for word in words if word not in _AMBIGUOUS and (key := _known(word))]
    found += [key for pair in pairs if (key := _known(pair))]
    if not found:
        stems = [word.rstrip("0123456789") for word in words]
        found = [key for stem in stems if stem not in _AMBIGUOUS and (key := _known(stem))]
    return max(found, key=lambda key: (_weight(key), len(key)), default=None)


def _known(word: str) -> str | None:
    if word in _OUT_OF_REACH:
        return None
    key = _WORDS.get(word, word)
    return key if find_formula(key) is not None and (key not in FREE or word == key) else None


def _weight(key: str) -> int:
    ranks = [rank for rank, part in enumerate(reversed(_HEAVY), 1) if part in key]
    return max(ranks, default=-1 if key.endswith("_copy") else 0)
