"""A comparison as an xarray Dataset: runs by kernels, to slice, plot and keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofline.analysis.comparison import Comparison, Pair
from roofline.analysis.dataset import Builder

if TYPE_CHECKING:
    from collections.abc import Callable

    import xarray as xr

__all__ = ["compare_dataset"]


def compare_dataset(comparison: Comparison) -> xr.Dataset:
    """Return times, changes, noise and outcomes with dims ``run`` and ``kernel``.

    Times in s, float64, NaN where unknown, or where the times must not be compared (``change``,
    ``ratio``); ``ratio`` is base over new. Texts are empty where a run lacks a kernel.
    """
    kernels = list(dict.fromkeys(pair.key for pair in comparison.pairs))
    grid: dict[tuple[int, int], Pair] = {
        (number, kernels.index(pair.key)): pair
        for number, versus in enumerate(comparison.versus)
        for pair in versus.pairs
    }
    shape = (len(comparison.versus), len(kernels))

    def numbers(value: Callable[[Pair], float | None]) -> Any:
        result = np.full(shape, np.nan)
        for at, pair in grid.items():
            found = value(pair)
            result[at] = np.nan if found is None else found
        return result

    def texts(value: Callable[[Pair], str]) -> Any:
        result = np.full(shape, "", dtype=object)
        for at, pair in grid.items():
            result[at] = value(pair)
        return result.astype(str)

    build = Builder()
    dims = ("run", "kernel")
    build.coord("run", [versus.run.label for versus in comparison.versus], "1", "run")
    build.coord("kernel", kernels, "1", "kernel and shape")
    build.add("base", dims, numbers(lambda pair: pair.base_s), "s", "time in the base")
    build.add("new", dims, numbers(lambda pair: pair.new_s), "s", "time in the run")
    build.add("change", dims, numbers(lambda pair: pair.change_s), "s", "new less base")
    build.add("ratio", dims, numbers(lambda pair: pair.ratio), "1", "base over new")
    build.add("noise", dims, numbers(lambda pair: pair.noise.seconds), "s", "noise of the change")
    build.add("outcome", dims, texts(lambda pair: pair.outcome), "1", "what the pair comes to")
    build.add("clock", dims, texts(lambda pair: pair.clock), "1", "clock of both times")
    return build.build({"base": comparison.base.label, "source": comparison.base.source})
