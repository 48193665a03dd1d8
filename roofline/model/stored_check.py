"""Hold a stored sweep against what a sweep is, before any of its values is read."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.model.points import VARIABLES

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["AXES", "NEEDED", "fault_of", "fault_of_files"]

AXES: Final = ("hardware", "dtype", "variant")
"""Dimensions that are not sizes."""

NEEDED: Final = ("estimate", "lower_bound", "percent_of_roof", "bound")
"""Variables without which nothing can be said of a sweep."""

_MOST_POINTS: Final = 1 << 27  # of a file that holds next to nothing
_MOST_GROWN: Final = 4096  # times the bytes that are stored: no packer gets there on times
_MOST_IN_CHUNK: Final = 1 << 28
_KINDS: Final = {"f": ("f", "numbers"), "i": ("iu", "whole numbers")}


def fault_of_files(path: Path, *, store: bool) -> str:
    """Return why the files of a sweep are not to be read at all; empty if they may be.

    A netCDF file is a regular file, a Zarr store a folder of regular files: a pipe in it would be
    waited for, and a device has no end.
    """
    if not store:
        return "" if path.is_file() else "is a netCDF file, and this is none"
    if not path.is_dir():
        return "is a Zarr store, which is a folder, and this is none"
    odd = next((one for one in _files(path) if one.exists() and not one.is_file()), None)
    return f"holds {odd.relative_to(path)}, which is no regular file" if odd else ""


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder, followlinks=False):
        yield from (Path(place, name) for name in names)


def fault_of(data: xr.Dataset, path: Path) -> str:
    """Return why an opened file is no result of a sweep; empty if it is one."""
    lacking = [name for name in (*AXES, *NEEDED) if name not in data.variables]
    if lacking or "op" not in data.attrs:
        return f"is no result of roofline sweep: it lacks {', '.join(lacking) or 'op'}"
    dims = data["estimate"].dims
    faults = (
        *(_axis_fault(data, name) for name in AXES),
        *(_size_fault(data, str(dim)) for dim in dims if dim not in AXES),
        *(_variable_fault(data, name) for name in VARIABLES if name in data.variables),
    )
    if fault := next(filter(None, faults), ""):
        return f"is no result of roofline sweep: {fault}"
    if any(data.sizes[dim] == 0 for dim in dims):
        return "a sweep without points"
    return _extent_fault(data, path)


def _axis_fault(data: xr.Dataset, name: str) -> str:
    held = data[name]
    if held.dims != (name,) or name not in data["estimate"].dims:
        return f"{name} is no dimension of estimate"
    if not all(isinstance(one, str) for one in held.values.tolist()):
        return f"{name} holds {held.dtype}, not names"
    return "" if data.indexes[name].is_unique else f"a name stands twice on {name}"


def _size_fault(data: xr.Dataset, name: str) -> str:
    if name not in data.coords or data[name].dims != (name,):
        return f"dimension {name} has no sizes"
    held = data[name].values
    if held.dtype.kind not in "iu":
        return f"sizes {name} are {held.dtype}, not whole numbers"
    if held.size and not (held.min() >= 1 and int(held.max()) < 2**63):
        return f"sizes {name} run from {held.min()} to {held.max()}: each is at least 1"
    return "" if data.indexes[name].is_unique else f"a size stands twice on {name}"


def _variable_fault(data: xr.Dataset, name: str) -> str:
    held = data[name]
    kinds, what = _KINDS[VARIABLES[name].dtype[0]]
    if held.dtype.kind not in kinds:
        return f"{name} holds {held.dtype}, not {what}"
    if set(held.dims) != set(data["estimate"].dims):
        return f"{name} has the dimensions {_names(held.dims)}, not {_names(data['estimate'].dims)}"
    chunks = held.encoding.get("chunks") or held.encoding.get("chunksizes") or ()
    if math.prod(map(int, chunks)) > _MOST_IN_CHUNK:
        return f"{name} is stored in blocks of {math.prod(map(int, chunks))} points"
    return ""


def _names(dims: Any) -> str:
    return ", ".join(map(str, dims)) or "none"


def _extent_fault(data: xr.Dataset, path: Path) -> str:
    """Return whether so few bytes can hold so many points: what is not stored reads as nothing."""
    points = int(np.prod([data.sizes[dim] for dim in data["estimate"].dims], dtype=object))
    if points <= _MOST_POINTS:
        return ""
    files = [path] if path.is_file() else _files(path)
    held = sum(one.stat().st_size for one in files)
    if points * 8 <= held * _MOST_GROWN:
        return ""
    return f"claims {points} points in {held} bytes: damaged, or hardly begun"
