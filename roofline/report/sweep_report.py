"""The report of a stored sweep: what bounds its points, figures, and every point in a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline import __version__
from roofline.analysis.verdict import LABELS
from roofline.errors import QueryError
from roofline.hardware.load import load_hardware
from roofline.plots.describe_sweep import describe_sweep
from roofline.report.blocks import Block, FigureBlock, Heading, Paragraph, Table
from roofline.report.data import SCHEMA_VERSION, figures_json, to_json
from roofline.report.html import to_html
from roofline.report.markdown import to_markdown
from roofline.report.panels import panel_of
from roofline.report.study_rows import percent
from roofline.report.write import write_folder
from roofline.units import format_count, format_time

if TYPE_CHECKING:
    import xarray as xr

    from roofline.plots.figure import Figure

__all__ = ["SweepReport", "sweep_blocks", "sweep_json", "sweep_report", "write_sweep_report"]

_MOST: Final = 10_000  # points in the tables; of larger sweeps as many, evenly spread
_AXES: Final = ("hardware", "dtype", "variant")
_NEEDED: Final = ("flops", "intensity", "lower_bound", "estimate", "bound", "percent_of_roof")


@dataclass(frozen=True, kw_only=True)
class SweepReport:
    """A sweep to report on: ``rows`` are its points as plain data, ``total`` how many it has."""

    name: str
    data: xr.Dataset
    sizes: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    total: int


def sweep_report(path: str) -> SweepReport:
    """Return the sweep stored at ``path``; ``QueryError`` for what is not one."""
    import xarray as xr

    file = Path(path)
    if not file.exists():
        raise QueryError(f"{path}: no such file or folder")
    try:
        if file.suffix == ".zarr":
            data = xr.open_zarr(file, chunks=None)
        else:
            data = xr.load_dataset(file, engine="h5netcdf")
    except Exception as error:  # whatever the storage library raises for a damaged store
        raise QueryError(f"{path}: cannot be read as a sweep: {error}") from error
    missing = [name for name in (*_AXES, *_NEEDED) if name not in data.variables]
    if missing:
        raise QueryError(f"{path}: not the result of a sweep: it has no {', '.join(missing)}")
    sizes = tuple(str(dim) for dim in data["estimate"].dims if dim not in _AXES)
    return SweepReport(
        name=file.stem,
        data=data,
        sizes=sizes,
        rows=tuple(_rows(data)),
        total=int(data["estimate"].size),
    )


def _rows(data: xr.Dataset) -> list[dict[str, Any]]:
    """Return at most ``_MOST`` points, first to last and evenly spread over the flattened sweep."""
    dims = data["estimate"].dims
    total = data["estimate"].size
    if not total:
        return []
    flat = np.unique(np.linspace(0, total - 1, min(total, _MOST)).astype(np.int64))
    at = np.unravel_index(flat, data["estimate"].shape)
    columns: dict[str, list[Any]] = {
        str(dim): data[dim].values[index].tolist() for dim, index in zip(dims, at, strict=True)
    }
    for name, variable in data.data_vars.items():
        if variable.dims == dims:
            columns[str(name)] = variable.values[at].tolist()
    return [
        {name: _value(name, value) for name, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


def _value(name: str, value: Any) -> Any:
    if name == "bound":
        return LABELS[value] if value >= 0 else None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def sweep_blocks(report: SweepReport, figures: Sequence[str] = ()) -> list[Block]:
    """Return what is said of a sweep; ``figures`` are the stems of those that were drawn."""
    attrs = report.data.attrs
    spans = ", ".join(
        f"{name} {report.data[name].values.min()} to {report.data[name].values.max()} "
        f"({report.data.sizes[name]})"
        for name in report.sizes
    )
    shown = len(report.rows)
    part = "" if shown == report.total else f"; {format_count(shown)} of them, evenly spread, here"
    blocks: list[Block] = [
        Heading(text=f"Sweep of {attrs.get('op', report.name)}", level=1),
        Paragraph(
            text=f"{spans}; {format_count(report.total)} points{part}. Times are modelled, clock "
            f"{attrs.get('clock', 'unknown')}; LNC: {attrs.get('lnc', 'unknown')}. "
            f"{attrs.get('conventions', '')}."
        ),
        Heading(text="What bounds the points"),
        _bounds(report.rows),
    ]
    if attrs.get("problems"):
        blocks.append(Paragraph(text=f"Not modelled: {attrs['problems']}"))
    alts = {
        "roofline": "Points of the sweep on the roofline, coloured by what bounds them",
        "heat": "Percent of roof over two sizes",
        "bounds": "What bounds each point over two sizes",
        "curves": "Modelled time over size",
        "trajectory": "Rate over intensity along a size",
    }
    if figures:
        blocks.append(Heading(text="Figures"))
        blocks += [FigureBlock(stem=stem, alt=alts[stem]) for stem in figures]
    return blocks


def _bounds(rows: Sequence[Mapping[str, Any]]) -> Table:
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["hardware"], row["dtype"], row["variant"]), []).append(row)
    lines = []
    for key, members in groups.items():
        counts = Counter(row["bound"] or "not modelled" for row in members)
        for bound, count in counts.most_common():
            own = [row for row in members if (row["bound"] or "not modelled") == bound]
            times = [row["estimate"] for row in own if row["estimate"]]
            roofs = [row["percent_of_roof"] for row in own if row["percent_of_roof"] is not None]
            span = f"{format_time(min(times))} to {format_time(max(times))}" if times else ""
            middle = f"{float(np.median(roofs)):.3g} %" if roofs else ""
            share = percent(count / len(members))
            lines.append((*key, bound, format_count(count), share, span, middle))
    return Table(
        columns=(*_AXES, "bound", "points", "share", "time", "of roof, median"),
        rows=tuple(lines),
        numeric=frozenset({4, 5, 7}),
    )


def _points(report: SweepReport) -> list[Block]:
    """Return every point; Markdown has the summary and points.csv alone."""
    return [
        Heading(text="Points"),
        Table(
            columns=(
                *_AXES,
                *report.sizes,
                "estimate",
                "lower bound",
                "of roof",
                "FLOP/B",
                "bound",
            ),
            rows=tuple(
                (
                    *(str(row[name]) for name in (*_AXES, *report.sizes)),
                    format_time(row["estimate"]),
                    format_time(row["lower_bound"]),
                    "" if row["percent_of_roof"] is None else f"{row['percent_of_roof']:.3g} %",
                    "" if row["intensity"] is None else f"{row['intensity']:.4g}",
                    row["bound"] or "not modelled",
                )
                for row in report.rows
            ),
            numeric=frozenset(range(3, 7 + len(report.sizes))),
        ),
    ]


def sweep_json(report: SweepReport) -> dict[str, Any]:
    """Return a sweep as plain data: its attributes and points, SI base units."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "sweep",
        "tool": {"name": "roofline", "version": __version__},
        "name": report.name,
        "attributes": {str(name): str(value) for name, value in report.data.attrs.items()},
        "units": {
            str(name): str(variable.attrs.get("units", ""))
            for name, variable in report.data.data_vars.items()
        },
        "points": report.total,
        "rows": list(report.rows),
    }


def write_sweep_report(report: SweepReport, folder: Path) -> tuple[Path, ...]:
    """Write the report of a sweep, all its files or none; return their paths."""
    from roofline.plots.draw import FORMATS, save
    from roofline.plots.sweeps import save_sweep
    from roofline.plots.table import figure_csv

    plane = _plane(report)
    varying = [name for name in report.sizes if report.data.sizes[name] > 1]
    kinds = {0: (), 1: ("curves", "trajectory")}.get(len(varying), ("heat", "bounds", "curves"))
    stems = [*(["roofline"] if plane else []), *kinds]
    blocks = sweep_blocks(report, stems)

    def fill(scratch: Path) -> None:
        for kind in kinds:
            for suffix in FORMATS:
                save_sweep(report.data, scratch / f"{kind}.{suffix}", kind=kind)
        panels = []
        texts = {"report.md": to_markdown(blocks), "report.json": to_json(sweep_json(report)),
                 "points.csv": _csv(report)}  # fmt: skip
        if plane is not None:
            save(plane, *(scratch / f"roofline.{suffix}" for suffix in FORMATS))
            panels.append(panel_of(plane, load_hardware(str(report.data["hardware"].values[0]))))
            texts |= {"roofline.csv": figure_csv(plane), "figures.json": figures_json([plane])}
        texts["index.html"] = to_html(
            f"Sweep of {report.data.attrs.get('op', report.name)}",
            [*blocks, *_points(report)],
            panels=panels,
            images={kind: (scratch / f"{kind}.png").read_bytes() for kind in kinds},
        )
        for name, text in texts.items():
            (scratch / name).write_text(text, encoding="utf-8", newline="\n")

    return write_folder(folder, fill)


def _plane(report: SweepReport) -> Figure | None:
    name = str(report.data["hardware"].values[0])
    views = dict(
        view.split("=") for view in str(report.data.attrs.get("lnc", "")).split() if "=" in view
    )
    hardware = load_hardware(name, lnc=int(views[name]) if name in views else None)
    attrs = report.data.attrs
    return describe_sweep(
        report.rows, report.sizes, hardware, str(attrs.get("op", "")), str(attrs.get("clock", ""))
    )


def _csv(report: SweepReport) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.DictWriter(text, list(report.rows[0]) if report.rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(report.rows)
    return text.getvalue()
