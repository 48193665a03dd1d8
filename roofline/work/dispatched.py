"""Work of an operator of a framework trace: all of its calls together, from what they recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from roofline.errors import WorkError
from roofline.work.signature import from_cache_key, from_trace_inputs
from roofline.work.work import OpCount, Work

__all__ = ["Inputs", "together", "work_of_calls"]

Inputs = tuple[str, str, str]
"""JSON texts of ``Input Dims``, ``Input type`` and ``Concrete Inputs``; empty: not recorded."""


def work_of_calls(
    name: str,
    calls: Mapping[Inputs, int],
    keys: Mapping[str, int],
    *,
    launches: int,
) -> Work:
    """Return the work of an operator over all its calls.

    ``calls`` counts calls by their inputs, ``keys`` launches by NEFF cache key. The inputs are
    used where every call can be counted from them, for they also hold arguments such as ``dim``;
    else the keys. Raises ``WorkError`` that says why neither can be counted.
    """
    try:
        counts = _of_all(name, calls)
    except WorkError as error:
        if not keys or sum(keys.values()) < launches:
            raise
        try:
            counts = [_known(from_cache_key(key)).scaled(number) for key, number in keys.items()]
        except WorkError as other:
            raise WorkError(f"{error}; its NEFF cache key: {other}") from other
    return _work(name, counts, launches)


def together(name: str, works: Sequence[Work], unknown: Iterable[str], *, launches: int) -> Work:
    """Return works that ran one after the other, each through HBM, as one."""
    found = _work(name, [op for work in works for op in work.ops], launches)
    return replace(found, unknown_ops=tuple(dict.fromkeys(unknown)))


def _of_all(name: str, calls: Mapping[Inputs, int]) -> list[OpCount]:
    if not calls:
        raise WorkError("no call on the host")
    return [_of_inputs(name, *inputs).scaled(number) for inputs, number in calls.items()]


def _of_inputs(name: str, dims: str, types: str, concrete: str) -> OpCount:
    if not dims or not types:
        raise WorkError("recorded without shapes (record_shapes=True)")
    return _known(from_trace_inputs(name, dims, types, concrete))


def _known(count: OpCount) -> OpCount:
    if not count.known:
        raise WorkError("no formula")
    return count


def _work(name: str, counts: Sequence[OpCount], launches: int) -> Work:
    return Work(
        name=name,
        mode="eager",
        dtype=_dtype(counts),
        ops=tuple(counts),
        minimal_read_bytes=sum(one.aliased_read_bytes for one in counts),
        minimal_write_bytes=sum(one.write_bytes for one in counts),
        element_passes_minimal=sum(one.element_passes for one in counts),
        host_copy_bytes=sum(one.host_copy_bytes for one in counts),
        launches=launches,
    )


def _dtype(counts: Sequence[OpCount]) -> str:
    """Return the dtype of most bytes, as operands give it."""
    totals: dict[str, int] = {}
    for count in counts:
        for _, dtype in (*count.inputs, *count.outputs):
            totals[dtype] = totals.get(dtype, 0) + count.bytes
    return max(totals, key=totals.__getitem__, default="fp32")
