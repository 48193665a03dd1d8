"""Points of a sweep as plain data: all of them, some evenly spread, or those of one figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.analysis.verdict import LABELS
from roofline.model.points import SIDES, VARIABLES, status_words
from roofline.model.stored import sizes_of
from roofline.units import format_count

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr

__all__ = ["MOST", "hold", "spread", "spread_words", "sweep_rows"]

MOST: Final = 10_000
"""Points in tables and in each figure; of larger sweeps as many, evenly spread."""

_SHOWN: Final = frozenset({*VARIABLES, "pareto"})


def sweep_rows(data: xr.Dataset) -> list[dict[str, Any]]:
    """Return every point as its axes, sizes and variables.

    ``bound`` and ``side`` are names, ``status`` is in words; what is not known is ``None``.
    """
    dims = data["estimate"].dims
    axes = np.meshgrid(*(data[dim].values for dim in dims), indexing="ij")
    columns: dict[str, list[Any]] = {
        str(dim): axis.ravel().tolist() for dim, axis in zip(dims, axes, strict=True)
    }
    for name, variable in data.data_vars.items():
        if variable.dims == dims and name in _SHOWN:
            columns[str(name)] = variable.values.ravel().tolist()
    return [
        {name: _value(name, value) for name, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


def spread(data: xr.Dataset, most: int = MOST) -> xr.Dataset:
    """Return at most ``most`` points, the first and the last of each size among them."""
    lengths = {str(dim): length for dim, length in data["estimate"].sizes.items()}
    while math.prod(lengths.values()) > most:
        longest = max(lengths, key=lambda dim: lengths[dim])
        lengths[longest] = max(1, lengths[longest] // 2)
    return data.isel({dim: _evenly(data.sizes[dim], length) for dim, length in lengths.items()})


def spread_words(whole: xr.Dataset, part: xr.Dataset) -> str:
    """Return which points a part of a sweep has, or nothing where it has all that it could."""
    cut = [
        f"{part.sizes[dim]} of {format_count(whole.sizes[dim])} {dim}"
        for dim in whole["estimate"].dims
        if part.sizes[dim] < whole.sizes[dim]
    ]
    return f"drawn are {', '.join(cut)}, evenly spread" if cut else ""


def hold(data: xr.Dataset, varying: int) -> xr.Dataset:
    """Return the sweep with so many sizes that vary; the others are at their largest.

    Of two, the first that vary; of one, the longest.
    """
    sizes = [dim for dim in sizes_of(data) if data.sizes[dim] > 1]
    if varying == 1:
        sizes.sort(key=lambda dim: -data.sizes[dim])
    held: dict[str, Any] = {
        dim: [int(np.argmax(data[dim].values))]
        for dim in sizes_of(data)
        if dim not in sizes[:varying]
    }
    return data.isel(held)


def _evenly(length: int, most: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(np.int64))


def _value(name: str, value: Any) -> Any:
    names = {"bound": LABELS, "side": SIDES}.get(name)
    if names is not None:
        return names[value] if 0 <= value < len(names) else None
    if name == "status":
        return status_words(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
