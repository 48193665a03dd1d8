"""The schedule-free lower bound: a time no execution of the same computation can beat.

Three resources work side by side: the Tensor engine at its array peak, the element engines
together in their best mode, and the memory path at its theoretical rate with every input read
once and every output written once. The bound is the slowest of the three. Fixed costs, tiling,
dependences and efficiency are left out on purpose: they belong to the schedule bound and to the
estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofline.errors import WorkError
from roofline.hardware.model import Hardware
from roofline.work.work import Work

if TYPE_CHECKING:
    Array = npt.NDArray[np.float64]
    ArrayLike = npt.ArrayLike

__all__ = ["LowerBound", "bound_terms", "lower_bound", "tensor_seconds"]

"""The resources of the bound, in the order terms are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBound:
    """The lower bound of a work on a hardware, and what it is made of.

    ``terms_s`` holds the seconds each resource needs on its own; ``seconds`` is the largest.
    ``binding`` names it: ``tensor``, ``elements``, or the resource of the memory ceiling (``hbm``
    or ``dma``). ``partial`` says that operators without a formula are missing: the bound then
    holds, but is looser than it could be.
    """

    work: str
    hardware: str
    seconds: float
    binding: str
    terms_s: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    partial: bool = False
    assumptions: tuple[str, ...] = ()


def tensor_seconds(flops: Mapping[str, Any], peaks: Mapping[str, float]) -> Any:
    """Return Tensor-engine seconds: FLOP of each multiply dtype over its peak, added up.

    One array multiplies all dtypes in turn. ``flops`` maps a dtype to FLOP (scalar or array),
    ``peaks`` the same dtypes to FLOP/s.
    """
    total: Any = 0.0
    for dtype, count in flops.items():
        total = total + np.asarray(count, dtype=np.float64) / peaks[dtype]
    return total


def bound_terms(
    *,
    tensor_s: ArrayLike,
    passes: ArrayLike,
    bytes: ArrayLike,
    passes_per_s: float,
    bytes_per_s: float,
) -> tuple[Array, Array, Array]:
    """Return the seconds of the three resources, arrays in and arrays out.

    ``tensor_s`` (seconds), ``passes`` (element-passes) and ``bytes`` broadcast against each
    other; ``passes_per_s`` (element/s) and ``bytes_per_s`` (B/s) are rates of the hardware. The
    bound is ``np.maximum`` over the result.
    """
    return (
        np.asarray(tensor_s, dtype=np.float64),
        np.asarray(passes, dtype=np.float64) * (1.0 / passes_per_s),
        np.asarray(bytes, dtype=np.float64) * (1.0 / bytes_per_s),
    )


def lower_bound(work: Work, hardware: Hardware) -> LowerBound:
    """Return the schedule-free lower bound of ``work`` on ``hardware``.

    Uses the theoretical rates of all working cores: Tensor peak by multiply dtype, element
    engines together in the best mode of the work's dtype, and the memory ceiling that binds them.
    Raises ``WorkError`` for a work that does nothing at all, ``HardwareModelError`` for a multiply
    dtype the chip does not have.
    """
    if not (work.minimal_bytes or work.total_flops or work.element_passes_minimal):
        raise WorkError(f"work {work.name!r} has no FLOP, passes or bytes: nothing to bound")
    peaks = {dtype: hardware.tensor_peak(dtype).value for dtype in work.tensor_flops}
    memory = hardware.memory_ceiling("theoretical")
    passes_per_s = hardware.best_element_rate(work.dtype)
    tensor, elements, memory_s = bound_terms(
        tensor_s=tensor_seconds(work.tensor_flops, peaks),
        passes=work.element_passes_minimal,
        bytes=work.minimal_bytes,
        passes_per_s=passes_per_s,
        bytes_per_s=memory.value,
    )
    terms = {"tensor": float(tensor), "elements": float(elements), "memory": float(memory_s)}
    slowest = max(terms, key=lambda term: terms[term])
    return LowerBound(
        work=work.name,
        hardware=hardware.name,
        seconds=terms[slowest],
        binding=memory.resource if slowest == "memory" else slowest,
        terms_s=terms,
        rates={
            **{f"tensor.{dtype}": peak for dtype, peak in peaks.items()},
            "elements": passes_per_s,
            "memory": memory.value,
        },
        partial=work.partial,
        assumptions=(
            "every input is read once and every output written once, from and to HBM",
            f"{hardware.working_cores} of {hardware.lnc} physical cores work",
            f"memory ceiling: {memory.name}",
            "elements spread over Vector, Scalar and GpSimd in their best mode",
        ),
    )
