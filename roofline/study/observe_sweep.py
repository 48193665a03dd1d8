"""Observe stored sweeps: a modelled time a point; of large ones the points that change most."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.analysis.observed import Observed, Run, Timing
from roofline.analysis.verdict import LABELS
from roofline.captures.decoding import decoding
from roofline.clocks import clock_label
from roofline.model.stored import AXES, cores_of, open_sweep, sizes_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr

__all__ = ["MOST_POINTS", "observe_sweeps"]

MOST_POINTS: Final = 10_000
"""Points of a sweep that are compared one by one; of larger ones those that change most."""

_VARIABLES: Final = ("estimate", "lower_bound", "flops", "minimal_bytes", "bound")
_SAME: Final = 1e-9  # relative: the same time in other digits

Key = tuple[Any, ...]


def observe_sweeps(paths: Sequence[Path]) -> tuple[Run, ...]:
    """Return a run a stored sweep, of all its points where no sweep has more than ``MOST_POINTS``.

    Of larger sweeps every run holds the same points: those whose time changes most against the
    first sweep, and all changes are counted in its notes. Raises ``QueryError`` for a path that
    holds no sweep.
    """
    sweeps = [open_sweep(path) for path in paths]
    with decoding(paths[0], "the result of a sweep"):
        return _observe(paths, sweeps)


def _observe(paths: Sequence[Path], sweeps: Sequence[xr.Dataset]) -> tuple[Run, ...]:
    if max(int(data["estimate"].size) for data in sweeps) <= MOST_POINTS:
        return tuple(
            _run(path, data, _everywhere(data), ())
            for path, data in zip(paths, sweeps, strict=True)
        )
    base, *others = sweeps
    found = [_changes(base, other) for other in others]
    keys = list(dict.fromkeys(key for chosen, _ in found for key in chosen))
    if not found:
        keys = [tuple(key) for key in zip(*_everywhere(base), strict=True)][:MOST_POINTS]
    notes = [
        "",
        *(f"{path.name}: {said}" for path, (_, said) in zip(paths[1:], found, strict=True)),
    ]
    if not found:
        notes = [f"{paths[0].name}: the first {MOST_POINTS:,} of {base['estimate'].size:,} points"]
    return tuple(
        _run(path, data, _columns(data, keys), (note,) if note else ())
        for path, data, note in zip(paths, sweeps, notes, strict=True)
    )


def _dims(data: xr.Dataset) -> list[str]:
    return [*AXES, *sizes_of(data)]


def _everywhere(data: xr.Dataset) -> list[npt.NDArray[Any]]:
    """Return the coordinates of every point, a column a dimension."""
    grid = np.meshgrid(*(data[dim].values for dim in _dims(data)), indexing="ij")
    return [axis.ravel() for axis in grid]


def _columns(data: xr.Dataset, keys: Sequence[Key]) -> list[npt.NDArray[Any]]:
    """Return the coordinates of those keys that a sweep has."""
    held = [set(data[dim].values.tolist()) for dim in _dims(data)]
    kept = [key for key in keys if all(v in one for v, one in zip(key, held, strict=True))]
    return [np.array(column) for column in zip(*kept, strict=True)] or [np.array([])] * len(held)


def _run(
    path: Path, data: xr.Dataset, columns: Sequence[npt.NDArray[Any]], notes: tuple[str, ...]
) -> Run:
    observed = tuple(_observed(data, columns)) if len(columns[0]) else ()
    absent = len(columns[0]) - len(observed)
    lacking = (f"{path.name}: {absent:,} points without a modelled time",) if absent else ()
    return Run(
        label=path.stem,
        source=str(path),
        format="sweep",
        observed=observed,
        notes=(*notes, *lacking),
    )


def _observed(data: xr.Dataset, columns: Sequence[npt.NDArray[Any]]) -> Iterator[Observed]:
    import xarray as xr

    dims = _dims(data)
    at = {
        dim: xr.DataArray(data.indexes[dim].get_indexer(column), dims="point")
        for dim, column in zip(dims, columns, strict=True)
    }
    values = {
        name: data[name].transpose(*dims).isel(at).values.tolist()
        for name in _VARIABLES
        if name in data
    }
    op = str(data.attrs["op"])
    clock = str(data.attrs.get("clock", ""))
    cores = cores_of(data)
    for row, key in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        hardware, dtype, variant, *sizes = key
        seconds = values["estimate"][row]
        if not np.isfinite(seconds) or seconds <= 0:
            continue
        shape = " ".join(f"{dim}={size}" for dim, size in zip(dims[3:], sizes, strict=True))
        code = values["bound"][row]
        yield Observed(
            kernel=f"{op} {variant}",
            config=f"{hardware} {dtype} {shape}",
            timings=(
                Timing(
                    seconds=seconds,
                    clock=f"modelled {clock_label(clock)}",
                    profiled=False,
                    spread=0.0,
                    spread_source="a model gives one time a point",
                    resolution_s=seconds * _SAME,
                ),
            ),
            flops=_known(values, "flops", row),
            bytes={"minimal": moved} if (moved := _known(values, "minimal_bytes", row)) else {},
            bound_s=_known(values, "lower_bound", row),
            bound_what="lower bound",
            verdict=LABELS[code] if 0 <= code < len(LABELS) else "",
            hardware=hardware,
            lnc=cores.get(hardware),
        )


def _known(values: dict[str, list[Any]], name: str, row: int) -> float | None:
    value = values[name][row] if name in values else None
    return None if value is None or not np.isfinite(value) else float(value)


def _changes(base: xr.Dataset, other: xr.Dataset) -> tuple[list[Key], str]:
    """Return the keys of the largest relative changes, and what all points come to in words."""
    dims = _dims(base)
    counts = dict.fromkeys(("faster", "slower", "the same", "with another bound"), 0)
    if _dims(other) != dims:
        return [], f"no point in common: sizes {', '.join(_dims(other)[3:])}"
    places = {dim: np.intersect1d(base[dim].values, other[dim].values, return_indices=True)
              for dim in dims}  # fmt: skip
    best: list[tuple[float, Key]] = []
    common = 0
    for series in itertools.product(*(range(len(places[axis][0])) for axis in AXES)):
        sides = [_block(data, places, series, side) for side, data in ((1, base), (2, other))]
        (old, old_bound), (new, new_bound) = sides
        both = np.isfinite(old) & np.isfinite(new) & (old > 0) & (new > 0)
        common += int(both.sum())
        share = np.zeros(old.shape)
        share[both] = np.log(new[both] / old[both])
        counts["faster"] += int((share < -_SAME).sum())
        counts["slower"] += int((share > _SAME).sum())
        counts["the same"] += int((both & (np.abs(share) <= _SAME)).sum())
        counts["with another bound"] += int((both & (old_bound != new_bound)).sum())
        names = tuple(str(places[a][0][i]) for a, i in zip(AXES, series, strict=True))
        best = sorted([*best, *_largest(share, names, places, dims)], key=lambda one: -one[0])
        del best[MOST_POINTS:]
    alone = [_timed(data) - common for data in (base, other)]
    said = ", ".join(f"{number:,} {what}" for what, number in counts.items())
    return [key for _, key in best], (
        f"of {common:,} points of both {said}; {alone[0]:,} gone, {alone[1]:,} new; "
        f"the {len(best):,} largest changes are here"
    )


def _block(
    data: xr.Dataset, places: dict[str, Any], series: tuple[int, ...], side: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
    """Return times and bounds of one hardware, dtype and variant at the sizes of both sweeps."""
    at = {axis: int(places[axis][side][i]) for axis, i in zip(AXES, series, strict=True)}
    sizes = sizes_of(data)
    cut = data.isel(at)[["estimate", "bound"]].transpose(*sizes).load()
    inner = np.ix_(*(places[dim][side] for dim in sizes))
    return cut["estimate"].values[inner], cut["bound"].values[inner]


def _largest(
    share: npt.NDArray[np.float64], names: Key, places: dict[str, Any], dims: Sequence[str]
) -> Iterator[tuple[float, Key]]:
    score = np.abs(share).ravel()
    most = min(MOST_POINTS, score.size)
    for place in np.argpartition(-score, most - 1)[:most].tolist():
        at = np.unravel_index(place, share.shape)
        sizes = (places[dim][0][i].item() for dim, i in zip(dims[3:], at, strict=True))
        yield float(score[place]), (*names, *sizes)


def _timed(data: xr.Dataset) -> int:
    """Return how many points have a time, read a series at a time."""
    total = 0
    for at in itertools.product(*(range(data.sizes[axis]) for axis in AXES)):
        values = data["estimate"].isel(dict(zip(AXES, at, strict=True))).values
        total += int((np.isfinite(values) & (values > 0)).sum())
    return total
