"""Choices about bytes that a count states: here, weights broadcast to partitions."""

from __future__ import annotations

from dataclasses import replace

from roofline.dtypes import DTYPES
from roofline.errors import WorkError
from roofline.work.work import OpCount, Work

__all__ = ["broadcast_weights"]


def broadcast_weights(work: Work, partitions: int) -> Work:
    """Return ``work`` with row vectors read once per partition.

    A weight along the row (one dimension, beside an operand with more) is read once in the counts.
    A kernel that broadcasts it by DMA reads it ``partitions`` times: at most once for each row,
    so fewer rows than partitions read fewer copies. Dispatched bytes change, minimal ones do not.
    """
    if partitions < 1:
        raise WorkError(f"partitions must be at least 1, not {partitions}")
    return replace(work, ops=tuple(_broadcast(op, partitions) for op in work.ops))


def _broadcast(op: OpCount, partitions: int) -> OpCount:
    if op.family not in ("norm", "elementwise", "special", "region") or not op.outputs:
        return op
    wide = max((shape for shape, _ in op.inputs), key=len, default=())
    if len(wide) < 2:
        return op
    rows = 1
    for size in wide[:-1]:
        rows *= size
    copies = min(partitions, rows) - 1
    extra = sum(
        copies * DTYPES[dtype].bytes_for(shape[0])
        for shape, dtype in op.inputs
        if len(shape) == 1 and shape[0] == wide[-1]
    )
    return replace(
        op,
        read_bytes=op.read_bytes + extra,
        aliased_read_bytes=op.aliased_read_bytes + extra,
        note=f"row vectors read by {copies + 1} partitions" if extra else op.note,
    )
