"""Work of operators that have no formula, or whose formula is nothing but moved bytes.

Counted from what a row says: its operands, and where given its FLOP and bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from roofline.work.formulas.matmul import multiply_dtype
from roofline.work.specs import TensorSpec
from roofline.work.work import OpCount, Work

__all__ = ["at_most", "moved", "streamed", "windowed"]

_OPERATIONS_PER_PASS: Final = 2  # arithmetic stages of one instruction
_MOST_PASSES: Final = 16  # more FLOP an element than this are products, not passes


def _specs(specs: Sequence[TensorSpec]) -> tuple[tuple[tuple[int, ...], str], ...]:
    return tuple((spec.shape, spec.dtype) for spec in specs)


def _least(specs: Sequence[TensorSpec], most: int) -> int:
    """Return the bytes that must be read when no operand is used beyond the size of a result."""
    return sum(TensorSpec((min(spec.numel, most),), spec.dtype).bytes for spec in specs)


def moved(op: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], dtype: str) -> Work:
    """Return the work of a copy: it reads no more of an operand than it writes.

    A DMA can do it without an engine: no compulsory pass.
    """
    written = sum(spec.numel for spec in outputs)
    read, write = _least(inputs, written), sum(spec.bytes for spec in outputs)
    count = OpCount(
        name=op,
        inputs=_specs(inputs),
        outputs=_specs(outputs),
        element_passes=written,
        read_bytes=read,
        aliased_read_bytes=read,
        write_bytes=write,
        family="copy" if inputs else "fill",
        note="DMA can do this without an engine",
    )
    return _one(op, dtype, count, read, write)


def windowed(op: str, inputs: Sequence[TensorSpec], out: TensorSpec, taps: int, dtype: str) -> Work:
    """Return the work of a filter that mixes no channels: ``taps`` products a result.

    One instruction multiplies and adds, so a schedule on the element engines takes ``taps``
    passes; the bound asks for one, because the Tensor engine can do them as well.
    """
    read = sum(spec.bytes for spec in inputs)
    count = OpCount(
        name=op,
        inputs=_specs(inputs),
        outputs=_specs((out,)),
        flops={"elementwise": 2 * taps * out.numel},
        element_passes=taps * out.numel,
        engines=("vector", "gpsimd"),
        read_bytes=read,
        aliased_read_bytes=read,
        write_bytes=out.bytes,
        family="window",
        note="one pass for each tap of the filter",
    )
    return replace(_one(op, dtype, count, read, out.bytes), element_passes_minimal=out.numel)


def streamed(
    op: str,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    dtype: str,
    *,
    flops: float | None = None,
) -> Work:
    """Return the work of an unknown operator: every operand once, passes from its FLOP.

    One pass does two operations on an element of the largest operand; FLOP beyond 16 passes are
    taken for products on the Tensor engine. What it must read at least is less: of an operand
    larger than the result it may need a part. The work is marked partial.
    """
    outputs = outputs or tuple(inputs[:1])
    largest = max((*inputs, *outputs), key=lambda spec: spec.numel)
    read = sum(spec.bytes for spec in inputs)
    write = sum(spec.bytes for spec in outputs)
    each = 0.0 if flops is None else flops / max(largest.numel, 1)
    passes = max(1, math.ceil(each / _OPERATIONS_PER_PASS))
    products = passes > _MOST_PASSES and len(inputs) > 1
    tensor = {multiply_dtype(dtype, dtype): int(flops or 0)} if products else {}
    count = OpCount(
        name=op,
        inputs=_specs(inputs),
        outputs=_specs((largest,)),
        flops={"matmul" if products else "elementwise": int(flops or 0)},
        tensor_flops=tensor,
        element_passes=largest.numel * (1 if products else min(passes, _MOST_PASSES)),
        read_bytes=read,
        aliased_read_bytes=read,
        write_bytes=write,
        family="stream",
        known=False,
        note="no formula: operands once, passes inferred",
    )
    least = _least(inputs, max(spec.numel for spec in outputs))
    return replace(_one(op, dtype, count, least, write), unknown_ops=(op,))


def at_most(work: Work, size: float | None) -> Work:
    """Return the work with its minimal bytes brought down to ``size`` where a row says less."""
    if not size or size >= work.minimal_bytes:
        return work
    part = size / work.minimal_bytes
    read = int(work.minimal_read_bytes * part)
    return replace(work, minimal_read_bytes=read, minimal_write_bytes=max(int(size) - read, 0))


def _one(op: str, dtype: str, count: OpCount, read: int, write: int) -> Work:
    return Work(
        name=op,
        mode="fused",
        dtype=dtype,
        ops=(count,),
        minimal_read_bytes=read,
        minimal_write_bytes=write,
    )
