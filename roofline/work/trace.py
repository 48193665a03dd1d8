"""The steps of a computation and the values between them: what bytes and passes follow from.

Counting from torch, from a captured graph and in closed form all fill a ``Trace``; minimal bytes,
minimal passes and fusion regions are then one rule for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from roofline.dtypes import DTYPES
from roofline.errors import MissingFormulaError, WorkError
from roofline.work.passes import minimal_passes
from roofline.work.regions import fuse, region_bytes, region_count, written_outside
from roofline.work.registry import Call, Cost, find_formula
from roofline.work.specs import TensorSpec
from roofline.work.work import MODES, OpCount, Work

__all__ = ["UNKNOWN", "Step", "Trace", "Use", "evaluate", "unread"]

UNKNOWN: Final = Cost(family="unknown", engines=(), usual_engine="", note="no formula", fixed=True)


class Use(NamedTuple):
    """One operand of a step: the value (storage) it names, which part of it, and its bytes."""

    value: int
    spec: TensorSpec
    bytes: int
    part: Any = None


class Step(NamedTuple):
    """One operator that does something: views are no steps."""

    op: OpCount
    cost: Cost
    reads: tuple[Use, ...]
    writes: tuple[Use, ...]


def evaluate(call: Call, *, strict: bool = False) -> Cost:
    """Return the cost of a call; the one of an operator without a formula has family ``unknown``.

    With ``strict`` such an operator raises ``MissingFormulaError``.
    """
    function = find_formula(call.name)
    if function is not None:
        return function(call)
    if strict:
        raise MissingFormulaError(
            f"no formula for operator {call.key!r}; add one with roofline.work.register"
        )
    return UNKNOWN


@dataclass(slots=True)
class Trace:
    """Steps in order. ``sizes`` gives the bytes of values of which an operand may be a part."""

    steps: list[Step] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)

    def add(
        self,
        count: OpCount,
        cost: Cost,
        reads: Sequence[Use],
        writes: Sequence[Use],
    ) -> None:
        """Add a counted call with the values it reads and writes; free operators add nothing."""
        if cost.family == "view":
            return
        if cost.family == "fill":
            reads = ()
        elif cost.family in ("gather", "scatter") and reads and cost.read_bytes is not None:
            # only a part of the table is read
            rest = sum(use.bytes for use in reads[1:])
            reads = (reads[0]._replace(bytes=cost.read_bytes - rest), *reads[1:])
        elif cost.read_bytes is None:
            count = _read_once(count, reads)
        self.steps.append(Step(count, cost, tuple(reads), tuple(writes)))

    def work(
        self,
        name: str,
        mode: str,
        *,
        results: Iterable[int] = (),
        launches: Sequence[int] = (),
        params: Mapping[str, int] | None = None,
    ) -> Work:
        """Return the ``Work`` of this trace in a mode.

        ``results`` are the values handed back; gradients that nothing reads again count as well.
        ``launches`` are the numbers of steps at which each captured graph ended.
        """
        if mode not in MODES:
            raise WorkError(f"unknown mode {mode!r}; known: {', '.join(MODES)}")
        steps = self.steps
        gradients = unread([step for step in steps if step.op.module == "backward"])
        gradients.difference_update(use.value for step in steps for use in step.reads)
        kept = written_outside(steps, steps, frozenset(gradients.union(results)))
        ends = [0, *launches] if launches else [0, len(steps)]
        graphs = [steps[a:b] for a, b in pairwise(ends) if a < b]
        read, write = region_bytes(steps, self.sizes, kept)
        if mode == "eager":
            ops = tuple(step.op for step in steps)
        elif mode == "fused":
            ops = (region_count(name, steps, self.sizes, kept),) if steps else ()
        else:
            ops = tuple(
                region_count("", group, self.sizes, written_outside(steps, group, kept))
                for graph in graphs
                for group in fuse(graph)
            )
        return Work(
            name=name,
            mode=mode,
            dtype=_main_dtype(steps, kept),
            ops=ops,
            minimal_read_bytes=read,
            minimal_write_bytes=write,
            element_passes_minimal=minimal_passes(steps),
            host_copy_bytes=sum(step.op.host_copy_bytes for step in steps),
            launches=len(steps) if mode == "eager" else len(graphs),
            unknown_ops=tuple(dict.fromkeys(s.op.name for s in steps if not s.op.known)),
            params=params or {},
        )


def unread(steps: Sequence[Step]) -> set[int]:
    """Return the values that were written and that no step reads."""
    read = {use.value for step in steps for use in step.reads}
    return {use.value for step in steps for use in step.writes} - read


def _read_once(count: OpCount, reads: Sequence[Use]) -> OpCount:
    seen: set[tuple[int, Any]] = set()
    repeated = 0
    for use in reads:
        mark = (use.value, use.part)
        if mark in seen:
            repeated = repeated + use.bytes
        seen.add(mark)
    if len(seen) == len(reads):
        return count
    return replace(count, aliased_read_bytes=count.read_bytes - repeated)


def _main_dtype(steps: Sequence[Step], kept: frozenset[int]) -> str:
    """Return the floating-point dtype of most bytes that come in or go out, or any dtype."""
    totals: dict[str, int] = {}
    inside: set[int] = set()
    for step in steps:
        for use in step.reads:
            if use.value not in inside:
                totals[use.spec.dtype] = totals.get(use.spec.dtype, 0) + _first(use.bytes)
        for use in step.writes:
            inside.add(use.value)
            if use.value in kept:
                totals[use.spec.dtype] = totals.get(use.spec.dtype, 0) + _first(use.bytes)
    floats = {key: size for key, size in totals.items() if DTYPES[key].is_float}
    return max(floats or totals, key=totals.__getitem__, default="fp32")


def _first(size: int) -> int:
    return size if isinstance(size, int) else int(np.asarray(size).flat[0])
