"""The rows of a study as an xarray Dataset: to slice, save and plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofline import __version__
from roofline.study.rows import Row

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["rows_dataset"]

_FLOATS: tuple[tuple[str, str, str, Callable[[Row], float | None]], ...] = (
    ("time", "s", "measured time", lambda row: row.time_s),
    ("lower_bound", "s", "schedule-free lower bound", lambda row: row.placement.bound_s),
    ("headroom", "1", "time over lower bound", lambda row: row.placement.headroom),
    ("flop_rate", "FLOP/s", "achieved FLOP rate", lambda row: row.placement.flops_per_s),
    ("pass_rate", "1/s", "achieved element-passes", lambda row: row.placement.passes_per_s),
    (
        "minimal_intensity",
        "FLOP/B",
        "FLOP per minimal byte",
        lambda row: row.placement.intensity("minimal"),
    ),
    (
        "dispatched_intensity",
        "FLOP/B",
        "FLOP per dispatched byte",
        lambda row: row.placement.intensity("dispatched"),
    ),
    (
        "measured_intensity",
        "FLOP/B",
        "FLOP per measured byte",
        lambda row: row.placement.intensity("measured"),
    ),
    ("margin", "1", "utilization less its mark", lambda row: row.verdict.margin),
)


_COUNTS: tuple[tuple[str, str, str, Callable[[Row], int]], ...] = (
    ("flop", "FLOP", "FLOP of all classes", lambda row: row.placement.flops),
    ("element_passes", "1", "element-passes", lambda row: row.placement.passes),
    ("minimal_bytes", "B", "bytes, each moved once", lambda row: row.work.minimal_bytes),
    ("dispatched_bytes", "B", "operand bytes", lambda row: row.work.dispatched_bytes),
    ("launches", "1", "device launches", lambda row: row.work.launches),
)

_WORDS: tuple[tuple[str, str, Callable[[Row], str]], ...] = (
    ("verdict", "what holds it back", lambda row: row.verdict.label),
    ("side", "side of the headline ridge", lambda row: row.placement.side),
)


def rows_dataset(rows: Sequence[Row], attrs: dict[str, Any]) -> xr.Dataset:
    """Return one entry a row along dim ``row``; floats are NaN where not known, counts int64.

    Coordinates: variant, label, dtype, clock, and each parameter of the configs.
    """
    import xarray as xr

    data: dict[str, Any] = {}
    for name, units, what, value in _FLOATS:
        found = [value(row) for row in rows]
        column: Any = np.array([np.nan if one is None else one for one in found], np.float64)
        data[name] = ("row", column, {"units": units, "long_name": what})
    for name, units, what, count in _COUNTS:
        column = np.array([count(row) for row in rows], np.int64)
        data[name] = ("row", column, {"units": units, "long_name": what})
    for name, what, text in _WORDS:
        column = np.array([text(row) for row in rows], np.object_)
        data[name] = ("row", column, {"units": "", "long_name": what})
    names = list(dict.fromkeys(key for row in rows for key in row.measurement.config.shape))
    coords: dict[str, Any] = {
        "row": [row.key for row in rows],
        "variant": ("row", [row.measurement.variant for row in rows]),
        "label": ("row", [row.measurement.label for row in rows]),
        "dtype": ("row", [row.measurement.config.dtype for row in rows]),
        "clock": ("row", [row.measurement.clock.key for row in rows]),
        **{
            name: ("row", [row.measurement.config.shape.get(name, 0) for row in rows])
            for name in names
        },
    }
    return xr.Dataset(data, coords=coords, attrs={"tool": f"roofline {__version__}", **attrs})
