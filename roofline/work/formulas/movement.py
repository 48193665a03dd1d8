"""Operators that move or name data: views, copies, casts, gathers, creation, random numbers."""

from __future__ import annotations

from typing import Final

from roofline.dtypes import dtype_key
from roofline.errors import WorkError
from roofline.work.registry import Call, Cost, formula
from roofline.work.specs import TensorSpec

__all__ = ["FREE"]

FREE: Final = str.split(
    "view broadcast_tensors reshape _unsafe_view _reshape_alias _reshape_copy expand "
    "expand_as permute transpose t numpy_T mT adjoint select slice narrow squeeze "
    "unsqueeze split split_with_sizes unsafe_split unsafe_chunk chunk unbind detach alias "
    "as_strided unfold diagonal movedim moveaxis swapaxes flatten unflatten view_as ravel "
    "view_as_real view_as_complex lift_fresh empty empty_like new_empty empty_strided "
    "new_empty_strided sym_size sym_stride sym_numel size stride is_same_size item "
    "_local_scalar_dense resolve_conj resolve_neg conj _conj real imag broadcast_to "
    "hsplit vsplit dsplit tensor_split requires_grad retain_grad data wait_tensor "
    "_assert_async _assert_scalar sym_constrain_range _version is_pinned record_stream "
    "getitem _nested_view_from_buffer scalar_tensor _assert_tensor_metadata is_nonzero "
    "result_type _has_compatible_shallow_copy_type set empty_permuted"
)
"""Operators that only rename or reserve memory."""


_SAME_SHAPE: Final = frozenset(str.split(
    "clone contiguous copy _copy_from roll flip type_as float half bfloat16 double rot90 "
    "lift_fresh_copy _pin_memory channel_shuffle matrix_copy detach_copy alias_copy triu tril fill "
    "zero zeros_like ones_like full_like rand_like randn_like dropout native_dropout bernoulli "
    "normal uniform scatter scatter_add scatter_reduce index_add index_put index_copy index_fill "
    "_index_put_impl masked_scatter put _unsafe_index_put index_reduce unsafe_index_put "
    "slice_scatter select_scatter as_strided_scatter diagonal_scatter"
))  # fmt: skip
_CAST: Final = {"float": "fp32", "half": "fp16", "bfloat16": "bf16", "double": "fp64"}
# c10::ScalarType, as traces print a dtype argument
_SCALAR_TYPES: Final = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "fp16", 6: "fp32", 7: "fp64",
    11: "bool", 15: "bf16", 23: "fp8_e5m2", 24: "fp8_e4m3",
}  # fmt: skip


def _outputs(call: Call) -> tuple[TensorSpec, ...]:
    """Return the outputs, inferred where the operator's signature tells them."""
    if call.outputs:
        return call.outputs
    first = call.tensor(0)
    if call.key in _SAME_SHAPE:
        return (TensorSpec(first.shape, _CAST.get(call.key, first.dtype)),)
    if call.key in ("to", "_to_copy", "convert_element_type", "_cast", "cast"):
        wanted = call.argument(1, "dtype")
        if isinstance(wanted, TensorSpec):
            wanted = wanted.dtype
        if wanted is not None:
            wanted = _SCALAR_TYPES.get(wanted, "") if isinstance(wanted, int) else wanted
            return (TensorSpec(first.shape, dtype_key(str(wanted))),)
    if call.key in ("cat", "concat", "stack", "hstack", "vstack", "dstack"):
        total = sum(spec.numel for spec in call.inputs)
        return (TensorSpec((total,), first.dtype),)
    if call.key in ("index_select", "gather", "take", "take_along_dim"):
        shape = call.tensor(1).shape
        if call.key == "index_select":
            dim = call.argument(1, "dim", 0)
            shape = tuple(shape[0] if i == dim % len(first.shape) else n
                          for i, n in enumerate(first.shape))  # fmt: skip
        return (TensorSpec(shape, first.dtype),)
    if call.key == "embedding":
        return (TensorSpec((*call.tensor(1).shape, *first.shape[1:]), first.dtype),)
    raise WorkError(f"{call.name}: its result does not follow from its inputs; give outputs")


@formula(*FREE)
def free(call: Call) -> Cost:
    """Views and allocations: no operations and no bytes."""
    return Cost(engines=(), usual_engine="", family="view", read_bytes=0, write_bytes=0,
                outputs=call.outputs)  # fmt: skip


def _move(call: Call, *, read: int | None = None, write: int | None = None) -> Cost:
    outputs = _outputs(call)
    # DMA moves and casts without an engine: no compulsory pass
    return Cost(
        passes=sum(spec.numel for spec in outputs),
        family="copy",
        read_bytes=read,
        write_bytes=write,
        outputs=outputs,
        note="DMA can do this without an engine",
    )


@formula(
    "clone", "_to_copy", "to", "contiguous", "copy", "_copy_from", "type_as", "cat", "concat",
    "stack", "roll", "flip", "repeat", "tile", "pad", "constant_pad_nd", "lift_fresh_copy",
    "repeat_interleave", "pixel_shuffle", "pixel_unshuffle", "reflection_pad1d",
    "reflection_pad2d", "replication_pad1d", "replication_pad2d", "expand_copy", "view_copy",
    "permute_copy", "transpose_copy", "t_copy", "slice_copy", "select_copy", "unsqueeze_copy",
    "squeeze_copy", "split_copy", "split_with_sizes_copy", "channel_shuffle", "im2col",
    "block_diag", "rot90", "hstack", "vstack", "dstack", "cast", "convert_element_type",
    "float", "half", "bfloat16", "double", "_cast", "unfold_copy", "diagonal_copy", "narrow_copy",
    "as_strided_copy", "alias_copy", "detach_copy", "meshgrid", "triu_indices", "tril_indices",
    "_pin_memory", "resize", "matrix_copy",
)  # fmt: skip
def copy(call: Call) -> Cost:
    """Every element read and written once, in the dtypes of source and result."""
    if call.key in ("copy", "_copy_from") and len(call.inputs) > 1:
        source = call.inputs[1 if call.key == "copy" else 0]  # copy_ does not read its target
        out = call.outputs[0] if call.outputs else call.inputs[0]
        return _move(call, read=0 if source.on_host else _reach(source, out))
    return _move(call)


def _reach(source: TensorSpec, out: TensorSpec) -> int:
    return source.bytes if source.numel <= out.numel else TensorSpec(out.shape, source.dtype).bytes


@formula("slice_scatter", "select_scatter", "as_strided_scatter", "diagonal_scatter")
def scatter_view(call: Call) -> Cost:
    """A functional write into a view: the whole result is written, base and part are read."""
    return _move(call)


@formula(
    "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones",
    "new_full", "fill", "zero", "arange", "eye", "linspace", "logspace", "iota", "zeros_out",
    "masked_fill_scalar", "one_hot", "_efficientzerotensor",
)  # fmt: skip
def fill(call: Call) -> Cost:
    """Written, not read."""
    outputs = _outputs(call)
    return Cost(
        passes=sum(spec.numel for spec in outputs),
        engines=("vector", "gpsimd"),
        usual_engine="gpsimd",
        family="fill",
        read_bytes=0,
        outputs=outputs,
    )


@formula("triu", "tril")
def triangle(call: Call) -> Cost:
    """One selection per element (``affine_select`` on GpSimd)."""
    n = call.tensor(0).numel
    return Cost(
        flops={"elementwise": n},
        passes=n,
        engines=("vector", "gpsimd"),
        usual_engine="gpsimd",
        stages=1,
        outputs=_outputs(call),
    )


@formula(
    "embedding", "index_select", "gather", "index", "_unsafe_index", "take", "take_along_dim",
    "masked_select", "nonzero", "embedding_renorm", "take_along_axis",
    "upsample_nearest2d", "upsample_nearest1d", "upsample_nearest3d",
)  # fmt: skip
def gather(call: Call) -> Cost:
    """Only the gathered elements of the table are read, and the indices."""
    outputs = _outputs(call)
    out = outputs[0]
    table = call.tensor(0)
    if call.key in ("masked_select", "nonzero"):
        return _move(call)
    indices = sum(spec.bytes for spec in call.inputs[1:])
    picked = TensorSpec((out.numel,), table.dtype).bytes
    return Cost(
        passes=out.numel,
        engines=("gpsimd",),
        usual_engine="gpsimd",
        family="gather",
        read_bytes=picked + indices,
        outputs=outputs,
        note="DMA can gather without an engine",
    )


@formula(
    "scatter", "scatter_add", "scatter_reduce", "index_add", "index_put", "index_copy",
    "index_fill", "_index_put_impl", "masked_scatter", "put", "_unsafe_index_put",
    "index_reduce", "unsafe_index_put",
)  # fmt: skip
def scatter(call: Call) -> Cost:
    """The target is rewritten where it is not updated in place; accumulating adds 1 per value."""
    in_place = call.name.split(".", 1)[0].endswith("_")
    target = call.tensor(0)
    source = call.inputs[-1] if len(call.inputs) > 1 else target
    values = source.numel
    adds = "add" in call.key or "reduce" in call.key or bool(call.argument(3, "accumulate", False))
    moved = TensorSpec((values,), target.dtype).bytes
    operands = sum(spec.bytes for spec in call.inputs[1:])
    return Cost(
        flops={"elementwise": values} if adds else {},
        passes=values,
        engines=("gpsimd",),
        usual_engine="gpsimd",
        family="scatter",
        read_bytes=operands + ((moved if adds else 0) if in_place else target.bytes),
        write_bytes=moved if in_place else None,
        outputs=_outputs(call),
    )


@formula("_embedding_bag", "embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(call: Call) -> Cost:
    """One addition per gathered element but the first of each bag (and a division for a mean)."""
    table, indices = call.tensor(0), call.tensor(1)
    outputs = call.outputs or _outputs(call)
    picked = indices.numel * table.shape[-1]
    means = call.argument(4, "mode", 0) == 1
    return Cost(
        flops={"reduction": picked if means else picked - outputs[0].numel},
        passes=picked,
        engines=("gpsimd", "vector"),
        usual_engine="gpsimd",
        family="gather",
        read_bytes=TensorSpec((picked,), table.dtype).bytes + indices.bytes,
        write_bytes=outputs[0].bytes,
        outputs=outputs,
    )


@formula("upsample_bilinear2d", "upsample_linear1d", "upsample_bicubic2d", "upsample_trilinear3d")
def interpolate(call: Call) -> Cost:
    """A weighted sum of W neighbours per result: W products and W - 1 additions."""
    out = _outputs(call)[0]
    neighbours = {"upsample_linear1d": 2, "upsample_bilinear2d": 4, "upsample_bicubic2d": 16}
    each = 2 * neighbours.get(call.key, 8) - 1
    return Cost(
        flops={"elementwise": each * out.numel},
        passes=(each + 1) // 2 * out.numel,
        engines=("vector", "gpsimd"),
        fixed=True,
        outputs=(out,),
    )


@formula("embedding_dense_backward", "index_select_backward", "gather_backward",
         "slice_backward", "select_backward", "unfold_backward",
         "upsample_nearest2d_backward")  # fmt: skip
def gather_backward(call: Call) -> Cost:
    """One addition per incoming value; the gradient of the whole table is written."""
    grad = call.tensor(0)
    adds = call.key in ("embedding_dense_backward", "index_select_backward", "gather_backward")
    return Cost(
        flops={"elementwise": grad.numel} if adds else {},
        passes=grad.numel,
        engines=("gpsimd",),
        usual_engine="gpsimd",
        family="scatter",
        outputs=call.outputs,
    )


@formula(
    "native_dropout", "dropout", "bernoulli", "rand", "randn", "rand_like", "randn_like", "normal",
    "uniform", "randint", "randint_like", "randperm", "exponential", "random", "alpha_dropout",
    "feature_dropout", "multinomial", "normal_functional", "_fused_dropout", "geometric",
    "log_normal", "cauchy",
)  # fmt: skip
def random(call: Call) -> Cost:
    """Random numbers are instructions of their own; dropout multiplies by mask and scale."""
    outputs = _outputs(call)
    n = outputs[0].numel if outputs else 0
    drops = "dropout" in call.key
    if drops and not (call.argument(2, "train", True) and call.argument(1, "p", 0.5)):
        return Cost(family="view", engines=(), usual_engine="", read_bytes=0, write_bytes=0,
                    outputs=outputs)  # fmt: skip
    return Cost(
        flops={"elementwise": 2 * n} if drops else {},
        passes=n,
        engines=("vector", "gpsimd"),
        family="random",
        stages=1,
        read_bytes=None if drops else 0,
        outputs=outputs,
    )
