"""Build xarray Datasets whose every variable has a unit and a name for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofline import __version__
from roofline.errors import QueryError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Builder", "ratio"]


class Builder:
    """Collects variables with dims, unit and long name, then makes one Dataset of them."""

    def __init__(self) -> None:
        self._variables: dict[str, Any] = {}
        self._coords: dict[str, Any] = {}

    def coord(self, name: str, values: Any, units: str, long_name: str) -> None:
        """Add a coordinate along the dimension of its own name."""
        self._coords[name] = (name, values, {"units": units, "long_name": long_name})

    def add(self, name: str, dims: Sequence[str], values: Any, units: str, long_name: str) -> None:
        """Add a variable; ``units`` is ``1`` for a number without unit."""
        if name in self._variables:
            raise QueryError(f"variable {name!r} is given twice")
        attrs = {"units": units, "long_name": long_name}
        self._variables[name] = (tuple(dims), values, attrs)

    def build(self, attrs: Mapping[str, Any]) -> xr.Dataset:
        """Return the Dataset; ``attrs`` that are ``None`` are left out: unknown."""
        import xarray as xr

        kept = {name: value for name, value in attrs.items() if value is not None}
        return xr.Dataset(self._variables, self._coords, {"roofline_version": __version__, **kept})


def ratio(top: Any, bottom: Any) -> Any:
    """Return ``top / bottom`` as float64, NaN (unknown) where the bottom is zero."""
    above, below = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below == 0, np.nan, above / np.where(below == 0, 1, below))
