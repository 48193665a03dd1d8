"""The points of a sweep that no other point beats: more work in less time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofline.errors import QueryError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["pareto"]


def pareto(data: xr.Dataset, *, cost: str = "estimate", worth: str = "minimal_bytes") -> Any:
    """Return which points no other point of the same chip, dtype and variant beats.

    A point is beaten by one that costs no more and is worth no less, and differs in either.
    ``cost`` is to be small (seconds), ``worth`` large (bytes or FLOP of the work); points without
    either are never on the front. Returns a boolean DataArray of the same dims.
    """
    for name in (cost, worth):
        if name not in data:
            raise QueryError(
                f"no variable {name!r} in this sweep; it has {', '.join(map(str, data))}"
            )
    import xarray as xr

    axes = ("hardware", "dtype", "variant")
    sizes = [dim for dim in data[cost].dims if dim not in axes]
    costs = data[cost].transpose(*axes, *sizes)
    worths = data[worth].transpose(*axes, *sizes)
    front = np.zeros(costs.shape, dtype=bool)
    for at in np.ndindex(*costs.shape[:3]):
        front[at] = _front(costs.values[at].ravel(), worths.values[at].ravel()).reshape(
            costs.shape[3:]
        )
    found = xr.DataArray(front, dims=costs.dims, coords=costs.coords)
    found.attrs.update(units="1", long_name=f"no point has less {cost} and more {worth}")
    return found


def _front(cost: Any, worth: Any) -> Any:
    order = np.lexsort((-worth, cost))
    known = np.isfinite(cost[order]) & np.isfinite(worth[order])
    best = np.maximum.accumulate(np.where(known, worth[order], -np.inf))
    before = np.concatenate([[-np.inf], best[:-1]])
    front = np.zeros(len(cost), dtype=bool)
    front[order] = known & (worth[order] > before)
    return front
