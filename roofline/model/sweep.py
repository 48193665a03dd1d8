"""Sweep a computation over sizes, dtypes, variants and chips into one labelled dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.verdict import LABELS
from roofline.dtypes import dtype_key
from roofline.errors import HardwareModelError, QueryError
from roofline.hardware.assumed import ASSUMED
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.model.grid import Condition, parse_condition, parse_sizes
from roofline.model.points import (
    SIDES,
    STATUS,
    TERMS,
    VARIABLES,
    Combination,
    evaluate,
)
from roofline.model.rates import rates_for
from roofline.model.schedule import VARIANTS, variant_of
from roofline.model.source import Counts, Source, find_source, fit_source
from roofline.model.terms import lower_seconds

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Plan", "dataset", "plan", "sweep"]

_STANDARD: Final = tuple(name for name in VARIABLES if not name.startswith("term_"))
_AXES: Final = ("hardware", "dtype", "variant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A sweep ready to run: the three named axes, the sizes, and one combination for each.

    ``combinations`` is indexed by positions on ``hardware``, ``dtype`` and ``variant``.
    """

    source: Source
    hardware: tuple[str, ...]
    dtype: tuple[str, ...]
    variant: tuple[str, ...]
    sizes: Mapping[str, npt.NDArray[np.int64]]
    combinations: Mapping[tuple[int, int, int], Combination]
    conditions: tuple[Condition, ...] = ()
    variables: tuple[str, ...] = _STANDARD
    clock: str = "device_execution"
    lnc: Mapping[str, int] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along hardware, dtype, variant and each size."""
        lengths = (len(sizes) for sizes in self.sizes.values())
        return (len(self.hardware), len(self.dtype), len(self.variant), *lengths)

    @property
    def points(self) -> int:
        """Number of points."""
        return int(np.prod(self.shape, dtype=np.int64))

    def run(
        self,
        hardware: npt.NDArray[np.int64],
        dtype: npt.NDArray[np.int64],
        variant: npt.NDArray[np.int64],
        *sizes: npt.NDArray[np.int64],
    ) -> tuple[npt.NDArray[Any], ...]:
        """Return the variables on the grid of the given positions and sizes (any shapes of ones).

        This is the function under ``xarray.apply_ufunc``.
        """
        flat = dict(zip(self.sizes, (np.ravel(s) for s in sizes), strict=True))
        at = [np.ravel(axis) for axis in (hardware, dtype, variant)]
        shape = (*(len(axis) for axis in at), *(len(s) for s in flat.values()))
        out = {name: np.empty(shape, dtype=VARIABLES[name].dtype) for name in self.variables}
        for i, j, k in np.ndindex(*shape[:3]):
            chosen = self.combinations[int(at[0][i]), int(at[1][j]), int(at[2][k])]
            part = {name: array[i, j, k] for name, array in out.items()}
            evaluate(chosen, flat, self.variables, self.conditions, out=part)
        return tuple(out.values())


def plan(
    op: str | Callable[..., Any],
    *,
    hardware: Sequence[str | Hardware] = (ASSUMED,),
    dtype: Sequence[str] = ("bf16",),
    variant: Sequence[str] = ("fused",),
    lnc: int | None = None,
    clock: str = "device_execution",
    shape: str = "",
    arguments: Mapping[str, Any] | None = None,
    conditions: Iterable[str] = (),
    terms: bool = False,
    variables: Sequence[str] | None = None,
    changes: Mapping[str, str] | None = None,
    **dims: str | int | Iterable[int],
) -> Plan:
    """Return a sweep ready to run; see ``sweep`` for what the arguments mean."""
    sizes = {name: parse_sizes(given, name) for name, given in dims.items()}
    source = find_source(op, shape=shape, arguments=arguments, dims=tuple(sizes))
    ordered = {name: sizes[name] for name in (*source.dims, *sizes) if name in sizes}
    chips = [_changed(_view(name, lnc), changes or {}) for name in _several(hardware)]
    dtypes = [dtype_key(name) for name in _several(dtype)]
    variants = [variant_of(name) for name in _several(variant)]
    wanted = _wanted(variables, terms)
    names = _unique([chip.name for chip in chips])
    combinations: dict[tuple[int, int, int], Combination] = {}
    for j, key in enumerate(dtypes):
        for k, way in enumerate(variants):
            counts = fit_source(source, way, key, ordered)
            for i, chip in enumerate(chips):
                combinations[i, j, k] = _combination(chip, names[i], key, way, counts, clock)
    if all(found.rates is None for found in combinations.values()):
        raise HardwareModelError(next(iter(combinations.values())).problem)
    return Plan(
        source=source,
        hardware=tuple(names),
        dtype=_same(dtypes, "dtype"),
        variant=_same(variants, "variant"),
        sizes=ordered,
        combinations=combinations,
        conditions=tuple(parse_condition(text, tuple(ordered)) for text in conditions),
        variables=wanted,
        clock=clock,
        lnc={name: chip.lnc for name, chip in zip(names, chips, strict=True)},
    )


def sweep(
    op: str | Callable[..., Any],
    *,
    chunks: Mapping[str, int] | str | None = None,
    **settings: Any,
) -> xr.Dataset:
    """Return modelled times and bounds of ``op`` over sizes, dtypes, variants and chips.

    ``op`` is a closed form, a registered operator or a torch function (with ``shape``, such as
    ``x[rows,cols] w[cols]``). ``hardware``, ``dtype`` and ``variant`` are lists; every other
    keyword is a dimension: whole numbers, or ranges as ``parse_sizes`` reads them. ``conditions``
    such as ``rows * cols <= 2**24`` leave points out, marked. ``terms`` adds the time of each
    term, ``variables`` chooses the variables, ``changes`` scales hardware values for what-if
    (``{"memories.hbm.stack.bandwidth_bytes_per_s": "*1.5"}``), ``clock`` and ``lnc`` are as for
    ``estimate``.

    With ``chunks`` (sizes by dimension, or ``"auto"``) the result is lazy, on dask. Otherwise it
    is computed: dims ``hardware``, ``dtype``, ``variant`` and the sizes; variables as ``VARIABLES``
    with ``units``, and ``crossover`` where the bound changes (``crossovers`` solves for the size).
    Points the chip or a condition rules out are NaN with a ``status``.

    Raises ``QueryError`` for dimensions, variants, variables or conditions that make no sense,
    ``HardwareModelError`` when no chip has the dtype.
    """
    found = dataset(plan(op, **settings), chunks=chunks)
    if settings.get("variables") is None:
        found["crossover"] = _changes(found)
    return found


def _changes(found: xr.Dataset) -> xr.DataArray:
    """Return where the bound differs from that of the size before, along any dimension."""
    bound = found["bound"]
    changes = bound != bound
    for name in bound.dims:
        if name in _AXES or found.sizes[name] < 2:
            continue
        before = bound.roll({name: 1}, roll_coords=False)
        known = (bound >= 0) & (before >= 0) & (found[name] > found[name][0])
        changes = changes | ((bound != before) & known)
    changes.attrs.update(units="1", long_name="bound differs from that of the size before")
    return changes.transpose(*bound.dims)


def dataset(ready: Plan, *, chunks: Mapping[str, int] | str | None = None) -> xr.Dataset:
    """Return the dataset of a plan, lazy on dask with ``chunks``."""
    import xarray as xr

    axes = [xr.DataArray(np.arange(n), dims=d) for d, n in zip(_AXES, ready.shape[:3], strict=True)]
    axes += [xr.DataArray(sizes, dims=name) for name, sizes in ready.sizes.items()]
    options: dict[str, Any] = {}
    if chunks is not None:
        wanted = _chunks(ready, chunks)
        axes = [axis.chunk({dim: wanted[str(dim)] for dim in axis.dims}) for axis in axes]
        options = {
            "dask": "parallelized",
            "output_dtypes": [np.dtype(VARIABLES[name].dtype) for name in ready.variables],
        }
    arrays = xr.apply_ufunc(
        ready.run, *axes, output_core_dims=[()] * len(ready.variables), **options
    )
    if len(ready.variables) == 1:
        arrays = (arrays,)
    found = xr.Dataset(dict(zip(ready.variables, arrays, strict=True)))
    found = found.assign_coords(
        {
            "hardware": list(ready.hardware),
            "dtype": list(ready.dtype),
            "variant": list(ready.variant),
            **ready.sizes,
        }
    )
    return _described(found, ready)


def _described(found: xr.Dataset, ready: Plan) -> xr.Dataset:
    from roofline import __version__

    for name in ready.variables:
        about = VARIABLES[name]
        found[name].attrs.update(units=about.units, long_name=about.long_name)
    for name in ready.sizes:
        found[name].attrs.update(units="1", long_name=f"size {name}")
    flags = {
        "bound": (np.arange(len(LABELS), dtype=np.int8), LABELS),
        "side": (np.arange(2, dtype=np.int8), SIDES),
    }
    for name, (codes, meanings) in flags.items():
        if name in found:
            found[name].attrs.update(flag_values=codes, flag_meanings=" ".join(meanings))
    if "status" in found:
        masks = np.array(list(STATUS.values()), dtype=np.int8)
        found["status"].attrs.update(flag_masks=masks, flag_meanings=" ".join(STATUS))
    problems = sorted({c.problem for c in ready.combinations.values() if c.problem})
    found.attrs.update(
        title=f"sweep of {ready.source.name}",
        tool=f"roofline {__version__}",
        op=ready.source.name,
        clock=ready.clock,
        lnc=" ".join(f"{name}={n}" for name, n in ready.lnc.items()),
        conventions="time model of docs/model.md; percent_of_roof is lower_bound / estimate",
        conditions="; ".join(condition.text for condition in ready.conditions),
        problems="; ".join(problems),
    )
    return found


def _chunks(ready: Plan, chunks: Mapping[str, int] | str) -> dict[str, int]:
    lengths = dict(zip((*_AXES, *ready.sizes), ready.shape, strict=True))
    if isinstance(chunks, str):
        if chunks != "auto":
            raise QueryError(f"chunks are sizes by dimension or 'auto', not {chunks!r}")
        left, found = 2**20, {}
        for name, length in reversed(lengths.items()):
            found[name] = max(1, min(length, left))
            left //= found[name]
        return found
    if unknown := set(chunks) - set(lengths):
        raise QueryError(
            f"no dimension {', '.join(sorted(unknown))}; they are {', '.join(lengths)}"
        )
    for name, size in chunks.items():
        if size < 1:
            raise QueryError(f"a chunk along {name} must be at least 1, not {size}")
    return {name: min(length, chunks.get(name, length)) for name, length in lengths.items()}


def _several(given: Any) -> list[Any]:
    return [given] if isinstance(given, (str, Hardware)) else list(given)


def _same(names: Sequence[str], what: str) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise QueryError(f"{what} {', '.join(names)}: one is given twice")
    return tuple(names)


def _unique(names: Sequence[str]) -> list[str]:
    """Return names with a number after those that come twice (the same chip, changed)."""
    found: list[str] = []
    for name in names:
        count = sum(other == name or other.startswith(f"{name}#") for other in found)
        found.append(f"{name}#{count + 1}" if count else name)
    return found


def _view(name: str | Hardware, lnc: int | None) -> Hardware:
    return name if isinstance(name, Hardware) else load_hardware(name, lnc=lnc)


def _changed(hardware: Hardware, changes: Mapping[str, str]) -> Hardware:
    from roofline.model.whatif import change

    for path, how in changes.items():
        hardware = change(hardware, path, how)
    return hardware


def _wanted(variables: Sequence[str] | None, terms: bool) -> tuple[str, ...]:
    chosen = _STANDARD if variables is None else tuple(variables)
    if unknown := [name for name in chosen if name not in VARIABLES]:
        raise QueryError(f"no variable {', '.join(unknown)}; known: {', '.join(VARIABLES)}")
    if not chosen:
        raise QueryError(f"no variables; known: {', '.join(VARIABLES)}")
    return chosen + tuple(f"term_{name}" for name in TERMS) if terms else chosen


def _combination(
    chip: Hardware, name: str, dtype: str, variant: str, counts: Counts, clock: str
) -> Combination:
    try:
        rates = rates_for(chip, dtype, VARIANTS[variant][1], clock=clock)
        lower_seconds(counts.template, rates)  # a multiply dtype the chip lacks shows here
    except HardwareModelError as error:
        return Combination(
            hardware=name, dtype=dtype, variant=variant, counts=None, rates=None, problem=str(error)
        )
    return Combination(hardware=name, dtype=dtype, variant=variant, counts=counts, rates=rates)
