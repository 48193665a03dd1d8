"""A finished sweep in a file or store: opened lazily, and summed up block by block."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.analysis.verdict import LABELS
from roofline.captures.decoding import decoding
from roofline.errors import OptionalDependencyError, QueryError
from roofline.model.stored_check import AXES, NEEDED, fault_of, fault_of_files

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "AXES",
    "Change",
    "Extreme",
    "Series",
    "cores_of",
    "is_sweep",
    "open_sweep",
    "sizes_of",
    "summarise",
]

_BLOCK: Final = 1 << 20  # points in memory at once, per variable
_EXAMPLES: Final = 20  # changes of bound kept of each series, of any number


@dataclass(frozen=True, slots=True, kw_only=True)
class Extreme:
    """A point of a sweep: sizes by name, modelled time in s, share of its roof if known, bound."""

    sizes: Mapping[str, int]
    estimate_s: float
    percent_of_roof: float | None
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The bound differs between two neighbouring sizes of ``dim``; ``sizes`` are the others."""

    dim: str
    sizes: Mapping[str, int]
    before: str
    after: str
    last: int
    first: int


@dataclass(slots=True, kw_only=True)
class Series:
    """One hardware, dtype and variant of a sweep, over all sizes.

    ``points`` have a modelled time, ``empty`` have none. ``extremes`` maps ``fastest``,
    ``slowest``, ``best`` and ``worst`` (by share of the roof) to points; ``bounds`` counts points
    by bound, ``changes`` counts changes of bound along ``along`` by (before, after) with the
    lowest and highest size at which the new one starts, and ``examples`` are some of them.
    """

    hardware: str
    dtype: str
    variant: str
    along: str
    points: int = 0
    empty: int = 0
    extremes: dict[str, Extreme] = field(default_factory=dict)
    bounds: dict[str, int] = field(default_factory=dict)
    changes: dict[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)
    examples: list[Change] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Hardware, dtype and variant."""
        return f"{self.hardware} {self.dtype} {self.variant}"


def is_sweep(path: str | Path) -> bool:
    """Whether a path is named as the result of a sweep is: ``.nc`` or ``.zarr``."""
    return Path(path).suffix in (".nc", ".zarr")


def cores_of(data: xr.Dataset) -> dict[str, int]:
    """Return the LNC of each hardware of a sweep, as far as it says so."""
    pairs = (part.split("=", 1) for part in str(data.attrs.get("lnc", "")).split() if "=" in part)
    return {name: int(number) for name, number in pairs if number.isascii() and number.isdigit()}


def open_sweep(path: str | Path) -> xr.Dataset:
    """Return the sweep at a path without its values.

    Its dimensions stand in the order of ``AXES``, then the sizes. Raises ``QueryError`` for a path
    that holds none, ``CaptureError`` for a damaged one, ``OptionalDependencyError`` for a store
    without the library that reads it.
    """
    path = Path(path)
    if not path.exists():
        raise QueryError(f"{path}: no such sweep; write one with roofline sweep OP -o {path.name}")
    if fault := fault_of_files(path, store=path.suffix == ".zarr"):
        raise QueryError(f"{path}: the result of a sweep {fault}")
    try:
        with decoding(path, "the result of a sweep"):
            data = _opened(path)
            fault = fault_of(data, path)
    except ImportError as error:
        raise OptionalDependencyError(
            f'{path}: needs {error.name}: pip install "roofline[distributed]"'
        ) from error
    except OSError as error:
        what = str(error).partition("\n")[0]
        raise QueryError(f"{path}: cannot be read as the result of a sweep: {what}") from error
    if fault:
        raise QueryError(f"{path}: {fault}")
    return data.transpose(*AXES, *sizes_of(data))


def _opened(path: Path) -> xr.Dataset:
    import xarray as xr

    # a unit such as "days since ..." makes no date of a number here
    if path.suffix == ".zarr":
        opened: xr.Dataset = xr.open_zarr(path, chunks={}, decode_times=False)
    else:
        opened = xr.open_dataset(path, engine="h5netcdf", cache=False, decode_times=False)
    return opened


def sizes_of(data: xr.Dataset) -> list[str]:
    """Return the dimensions that are sizes, in their order."""
    return [str(dim) for dim in data["estimate"].dims if dim not in AXES]


def summarise(data: xr.Dataset) -> list[Series]:
    """Return every series of a sweep, read in blocks: memory does not grow with the sweep."""
    dims = sizes_of(data)
    along = max(dims, key=lambda dim: data.sizes[dim], default="")
    data = data[list(NEEDED)].transpose(*AXES, *dims)
    coords = {dim: data[dim].values for dim in dims}
    found = []
    for at in itertools.product(*(range(data.sizes[axis]) for axis in AXES)):
        hardware, dtype, variant = (
            str(data[axis].values[i]) for axis, i in zip(AXES, at, strict=True)
        )
        series = Series(hardware=hardware, dtype=dtype, variant=variant, along=along)
        for window in _windows([data.sizes[dim] for dim in dims], dims.index(along) if dims else 0):
            block = data.isel({**dict(zip(AXES, at, strict=True)),
                               **dict(zip(dims, window, strict=True))})  # fmt: skip
            _add(series, block, {dim: coords[dim][w] for dim, w in zip(dims, window, strict=True)})
        found.append(series)
    return found


def _windows(lengths: list[int], whole: int) -> Iterator[tuple[slice, ...]]:
    """Yield slices that cover an array in blocks; dimension ``whole`` is never cut."""
    steps, room = [0] * len(lengths), _BLOCK
    order = sorted(range(len(lengths)), key=lambda i: (i != whole, -i))
    for i in order:
        steps[i] = lengths[i] if i == whole else max(1, min(lengths[i], room))
        room = max(1, room // steps[i])
    yield from itertools.product(
        *(
            [slice(start, min(start + step, length)) for start in range(0, length, step)]
            for length, step in zip(lengths, steps, strict=True)
        )
    )


def _add(series: Series, block: xr.Dataset, coords: Mapping[str, Any]) -> None:
    estimate = np.asarray(block["estimate"].values)
    share = np.asarray(block["percent_of_roof"].values)
    codes = np.asarray(block["bound"].values)
    known = np.isfinite(estimate) & (estimate > 0)
    series.points += int(known.sum())
    series.empty += int((~known).sum())
    if not known.any():
        return
    for code, count in zip(*np.unique(codes[known], return_counts=True), strict=True):
        label = _label(int(code))
        series.bounds[label] = series.bounds.get(label, 0) + int(count)
    for name, values, sign in (
        ("fastest", estimate, -1), ("slowest", estimate, 1),
        ("best", share, 1), ("worst", share, -1),
    ):  # fmt: skip
        score = np.where(known & np.isfinite(values), sign * values, -np.inf)
        if not np.isfinite(score).any():
            continue
        place = np.unravel_index(int(np.argmax(score)), score.shape)
        point = Extreme(
            sizes={
                dim: int(sizes[i]) for (dim, sizes), i in zip(coords.items(), place, strict=True)
            },
            estimate_s=float(estimate[place]),
            percent_of_roof=float(share[place]) if np.isfinite(share[place]) else None,
            bound=_label(int(codes[place])),
        )
        old = series.extremes.get(name)
        field_name = "estimate_s" if values is estimate else "percent_of_roof"
        if old is None or sign * getattr(point, field_name) > sign * getattr(old, field_name):
            series.extremes[name] = point
    if series.along:
        _add_changes(series, codes, known, coords)


def _add_changes(series: Series, codes: Any, known: Any, coords: Mapping[str, Any]) -> None:
    dims = list(coords)
    axis = dims.index(series.along)
    codes, known = np.moveaxis(codes, axis, -1), np.moveaxis(known, axis, -1)
    places = np.argwhere((codes[..., 1:] != codes[..., :-1]) & known[..., 1:] & known[..., :-1])
    if not len(places):
        return
    step = places[:, -1]
    before, after = codes[tuple(places.T)], codes[(*places.T[:-1], step + 1)]
    sizes = coords[series.along]
    first = sizes[step + 1]
    pairs = before.astype(np.int64) * 1000 + after
    for pair in np.unique(pairs).tolist():
        mine = pairs == pair
        key = (_label(pair // 1000), _label(pair % 1000))
        count, low, high = series.changes.get(key, (0, int(first[mine][0]), int(first[mine][0])))
        series.changes[key] = (
            count + int(mine.sum()),
            min(low, int(first[mine].min())),
            max(high, int(first[mine].max())),
        )
    others = [dim for dim in dims if dim != series.along]
    for row in range(min(len(places), _EXAMPLES - len(series.examples))):
        *fixed, at = places[row].tolist()
        series.examples.append(
            Change(
                dim=series.along,
                sizes={dim: int(coords[dim][i]) for dim, i in zip(others, fixed, strict=True)},
                before=_label(int(before[row])),
                after=_label(int(after[row])),
                last=int(sizes[at]),
                first=int(sizes[at + 1]),
            )
        )


def _label(code: int) -> str:
    return LABELS[code] if 0 <= code < len(LABELS) else "unknown"
