"""Run a sweep as the command line asks for it: compute, store, draw, and put into words."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roofline.analysis.from_time import evidence_from_time
from roofline.analysis.placement import place
from roofline.analysis.verdict import LABELS, decide
from roofline.errors import QueryError, RooflineError, WorkError
from roofline.hardware.load import load_hardware
from roofline.model.cases import Case, hardware_of, read_cases
from roofline.model.crossover import Crossover, crossovers
from roofline.model.operands import parse_shapes
from roofline.model.pareto import pareto
from roofline.model.rates import Rates, rates_for
from roofline.model.sweep import Plan, dataset, plan
from roofline.model.whatif import change, sensitivity
from roofline.units import format_count, format_time
from roofline.work.closed_form import family
from roofline.work.work import Work

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["SweepResult", "measured_points", "run_sweep"]

_SHOWN: Final = 24
_AXES: Final = ("hardware", "dtype", "variant")


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A sweep as plain data and as text for a terminal."""

    data: dict[str, Any]
    text: str


def run_sweep(
    op: str,
    *,
    dims: Mapping[str, str],
    out: Path | None = None,
    plot: Path | None = None,
    kind: str = "",
    pareto_front: bool = False,
    crossing: str = "",
    sensitive: bool = False,
    measured: Path | None = None,
    chunks: Mapping[str, int] | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> SweepResult:
    """Run a sweep, write what was asked for, and return it in data and words."""
    target: Any = op
    if ":" in op:
        from roofline.work.callables import load_callable

        target = load_callable(op)
    given: dict[str, Any] = {**settings, **dims}
    ready = plan(target, **given)
    if measured is not None and plot is None:
        raise QueryError(
            "measured times are drawn on the curves: give --plot FILE, or hold them against the "
            "model with: roofline validate CSV"
        )
    data = _computed(ready, out, chunks, scheduler, progress)
    lines = _header(ready)
    found: dict[str, Any] = {"op": ready.source.name, "points": ready.points, **dict(data.attrs)}
    large = ready.points > 2_000_000
    if not large:
        found["rows"] = _rows(data)
        lines += _table(data)
    lines += [f"not modelled: {text}" for text in str(data.attrs["problems"]).split("; ") if text]
    varying = [name for name, sizes in ready.sizes.items() if len(sizes) > 1]
    changes: list[Crossover] = []
    if varying and not large:
        along = crossing or max(varying, key=lambda name: len(ready.sizes[name]))
        changes = crossovers(ready, along)
        found["crossovers"] = [asdict(change) for change in changes]
        lines += _crossing_lines(changes, along)
    if pareto_front:
        data["pareto"] = pareto(data)
        lines.append(f"{int(data['pareto'].sum())} of {ready.points} points are on the front")
        found["pareto"] = _front(data)
    if sensitive:
        table = _sensitivity(ready, settings)
        found["sensitivity"] = table
        which = f"{ready.hardware[0]} {ready.dtype[0]} {ready.variant[0]}"
        lines += ["", f"each roof +10 %, largest point of {which}: time saved"]
        lines += [f"  {r['roof']:28} {r['saved']:>10}  {r['gain']:+.1%}" for r in table]
    if out is not None and out.suffix != ".zarr":
        _write(data, out)
    if out is not None:
        lines.append(f"wrote {out}")
    if plot is not None:
        _plot(data, plot, kind or ("heat" if len(varying) > 1 else "curves"), changes, measured)
        lines.append(f"wrote {plot}")
    return SweepResult(found, "\n".join(lines))


def _computed(
    ready: Plan,
    out: Path | None,
    chunks: Mapping[str, int] | None,
    scheduler: str | None,
    progress: Callable[[int, int], None] | None,
) -> xr.Dataset:
    if out is not None and out.suffix == ".zarr":
        from roofline.model.store import store

        return store(ready, out, chunks=chunks or "auto", scheduler=scheduler, progress=progress)
    if scheduler is not None or chunks:
        raise QueryError("chunks and a scheduler need a store: give -o FILE.zarr")
    if ready.points * len(ready.variables) > 2**31:
        raise QueryError(
            f"{format_count(ready.points)} points do not fit in memory: give -o FILE.zarr"
        )
    return dataset(ready)


def _header(ready: Plan) -> list[str]:
    sizes = ", ".join(
        f"{name} {format_count(s[0])}"
        + (f" to {format_count(s[-1])} ({len(s)})" if len(s) > 1 else "")
        for name, s in ready.sizes.items()
    )
    views = ", ".join(f"{name} LNC {lnc}" for name, lnc in ready.lnc.items())
    return [
        f"{ready.source.name}: {sizes}; {format_count(ready.points)} points",
        f"{views}; clock {ready.clock}; constants: calibrated on trn2, inferred elsewhere",
        "",
    ]


def _rows(data: xr.Dataset) -> list[dict[str, Any]]:
    frame = data.stack(point=data["estimate"].dims) if "estimate" in data else None
    if frame is None or frame.sizes["point"] > 10_000:
        return []
    columns = {name: frame[name].values.tolist() for name in frame.data_vars}
    keys = frame.indexes["point"].tolist()
    names = [str(name) for name in frame.indexes["point"].names]
    rows = []
    for at, key in enumerate(keys):
        row = dict(zip(names, key, strict=True))
        for name, values in columns.items():
            value = values[at]
            if name == "bound":
                value = LABELS[value] if value >= 0 else None
            elif name == "side":
                value = ("memory", "compute")[value] if value >= 0 else None
            elif isinstance(value, float) and not math.isfinite(value):
                value = None
            row[str(name)] = value
        rows.append(row)
    return rows


def _table(data: xr.Dataset) -> list[str]:
    rows = _rows(data)
    if not rows or "bound" not in data:
        return []
    dims = [str(dim) for dim in data["estimate"].dims]
    head = [*dims, "estimate", "interval", "lower bound", "of bound", "bound"]
    shown = rows if len(rows) <= _SHOWN else [*rows[: _SHOWN // 2], *rows[-_SHOWN // 2 :]]
    cells = [
        [
            *(str(row[dim]) for dim in dims),
            format_time(row["estimate"]),
            _interval(row),
            format_time(row.get("lower_bound")),
            "" if row.get("percent_of_roof") is None else f"{row['percent_of_roof']:.0f} %",
            row["bound"] or "",
        ]
        for row in shown
    ]
    if len(rows) > _SHOWN:
        skipped = f"... {len(rows) - len(shown)} more"
        cells.insert(_SHOWN // 2, [skipped, *[""] * (len(head) - 1)])
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *cells)
    ]


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row.get("estimate_low"), row.get("estimate_high")
    return "" if low is None else f"{format_time(low)} to {format_time(high)}"


def _crossing_lines(changes: Sequence[Crossover], along: str) -> list[str]:
    lines = ["", f"bound changes along {along}:" if changes else f"one bound all along {along}"]
    for found in changes[:_SHOWN]:
        where = " ".join(f"{name}={size}" for name, size in found.sizes.items())
        span = ""
        if (found.low, found.high) != (found.at, found.at):
            low = "below the sweep" if found.low is None else str(found.low)
            high = "beyond the sweep" if found.high is None else str(found.high)
            span = f" ({low} to {high} over the published floors)"
        key = f"{found.hardware} {found.dtype} {found.variant} {where}".rstrip()
        lines.append(f"  {key}: {found.before} -> {found.after} at {along} = {found.at}{span}")
    if len(changes) > _SHOWN:
        lines.append(f"  ... {len(changes) - _SHOWN} more (--json has them all)")
    return lines


def _front(data: xr.Dataset) -> list[dict[str, Any]]:
    keys = [*map(str, data["estimate"].dims), "estimate", "minimal_bytes"]
    return [{key: row[key] for key in keys} for row in _rows(data) if row.get("pareto")]


def _sensitivity(ready: Plan, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    sizes = {name: int(values[-1]) for name, values in ready.sizes.items()}
    variant, dtype = ready.variant[0], ready.dtype[0]
    hardware = load_hardware(ready.hardware[0], lnc=settings.get("lnc"))
    for path, how in (settings.get("changes") or {}).items():
        hardware = change(hardware, path, how)
    work = ready.source.build(variant, dtype, sizes)
    return [
        {
            "roof": gain.roof,
            "paths": list(gain.paths),
            "time_s": gain.time_s,
            "saved_s": gain.saved_s,
            "saved": format_time(gain.saved_s),
            "gain": gain.gain,
        }
        for gain in sensitivity(work, hardware, variant=variant, clock=ready.clock)
    ]


def _write(data: xr.Dataset, out: Path) -> None:
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    if out.suffix == ".nc":
        data.to_netcdf(aside, engine="h5netcdf")
    elif out.suffix == ".csv":
        data.to_dataframe().to_csv(aside)
    else:
        raise QueryError(f"{out}: write .nc, .zarr or .csv")
    aside.replace(out)


def _plot(
    data: xr.Dataset,
    path: Path,
    kind: str,
    changes: Sequence[Crossover],
    measured: Path | None,
) -> None:
    from roofline.plots.sweeps import Crossing, save_sweep

    points = measured_points(read_cases(measured), data) if measured is not None else []
    crossings: list[Crossing] = [
        (
            found.dim,
            {
                **found.sizes,
                "hardware": found.hardware,
                "dtype": found.dtype,
                "variant": found.variant,
                "change": f"{found.before} -> {found.after}",
            },
            *(found.at, found.low, found.high),
        )
        for found in changes
    ]
    save_sweep(data, path, kind=kind, measured=points, crossings=crossings)


def measured_points(cases: Sequence[Case], data: xr.Dataset) -> list[Any]:
    """Return the measured times that lie on a sweep, each with the verdict on it.

    A time is on the sweep when its operator, chip, dtype and variant are, and its sizes are those
    of the sweep where only one was swept, and inside the range elsewhere.
    """
    from roofline.plots.sweeps import Point

    dims = [str(dim) for dim in data["estimate"].dims if dim not in _AXES]
    ranges = {dim: (int(data[dim].values.min()), int(data[dim].values.max())) for dim in dims}
    found = []
    for case in cases:
        series = (case.hardware, case.dtype, case.variant)
        on = all(name in data[axis].values for axis, name in zip(_AXES, series, strict=True))
        sizes = _sizes_of(case, dims)
        if not on or sizes is None or _name(case.op) != data.attrs["op"]:
            continue
        if all(low <= sizes[dim] <= high for dim, (low, high) in ranges.items()):
            found.append(Point(sizes, case.time_s, case.label, series, _verdict(case)))
    return found


def _name(op: str) -> str:
    try:
        return family(op).name
    except WorkError:
        return op


def _sizes_of(case: Case, dims: Sequence[str]) -> dict[str, int] | None:
    try:
        shapes = parse_shapes(case.shape, case.dtype)
    except RooflineError:
        return None
    if shapes.sizes:
        found = dict(shapes.sizes)
    else:
        first = (*shapes.inputs, *shapes.outputs)[0].shape
        found = {"rows": math.prod(first[:-1]), "cols": first[-1], "n": math.prod(first)}
        if len(shapes.inputs) > 1 and len(shapes.inputs[1].shape) > 1:
            found.update(m=found["rows"], k=found["cols"], n=shapes.inputs[1].shape[-1])
    return {dim: found[dim] for dim in dims} if all(dim in found for dim in dims) else None


def _verdict(case: Case) -> str:
    """Return what the decision table says of a measured time, with the bytes of its schedule."""
    if case.work is None:
        return ""
    hardware = hardware_of(case)
    work = _as_scheduled(case.work, rates_for(hardware, case.dtype, case.implementation))
    evidence = evidence_from_time(place(work, hardware, time_s=case.time_s, clock=case.clock))
    verdict = decide(evidence)
    if verdict.resource == "unknown" and verdict.excluded:
        return f"not {' or '.join(verdict.excluded)}"
    return verdict.label


def _as_scheduled(work: Work, rates: Rates) -> Work:
    """Return the work with the bytes its schedule moves, where inputs are read more than once."""
    op = work.ops[0]
    reads = rates.reads_of(op.family)
    if reads == 1.0:
        return work
    return replace(
        work,
        measured_read_bytes=round(op.aliased_read_bytes * reads),
        measured_write_bytes=op.write_bytes,
    )
