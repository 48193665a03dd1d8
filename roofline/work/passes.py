"""The least element-passes a computation needs with the instructions the engines have.

One instruction streams a tensor once and does at most two arithmetic stages, of which one may
take a second full tensor (``scalar_tensor_tensor``), one table function (``activation``), and a
running reduction at its end. Operators are merged into instructions in order under that rule,
which is generous: no single engine offers all of it at once, so the figure stays a lower bound.
Operations on the results of reductions (one value per row) and pure copies, which DMA can do,
cost nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from roofline.work.specs import same_size

if TYPE_CHECKING:
    from roofline.work.specs import TensorSpec
    from roofline.work.trace import Step, Use

__all__ = ["FUNCTIONS_PER_PASS", "STAGES_PER_PASS", "TENSORS_PER_PASS", "minimal_passes"]

STAGES_PER_PASS: Final = 2
TENSORS_PER_PASS: Final = 1
FUNCTIONS_PER_PASS: Final = 1


@dataclass(slots=True)
class _Pass:
    elements: int
    stages: int = 0
    tensors: int = 0
    functions: int = 0
    reduced: bool = False

    def takes(self, elements: int, stages: int, tensors: int, functions: int) -> bool:
        return (
            not self.reduced
            and same_size(self.elements, elements)
            and self.stages + stages <= STAGES_PER_PASS
            and self.tensors + tensors <= TENSORS_PER_PASS
            and self.functions + functions <= FUNCTIONS_PER_PASS
        )


def minimal_passes(steps: Sequence[Step]) -> int:
    """Return the least element-passes of ``steps``, in elements."""
    total = 0
    made_by: dict[int, _Pass | None] = {}
    statistics: set[int] = set()
    for step in steps:
        cost = step.cost
        outputs = [use.value for use in step.writes]
        if cost.family in ("view", "copy"):
            _pass_on(step, made_by, statistics)
            continue
        if step.reads and all(use.value in statistics or _single(use.spec) for use in step.reads):
            statistics.update(outputs)
            continue
        statistics.difference_update(outputs)
        if cost.fixed or not (cost.stages or cost.functions or cost.reduces):
            total = total + cost.passes
            # a product leaves PSUM by one pass, which operators on its result can share
            own = None if cost.fixed else _Pass(cost.passes)
            made_by.update(dict.fromkeys(outputs, own))
            continue
        wide = _wide_operands(step, statistics)
        chosen = None
        for use in wide:
            found = made_by.get(use.value)
            if found is not None and found.takes(
                cost.passes, cost.stages, _tensors(wide, use), cost.functions
            ):
                chosen = found
        if chosen is None:
            chosen = _Pass(cost.passes)
            total = total + cost.passes
            chosen.tensors = _tensors(wide, wide[0]) if wide else 0
        else:
            own_use = next(use for use in wide if made_by.get(use.value) is chosen)
            chosen.tensors += _tensors(wide, own_use)
        chosen.stages += cost.stages
        chosen.functions += cost.functions
        chosen.reduced = chosen.reduced or cost.reduces
        if cost.reduces:
            statistics.update(outputs)
        else:
            made_by.update(dict.fromkeys(outputs, chosen))
    return total


def _pass_on(step: Step, made_by: dict[int, _Pass | None], statistics: set[int]) -> None:
    source = step.reads[0].value if len(step.reads) == 1 else None
    for use in step.writes:
        made_by[use.value] = made_by.get(source) if source is not None else None
        if source in statistics:
            statistics.add(use.value)
        else:
            statistics.discard(use.value)


def _wide_operands(step: Step, statistics: set[int]) -> list[Use]:
    return [use for use in step.reads if use.value not in statistics and not _single(use.spec)]


def _tensors(wide: list[Use], chain: Use) -> int:
    others = {use.value for use in wide if use.value != chain.value and not _per_row(use.spec)}
    return len(others)


def _single(spec: TensorSpec) -> bool:
    return all(isinstance(size, int) and size == 1 for size in spec.shape)


def _per_row(spec: TensorSpec) -> bool:
    last = spec.shape[-1] if spec.shape else 1
    return isinstance(last, int) and last == 1
