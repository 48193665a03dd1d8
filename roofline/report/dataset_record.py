"""Any Dataset as plain JSON and as CSV: units beside the numbers, unknown as null or empty."""

from __future__ import annotations

import csv
import io
import math
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["dataset_csv", "dataset_record"]


def dataset_record(result: xr.Dataset) -> dict[str, Any]:
    """Return a Dataset as JSON values: attrs, coordinates, and each variable with its unit.

    NaN and infinity become ``None``: not known. Integers stay integers.
    """
    return {
        "attrs": {str(key): _plain(value) for key, value in result.attrs.items()},
        "coords": {
            str(name): _plain(coord.values.tolist()) for name, coord in result.coords.items()
        },
        "variables": {
            str(name): {
                "dims": list(map(str, variable.dims)),
                "units": variable.attrs.get("units", ""),
                "long_name": variable.attrs.get("long_name", ""),
                "values": _plain(variable.values.tolist()),
            }
            for name, variable in result.data_vars.items()
        },
    }


def dataset_csv(result: xr.Dataset, dims: tuple[str, ...]) -> str:
    """Return the variables that have exactly ``dims`` as CSV, one line a combination.

    The head carries the unit of each column in brackets; an unknown value is an empty field.
    """
    names = [name for name, variable in result.data_vars.items() if variable.dims == dims]
    labels = [result[dim].values.tolist() for dim in dims]
    columns = [result[name].values.reshape(-1).tolist() for name in names]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    units = [result[name].attrs.get("units", "1") for name in names]
    writer.writerow([*dims, *(f"{name} [{unit}]" for name, unit in zip(names, units, strict=True))])
    rows = zip(*columns, strict=True) if columns else iter(())
    for label, row in zip(product(*labels), rows, strict=False):
        writer.writerow(["" if value is None else value for value in map(_plain, (*label, *row))])
    return out.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return value.item() if hasattr(value, "item") else str(value)
