"""Run a sweep as the command line asks for it: compute, store, draw, and put into words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roofline.analysis.from_time import evidence_from_time
from roofline.analysis.placement import place
from roofline.analysis.verdict import decide
from roofline.errors import QueryError, RooflineError, WorkError
from roofline.hardware.load import load_hardware
from roofline.model.cases import Case, hardware_of, read_cases
from roofline.model.crossover import Crossover, crossovers
from roofline.model.operands import parse_shapes
from roofline.model.pareto import pareto
from roofline.model.rates import Rates, rates_for
from roofline.model.stored import AXES, sizes_of
from roofline.model.sweep import Plan, dataset, plan
from roofline.model.whatif import change, sensitivity
from roofline.report.blocks import Block, Paragraph
from roofline.report.sweep_rows import MOST, sweep_rows
from roofline.report.sweep_text import (
    change_blocks,
    head_blocks,
    point_blocks,
    sensitivity_blocks,
)
from roofline.report.terminal import to_text
from roofline.report.write import write_file
from roofline.units import format_count, format_time
from roofline.work.closed_form import family
from roofline.work.work import Work

if TYPE_CHECKING:
    import xarray as xr

    from roofline.plots.describe_curves import Measured

__all__ = ["SweepResult", "measured_points", "run_sweep"]

_FILES: Final = (".nc", ".csv", ".zarr")


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
    width: int = 80,
    **settings: Any,
) -> SweepResult:
    """Run a sweep, write what was asked for, and return it in data and words.

    ``out`` is a file for the result, or, without a suffix, a folder for it and its report.
    """
    if out is not None and out.suffix and out.suffix not in _FILES:
        raise QueryError(
            f"{out}: write {', '.join(_FILES)}, or a folder (a path without a suffix) for the "
            "result with its report"
        )
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
    blocks = head_blocks(ready)
    found: dict[str, Any] = {"op": ready.source.name, "points": ready.points, **dict(data.attrs)}
    large = ready.points > 2_000_000
    if not large:
        found["rows"] = sweep_rows(data) if ready.points <= MOST else []
        blocks += point_blocks(found["rows"], list(ready.sizes), width=width)
    problems = [text for text in str(data.attrs["problems"]).split("; ") if text]
    blocks += [Paragraph(text=f"not modelled: {text}") for text in problems]
    varying = [name for name, sizes in ready.sizes.items() if len(sizes) > 1]
    changes: list[Crossover] = []
    if varying and not large:
        along = crossing or max(varying, key=lambda name: len(ready.sizes[name]))
        changes = crossovers(ready, along)
        found["crossovers"] = [asdict(change) for change in changes]
        blocks += change_blocks(changes, along)
    if pareto_front:
        data["pareto"] = pareto(data)
        front = f"{int(data['pareto'].sum())} of {ready.points} points are on the front"
        blocks.append(Paragraph(text=front))
        found["pareto"] = _front(data)
    if sensitive:
        found["sensitivity"] = gains = _sensitivity(ready, settings)
        which = f"{ready.hardware[0]} {ready.dtype[0]} {ready.variant[0]}"
        blocks += sensitivity_blocks(gains, which)
    if out is not None:
        blocks += _written(data, out)
    if plot is not None:
        _plot(data, plot, kind or ("heat" if len(varying) > 1 else "curves"), changes, measured)
        blocks.append(Paragraph(text=f"wrote {plot}"))
    return SweepResult(found, to_text(blocks, width=width).rstrip("\n"))


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


def _front(data: xr.Dataset) -> list[dict[str, Any]]:
    if data["estimate"].size > MOST:
        return []
    keys = [*map(str, data["estimate"].dims), "estimate", "minimal_bytes"]
    return [{key: row[key] for key in keys} for row in sweep_rows(data) if row.get("pareto")]


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


def _written(data: xr.Dataset, out: Path) -> list[Block]:
    """Write a sweep where it is not already stored, and say what was written."""
    if not out.suffix:
        from roofline.report.sweep_report import save_sweep

        names = ", ".join(path.name for path in save_sweep(data, out))
        return [Paragraph(text=f"wrote {out}: {names}")]
    if out.suffix == ".nc":
        write_file(out, lambda path: data.to_netcdf(path, engine="h5netcdf"))
    elif out.suffix == ".csv":
        write_file(out, lambda path: data.to_dataframe().to_csv(path))
    return [Paragraph(text=f"wrote {out}")]


def _plot(
    data: xr.Dataset,
    path: Path,
    kind: str,
    changes: Sequence[Crossover],
    measured: Path | None,
) -> None:
    from roofline.plots.draw import save
    from roofline.report.sweep_figures import sweep_figure

    points = measured_points(_cases(measured, data), data) if measured is not None else []
    crossings = [
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
    save(sweep_figure(data, kind, measured=points, crossings=crossings), path)


def _cases(measured: Path, data: xr.Dataset) -> list[Case]:
    """Return measured times; one that names no chip is of the only one of the sweep."""
    chips = data["hardware"].values.tolist()
    cases = read_cases(measured, hardware=chips[0] if len(chips) == 1 else "")
    for case in cases:
        if not case.hardware:
            raise QueryError(
                f"{measured}: line {case.row} names no hardware, and the sweep is of "
                f"{', '.join(chips)}: add a column hardware, or sweep one chip"
            )
    return cases


def measured_points(cases: Sequence[Case], data: xr.Dataset) -> list[Measured]:
    """Return the measured times that lie on the curves of a sweep, each with the verdict on it.

    A time is on a curve when its operator, chip, dtype and variant are, when its size is in the
    range of the curve's, and when every other size is the one that the curves hold.
    """
    from roofline.plots.describe_curves import Measured
    from roofline.report.sweep_rows import hold

    drawn = hold(data, 1)
    dims = sizes_of(drawn)
    along = max(dims, key=lambda dim: drawn.sizes[dim])
    ranges = {dim: (int(drawn[dim].values.min()), int(drawn[dim].values.max())) for dim in dims}
    found = []
    for case in cases:
        series = (case.hardware, case.dtype, case.variant)
        on = all(name in data[axis].values for axis, name in zip(AXES, series, strict=True))
        sizes = _sizes_of(case, dims)
        if not on or sizes is None or _name(case.op) != data.attrs["op"]:
            continue
        if all(low <= sizes[dim] <= high for dim, (low, high) in ranges.items()):
            found.append(Measured(sizes[along], case.time_s, case.label, series, _verdict(case)))
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
