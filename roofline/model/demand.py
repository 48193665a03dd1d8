"""What a work demands of a hardware, launch by launch: the input of the time model.

A ``Region`` is one launch; its ``parts`` are the operators that run inside it. Every figure is a
number or an array, so that one region describes one size or a whole grid of sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from roofline.engines import ELEMENT_ENGINES
from roofline.model.schedule import Schedule, schedule_for
from roofline.work.registry import op_key
from roofline.work.work import OpCount, Work

__all__ = ["Demand", "Part", "Region", "demand_of", "figures", "with_figures"]

_FREE: Final = frozenset({"view"})  # moves nothing, launches nothing
_FROM_INPUT: Final = frozenset({"reduction", "norm", "softmax", "sort", "scatter"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One operator inside a launch.

    One pass goes over ``rows`` x ``columns`` elements. ``passes`` maps an engine to
    element-passes as counted; a schedule may know better. ``tensor_flops`` maps a multiply dtype
    to FLOP; ``tile`` holds the sizes (m, k, n) of one product. ``spread`` says that rows are not
    tied to partitions although the family ties them: a reduction of everything to one number.
    ``operands`` counts the inputs as large as the data of a pass. ``declared`` is the schedule
    that the author of a kernel states for it, in place of the usual one of its family.
    """

    name: str
    family: str
    rows: Any
    columns: Any
    passes: Mapping[str, Any] = field(default_factory=dict)
    tensor_flops: Mapping[str, Any] = field(default_factory=dict)
    tile: tuple[Any, Any, Any] | None = None
    spread: bool = False
    operands: int = 1
    declared: Schedule | None = None

    @property
    def schedule(self) -> Schedule:
        """The declared schedule, or that of the family."""
        return self.declared or schedule_for(self.family)

    @property
    def rows_on_partitions(self) -> bool:
        """Whether each row stays on one partition, so that few rows leave lanes idle."""
        return self.schedule.rows_on_partitions and not self.spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One launch: bytes over HBM (B), parts, and the dependent stages a tile goes through."""

    name: str
    read_bytes: Any
    write_bytes: Any
    parts: tuple[Part, ...]

    @property
    def stages(self) -> int:
        """Dependent engine stages of one tile."""
        return max((schedule.stages for schedule in self.schedules), default=0)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedule of each part."""
        return tuple(part.schedule for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Everything the model needs of a work.

    ``minimal_bytes``, ``minimal_passes`` and ``tensor_flops`` belong to the lower bound,
    ``regions`` to the schedule bound and the estimate. ``flops`` are of all classes.
    """

    name: str
    dtype: str
    regions: tuple[Region, ...]
    minimal_bytes: Any
    minimal_passes: Any
    flops: Any
    tensor_flops: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False

    @property
    def measured(self) -> bool:
        """Whether times of operators of every family in it were among those fitted."""
        return all(schedule.measured for region in self.regions for schedule in region.schedules)


def demand_of(work: Work, *, separate: bool) -> Demand:
    """Return the demand of a work.

    ``separate`` makes every operator a launch of its own with its own bytes; otherwise the
    operators share one launch that moves the bytes crossing its regions (or those measured).
    """
    ops = [op for op in work.ops if op.family not in _FREE]
    if separate:
        regions = tuple(
            Region(
                name=op.name,
                read_bytes=op.aliased_read_bytes,
                write_bytes=op.write_bytes,
                parts=(_part(op),),
            )
            for op in ops
        )
    else:
        read, write = work.measured_read_bytes, work.measured_write_bytes
        regions = (
            Region(
                name=work.name,
                read_bytes=sum(op.aliased_read_bytes for op in ops) if read is None else read,
                write_bytes=sum(op.write_bytes for op in ops) if write is None else write,
                parts=tuple(_part(op) for op in ops),
            ),
        )
    return Demand(
        name=work.name,
        dtype=work.dtype,
        regions=regions,
        minimal_bytes=work.minimal_bytes,
        minimal_passes=work.element_passes_minimal,
        flops=work.total_flops,
        tensor_flops=work.tensor_flops,
        partial=work.partial,
    )


def _part(op: OpCount) -> Part:
    sized = op.inputs if op.family in _FROM_INPUT else op.outputs or op.inputs
    shape: tuple[int, ...] = sized[0][0] if sized else ()
    rows = 1
    for size in shape[:-1]:
        rows = rows * size
    engine = op.usual_engine if op.usual_engine in ELEMENT_ENGINES else "vector"
    return Part(
        name=op_key(op.members[0].name if len(op.members) == 1 else op.name),
        family=op.family,
        rows=rows,
        columns=shape[-1] if shape else 1,
        passes=_attention_passes(op) or {engine: op.element_passes},
        tensor_flops=dict(op.tensor_flops),
        tile=_tile(op),
        operands=max(1, sum(spec_shape == shape for spec_shape, _ in op.inputs)),
        spread=bool(op.outputs) and all(size == 1 for size in op.outputs[0][0]),
    )


def _attention_passes(op: OpCount) -> dict[str, int]:
    """Return the passes of an attention by engine: exponentials are on Scalar alone."""
    if op.family != "attention":
        return {}
    scores = op.flops.get("special", 0)
    return {"vector": 2 * scores, "scalar": scores}


def _tile(op: OpCount) -> tuple[int, int, int] | None:
    """Return (m, k, n) of a plain product of two matrices, or ``None``."""
    if op.family != "matmul" or len(op.inputs) < 2 or not op.outputs:
        return None
    left, right, out = op.inputs[-2][0], op.inputs[-1][0], op.outputs[0][0]
    if len(left) < 2 or len(right) < 2 or len(out) < 2 or left[-1] != right[-2]:
        return None
    return out[-2], left[-1], out[-1]


def figures(demand: Demand) -> dict[str, Any]:
    """Return every number of a demand by a flat name, in a fixed order."""
    found: dict[str, Any] = {}
    _walk(demand, lambda name, value: found.setdefault(name, value))
    return found


def with_figures(demand: Demand, values: Mapping[str, Any]) -> Demand:
    """Return the same demand with its numbers taken from ``values`` (numbers or arrays)."""
    return _walk(demand, lambda name, value: values.get(name, value))


def _walk(demand: Demand, visit: Callable[[str, Any], Any]) -> Demand:
    regions = []
    for at, region in enumerate(demand.regions):
        parts = tuple(_walk_part(part, f"{at}.{n}", visit) for n, part in enumerate(region.parts))
        regions.append(
            replace(
                region,
                read_bytes=visit(f"{at}.read", region.read_bytes),
                write_bytes=visit(f"{at}.write", region.write_bytes),
                parts=parts,
            )
        )
    return replace(
        demand,
        regions=tuple(regions),
        minimal_bytes=visit("minimal_bytes", demand.minimal_bytes),
        minimal_passes=visit("minimal_passes", demand.minimal_passes),
        flops=visit("flops", demand.flops),
        tensor_flops=dict(_named(demand.tensor_flops, "tensor", visit)),
    )


def _walk_part(part: Part, at: str, visit: Callable[[str, Any], Any]) -> Part:
    tile = part.tile
    if tile is not None:
        m, k, n = (visit(f"{at}.{axis}", size) for axis, size in zip("mkn", tile, strict=True))
        tile = (m, k, n)
    return replace(
        part,
        rows=visit(f"{at}.rows", part.rows),
        columns=visit(f"{at}.columns", part.columns),
        passes=dict(_named(part.passes, f"{at}.passes", visit)),
        tensor_flops=dict(_named(part.tensor_flops, f"{at}.tensor", visit)),
        tile=tile,
    )


def _named(
    values: Mapping[str, Any], at: str, visit: Callable[[str, Any], Any]
) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        yield key, visit(f"{at}.{key}", value)
