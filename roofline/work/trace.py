"""The steps of a computation and the values between them: what bytes and passes follow from.

Counting from torch, from a captured graph and in closed form all fill a ``Trace``; minimal bytes,
minimal passes and fusion regions are then one rule for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from roofline.errors import MissingFormulaError, WorkError
from roofline.work.passes import minimal_passes
from roofline.work.regions import fuse, region_bytes, region_count, written_outside
from roofline.work.registry import Call, Cost, find_formula
from roofline.work.specs import TensorSpec
from roofline.work.work import OpCount, Work

__all__ = ["MODES", "Step", "Trace", "Use", "evaluate"]

MODES: Final = ("eager", "fused", "compiled", "export")
"""Dispatched operators; one region; a compiled graph with its regions; an exported graph."""

_UNKNOWN: Final = Cost(family="unknown", engines=(), usual_engine="", note="no formula", fixed=True)


@dataclass(frozen=True, slots=True)
class Use:
    """One operand of a step: the value (storage) it names, which part of it, and its bytes."""

    value: int
    spec: TensorSpec
    bytes: int
    part: Any = None


@dataclass(frozen=True, slots=True)
class Step:
    """One operator that does something: views are no steps."""

    count: OpCount
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
    return _UNKNOWN


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
            reads = (replace(reads[0], bytes=cost.read_bytes - rest), *reads[1:])
        elif cost.read_bytes is None:
            count = _read_once(count, reads)
        self.steps.append(Step(count, cost, tuple(reads), tuple(writes)))

    def work(
        self,
        name: str,
        mode: str,
        *,
        results: Iterable[int] = (),
        graphs: int = 1,
        params: Mapping[str, int] | None = None,
    ) -> Work:
        """Return the ``Work`` of this trace in a mode; ``results`` are the values handed back."""
        if mode not in MODES:
            raise WorkError(f"unknown mode {mode!r}; known: {', '.join(MODES)}")
        steps = self.steps
        kept = written_outside(steps, steps, frozenset(results))
        read, write = region_bytes(steps, self.sizes, kept)
        if mode == "eager":
            ops = tuple(step.count for step in steps)
        elif mode == "fused":
            ops = (region_count(name, steps, self.sizes, kept),) if steps else ()
        else:
            ops = tuple(
                region_count("", group, self.sizes, written_outside(steps, group, kept))
                for group in fuse(steps)
            )
        return Work(
            name=name,
            mode=mode,
            dtype=_main_dtype(steps),
            ops=ops,
            minimal_read_bytes=read,
            minimal_write_bytes=write,
            element_passes_minimal=minimal_passes(steps),
            host_copy_bytes=sum(step.count.host_copy_bytes for step in steps),
            launches=len(steps) if mode == "eager" else min(graphs, len(steps)),
            unknown_ops=tuple(dict.fromkeys(s.count.name for s in steps if not s.count.known)),
            params=params or {},
        )


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


def _main_dtype(steps: Sequence[Step]) -> str:
    """Return the dtype that carries most bytes of floating-point operands, or most bytes."""
    totals: dict[str, int] = {}
    for step in steps:
        for use in (*step.reads, *step.writes):
            size = use.bytes if isinstance(use.bytes, int) else int(use.bytes.flat[0])
            totals[use.spec.dtype] = totals.get(use.spec.dtype, 0) + size
    return max(totals, key=totals.__getitem__, default="fp32")
