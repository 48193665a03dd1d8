"""Where the bound of a computation changes along a dimension: solved to the size, not sampled."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from roofline.analysis.verdict import LABELS
from roofline.errors import QueryError
from roofline.model.bounds import bound_codes
from roofline.model.points import Combination
from roofline.model.rates import Rates
from roofline.model.sweep import Plan
from roofline.model.terms import times

__all__ = ["Crossover", "crossovers"]

_OVERHEAD = tuple(code for code, label in enumerate(LABELS) if label.startswith("overhead:"))
_MOST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossover:
    """A change of bound along ``dim``: ``at`` is the first size with the new one.

    ``low`` and ``high`` are the sizes for the smallest and the largest published floor of a
    launch, where the change leaves overhead; otherwise both are ``at``. ``None`` means: outside
    the range of the sweep.
    """

    hardware: str
    dtype: str
    variant: str
    dim: str
    sizes: Mapping[str, int]
    before: str
    after: str
    at: int
    low: int | None
    high: int | None


def crossovers(ready: Plan, dim: str) -> list[Crossover]:
    """Return every change of bound along ``dim`` between the sizes of a sweep.

    Between two sizes of the sweep one change is found, by bisection over whole sizes. Raises
    ``QueryError`` for an unknown dimension, and for more lines than can be listed.
    """
    if dim not in ready.sizes:
        raise QueryError(f"no dimension {dim!r}; they are {', '.join(ready.sizes)}")
    others = [name for name in ready.sizes if name != dim]
    lines = list(itertools.product(*(ready.sizes[name].tolist() for name in others)))
    if len(lines) > _MOST:
        raise QueryError(f"{len(lines)} lines along {dim}: too many to list, sweep fewer sizes")
    found: list[Crossover] = []
    for combination in ready.combinations.values():
        if combination.counts is None or combination.rates is None:
            continue
        fixed = {name: np.array([line[at] for line in lines]) for at, name in enumerate(others)}
        found += _along(combination, combination.rates, dim, ready.sizes[dim], fixed)
    return found


def _along(
    combination: Combination,
    rates: Rates,
    dim: str,
    along: npt.NDArray[np.int64],
    fixed: Mapping[str, npt.NDArray[np.int64]],
) -> list[Crossover]:
    lines = max((len(values) for values in fixed.values()), default=1)
    column = {name: values[:, None] for name, values in fixed.items()}
    codes = np.broadcast_to(
        _codes(combination, rates, {**column, dim: along[None, :]}), (lines, len(along))
    )
    line, step = np.nonzero(codes[:, 1:] != codes[:, :-1])
    if not len(line):
        return []
    points = {name: values[line] for name, values in fixed.items()}
    before = codes[line, step]

    def same(size: npt.NDArray[np.int64]) -> Any:
        return _codes(combination, rates, {**points, dim: size}) == before

    at = _bisect(same, along[step], along[step + 1])
    after = _codes(combination, rates, {**points, dim: at})
    ends = [_overhead_end(combination, rates, dim, along, points, which) for which in (0, 2)]
    found = []
    for index in range(len(line)):
        leaves = int(before[index]) in _OVERHEAD
        low, high = ((_inside(end[index], along) if leaves else int(at[index])) for end in ends)
        found.append(
            Crossover(
                hardware=combination.hardware,
                dtype=combination.dtype,
                variant=combination.variant,
                dim=dim,
                sizes={name: int(values[index]) for name, values in points.items()},
                before=LABELS[int(before[index])],
                after=LABELS[int(np.broadcast_to(after, before.shape)[index])],
                at=int(at[index]),
                low=low,
                high=high,
            )
        )
    return found


def _overhead_end(
    combination: Combination,
    rates: Rates,
    dim: str,
    along: npt.NDArray[np.int64],
    points: Mapping[str, npt.NDArray[np.int64]],
    which: int,
) -> npt.NDArray[np.int64]:
    """Return the first size that is not overhead with the low (0) or high (2) floor."""
    floor = rates.floor_s[which]
    other = replace(rates, floor_s=(floor, floor, floor))
    count = max((len(values) for values in points.values()), default=1)

    def inside(size: npt.NDArray[np.int64]) -> Any:
        return np.isin(_codes(combination, other, {**points, dim: size}), _OVERHEAD)

    first = np.full(count, along[0] - 1)
    return _bisect(inside, first, np.full(count, along[-1] + 1))


def _inside(size: Any, along: npt.NDArray[np.int64]) -> int | None:
    return int(size) if along[0] <= size <= along[-1] else None


def _bisect(
    holds: Callable[[npt.NDArray[np.int64]], Any],
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return the first size where ``holds`` fails, between ``low`` (holds) and ``high`` (fails)."""
    low, high = low.copy(), high.copy()
    while np.any(high - low > 1):
        middle = low + (high - low) // 2
        ok = np.broadcast_to(holds(np.maximum(middle, 1)), middle.shape)
        low, high = np.where(ok, middle, low), np.where(ok, high, middle)
    return high


def _codes(combination: Combination, rates: Rates, sizes: Mapping[str, Any]) -> Any:
    counts = combination.counts
    if counts is None:
        raise QueryError(combination.problem)
    demand = counts({name: np.asarray(size, dtype=np.float64) for name, size in sizes.items()})
    return np.asarray(bound_codes(demand, rates, times(demand, rates)))
