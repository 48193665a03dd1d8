"""Fusion regions of a captured graph, and the bytes that cross their borders.

The whole graph on chip is the lower bound of its bytes; the regions give the upper one: products,
attention, sorts, gathers and collectives stand alone, and connected elementwise operators,
reductions and normalisations between them form one region each, as fusing compilers build them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from roofline.work.registry import op_key
from roofline.work.work import CLASSES, OpCount

if TYPE_CHECKING:
    from roofline.work.trace import Step, Use

__all__ = ["fuse", "region_bytes", "region_count", "written_outside"]

_FUSIBLE: Final = frozenset(
    {"elementwise", "special", "reduction", "norm", "softmax", "copy", "fill", "random", "scan"}
)


def fuse(steps: Sequence[Step]) -> list[list[Step]]:
    """Return the regions of a graph in a valid order of execution.

    Steps at the same depth (number of operators that stand alone on the longest way to them) and
    connected by a value are one region, so that no region depends on itself.
    """
    depth: dict[int, int] = {}
    fusible = [step.cost.family in _FUSIBLE for step in steps]
    producer: dict[int, int] = {}
    parent = list(range(len(steps)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for index, step in enumerate(steps):
        sources = {producer[use.value] for use in step.reads if use.value in producer}
        depth[index] = max(
            (depth[s] + (not (fusible[s] and fusible[index])) for s in sources), default=0
        )
        for source in sources:
            if fusible[source] and fusible[index] and depth[source] == depth[index]:
                parent[root(index)] = root(source)
        for use in step.writes:
            producer[use.value] = index
    groups: dict[int, list[int]] = {}
    for index in range(len(steps)):
        groups.setdefault(root(index), []).append(index)
    ordered = sorted(groups.values(), key=lambda group: (depth[group[0]], group[0]))
    return [[steps[index] for index in group] for group in ordered]


def written_outside(
    steps: Sequence[Step], group: Sequence[Step], results: frozenset[int]
) -> frozenset[int]:
    """Return the values ``group`` writes that outlive it.

    These are results, values that other steps of ``steps`` read, and values that existed before
    the steps and are updated in place.
    """
    members = set(map(id, group))
    written = {use.value for step in group for use in step.writes}
    outside = {use.value for step in steps if id(step) not in members for use in step.reads}
    return frozenset(written & (results | outside | _initial(steps)))


def _initial(steps: Sequence[Step]) -> set[int]:
    initial: set[int] = set()
    written: set[int] = set()
    for step in steps:
        initial.update(use.value for use in step.reads if use.value not in written)
        written.update(use.value for use in step.writes)
    return initial


def region_bytes(
    steps: Sequence[Step], sizes: dict[int, int], results: Iterable[int]
) -> tuple[int, int]:
    """Return bytes read and written if everything between ``steps`` stays on chip.

    A value that the steps did not write first is read once, each distinct part of it once and
    never more than its size; each value in ``results`` is written once.
    """
    written: set[int] = set()
    reads: dict[int, dict[object, int]] = {}
    writes: dict[int, dict[object, int]] = {}
    kept = set(results)
    for step in steps:
        for use in step.reads:
            if use.value not in written:
                reads.setdefault(use.value, {})[use.part] = use.bytes
        for use in step.writes:
            if use.value in kept:
                writes.setdefault(use.value, {})[use.part] = use.bytes
            written.add(use.value)
    return _capped(reads, sizes), _capped(writes, sizes)


def _capped(parts: dict[int, dict[object, int]], sizes: dict[int, int]) -> int:
    total = 0
    for value, pieces in parts.items():
        size = sum(pieces.values())
        if len(pieces) > 1 and value in sizes:
            size = min(size, sizes[value])
        total = total + size
    return total


def region_count(
    name: str, steps: Sequence[Step], sizes: dict[int, int], results: frozenset[int]
) -> OpCount:
    """Return the counts of steps that run as one: operations add up, inner bytes vanish."""
    from roofline.work.passes import minimal_passes

    read, write = region_bytes(steps, sizes, results)
    counts = [step.op for step in steps]
    if len(counts) == 1 and not name:
        return counts[0]
    tensor: dict[str, int] = {}
    for count in counts:
        for dtype, flops in count.tensor_flops.items():
            tensor[dtype] = tensor.get(dtype, 0) + flops
    engines: set[str] = set()
    for count in counts:
        engines.update(count.engines)
    inside: set[int] = set()
    inputs: dict[object, Use] = {}
    outputs: dict[object, Use] = {}
    for step in steps:
        inputs.update({(u.value, u.part): u for u in step.reads if u.value not in inside})
        outputs.update({(u.value, u.part): u for u in step.writes if u.value in results})
        inside.update(use.value for use in step.writes)
    return OpCount(
        name=name or "+".join(dict.fromkeys(op_key(count.name) for count in counts)),
        inputs=tuple((use.spec.shape, use.spec.dtype) for use in inputs.values()),
        outputs=tuple((use.spec.shape, use.spec.dtype) for use in outputs.values()),
        flops={
            key: sum(c.flops.get(key, 0) for c in counts)
            for key in CLASSES
            if any(key in c.flops for c in counts)
        },
        tensor_flops=tensor,
        element_passes=minimal_passes(steps),
        engines=tuple(e for e in ("vector", "scalar", "gpsimd") if e in engines),
        usual_engine=max(counts, key=_weight).usual_engine,
        read_bytes=read,
        aliased_read_bytes=read,
        write_bytes=write,
        host_copy_bytes=sum(count.host_copy_bytes for count in counts),
        module=counts[0].module,
        family="region" if len(counts) > 1 else counts[0].family,
        known=all(count.known for count in counts),
        members=tuple(counts),
    )


def _weight(count: OpCount) -> int:
    passes = count.element_passes
    return passes if isinstance(passes, int) else int(passes.flat[0])
