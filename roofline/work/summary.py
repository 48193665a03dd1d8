"""The figures of a ``Work`` in rows and in a form for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from roofline.errors import WorkError
from roofline.work.work import CLASSES, OpCount, Work

__all__ = ["GROUPINGS", "rows_of", "work_to_dict"]

GROUPINGS: Final = ("class", "op", "module")


def rows_of(work: Work, by: str = "op") -> list[dict[str, Any]]:
    """Return one row a class, operator or module; the rows of one grouping add up to the totals.

    Keys: ``name``, ``calls``, ``flops``, ``element_passes``, ``read_bytes``, ``write_bytes``. A
    class has no passes and bytes of its own: an operator may do work of several classes. Modules
    are a tree by their dotted names, each with what its own code and its children do; there the
    rows do not add up. Raises ``WorkError`` for another grouping.
    """
    if by == "class":
        return [
            {"name": key, "calls": sum(key in op.flops for op in leaves(work.ops)), "flops": flops}
            for key, flops in work.flops.items()
        ]
    if by == "op":
        return _grouped(work.ops, lambda op: [op.name])
    if by == "module":
        return _grouped(_by_module(work.ops), _ancestors)
    raise WorkError(f"unknown grouping {by!r}; known: {', '.join(GROUPINGS)}")


def leaves(ops: Iterable[OpCount]) -> Iterable[OpCount]:
    """Yield the operators of ``ops``, those inside fused regions in place of the region."""
    for op in ops:
        if op.members:
            yield from op.members
        else:
            yield op


def _by_module(ops: Iterable[OpCount]) -> list[OpCount]:
    # a region that crosses modules has bytes of no single one: its members tell who works
    return list(leaves(ops))


def _ancestors(op: OpCount) -> list[str]:
    parts = op.module.split(".") if op.module else []
    return ["", *(".".join(parts[: i + 1]) for i in range(len(parts)))]


def _grouped(ops: Iterable[OpCount], keys: Any) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for op in ops:
        for key in keys(op):
            row = rows.setdefault(
                key,
                {"name": key, "calls": 0, "flops": 0, "element_passes": 0,
                 "read_bytes": 0, "write_bytes": 0, "known": True},
            )  # fmt: skip
            row["calls"] += 1
            row["flops"] += op.total_flops
            row["element_passes"] += op.element_passes
            row["read_bytes"] += op.read_bytes
            row["write_bytes"] += op.write_bytes
            row["known"] = row["known"] and op.known
    return list(rows.values())


def _operand(shape: tuple[int, ...], dtype: str) -> str:
    return f"{'x'.join(map(str, shape)) or 'scalar'}:{dtype}"


def work_to_dict(work: Work, by: str = "op") -> dict[str, Any]:
    """Return every figure of ``work`` with its unit in its key, ready for JSON."""
    return {
        "schema": "roofline.work/1",
        "name": work.name,
        "mode": work.mode,
        "dtype": work.dtype,
        "quality": "counted",
        "partial": work.partial,
        "unknown_ops": list(work.unknown_ops),
        "flops": work.total_flops,
        "flops_by_class": {key: work.flops.get(key, 0) for key in CLASSES},
        "tensor_flops_by_dtype": work.tensor_flops,
        "element_passes": work.element_passes,
        "element_passes_by_usual_engine": work.passes_by_engine,
        "element_passes_minimal": work.element_passes_minimal,
        "minimal_read_bytes": work.minimal_read_bytes,
        "minimal_write_bytes": work.minimal_write_bytes,
        "minimal_bytes": work.minimal_bytes,
        "dispatched_bytes": work.dispatched_bytes,
        "dispatched_aliased_bytes": work.dispatched_aliased_bytes,
        "measured_bytes": work.measured_bytes,
        "reload_factor": work.reload_factor,
        "excess_write_bytes": work.excess_write_bytes,
        "host_copy_bytes": work.host_copy_bytes,
        "launches": work.launches,
        "intensity_minimal_flop_per_byte": _ratio(work.total_flops, work.minimal_bytes),
        "intensity_dispatched_flop_per_byte": _ratio(work.total_flops, work.dispatched_bytes),
        "coverage": coverage(work),
        "by": by,
        "rows": rows_of(work, by),
        "ops": [
            {
                "name": op.name,
                "module": op.module,
                "family": op.family,
                "known": op.known,
                "inputs": [_operand(*operand) for operand in op.inputs],
                "outputs": [_operand(*operand) for operand in op.outputs],
                "flops": op.total_flops,
                "flops_by_class": dict(op.flops),
                "element_passes": op.element_passes,
                "engines": list(op.engines),
                "usual_engine": op.usual_engine,
                "accumulate_dtype": op.accumulate_dtype,
                "read_bytes": op.read_bytes,
                "write_bytes": op.write_bytes,
                "members": [member.name for member in op.members],
                "note": op.note,
            }
            for op in work.ops
        ],
        "conventions": list(work.conventions),
    }


def coverage(work: Work) -> dict[str, int]:
    """Return how many operators were counted and how many have no formula."""
    known = [op.known for op in leaves(work.ops)]
    return {"counted_ops": sum(known), "unknown_ops": len(known) - sum(known)}


def _ratio(flops: int, size: int) -> float | None:
    return flops / size if size else None
