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
from roofline.hardware.load import load_hardware
from roofline.model.stored import Series, open_sweep, sizes_of, summarise
from roofline.plots.describe_sweep import describe_sweep
from roofline.report.blocks import Block, FigureBlock, Heading, Paragraph, Table
from roofline.report.data import SCHEMA_VERSION, figures_json, to_json
from roofline.report.html import to_html
from roofline.report.markdown import to_markdown
from roofline.report.panels import panel_of
from roofline.report.study_rows import percent
from roofline.report.sweep_summary import crossings, extremes, series_json
from roofline.report.write import write_folder
from roofline.units import format_count, format_time

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr

    from roofline.plots.figure import Figure

__all__ = ["SweepReport", "sweep_blocks", "sweep_json", "sweep_report", "write_sweep_report"]

_MOST: Final = 10_000  # points in the tables; of larger sweeps as many, evenly spread
_AXES: Final = ("hardware", "dtype", "variant")
_NONE: Final = "not modelled"
_DRAWN: Final = 160  # sizes along one axis of a map or a line


@dataclass(frozen=True, kw_only=True)
class SweepReport:
    """A sweep to report on: ``rows`` are its points as plain data, ``total`` how many it has.

    ``data`` holds no values in memory; ``series`` sums up every point, also those not in ``rows``.
    """

    name: str
    data: xr.Dataset
    sizes: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    total: int
    series: tuple[Series, ...]


def sweep_report(path: str) -> SweepReport:
    """Return the sweep stored at ``path``; ``QueryError`` for what is not one."""
    file = Path(path)
    data = open_sweep(file)
    return SweepReport(
        name=file.stem,
        data=data,
        sizes=tuple(sizes_of(data)),
        rows=tuple(_rows(_spread(data))),
        total=int(data["estimate"].size),
        series=tuple(summarise(data)),
    )


def _spread(data: xr.Dataset) -> xr.Dataset:
    """Return at most ``_MOST`` points, the first and the last of each size among them."""
    lengths = {str(dim): length for dim, length in data["estimate"].sizes.items()}
    while math.prod(lengths.values()) > _MOST:
        longest = max(lengths, key=lambda dim: lengths[dim])
        lengths[longest] = max(1, lengths[longest] // 2)
    return data.isel({dim: _evenly(data.sizes[dim], length) for dim, length in lengths.items()})


def _evenly(length: int, most: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(np.int64))


def _rows(data: xr.Dataset) -> list[dict[str, Any]]:
    dims = data["estimate"].dims
    axes = np.meshgrid(*(data[dim].values for dim in dims), indexing="ij")
    columns: dict[str, list[Any]] = {
        str(dim): axis.ravel().tolist() for dim, axis in zip(dims, axes, strict=True)
    }
    for name, variable in data.data_vars.items():
        if variable.dims == dims:
            columns[str(name)] = variable.values.ravel().tolist()
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
        _bounds(report),
        *extremes(report.series),
        *crossings(report.series),
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


def _bounds(report: SweepReport) -> Table:
    groups: dict[tuple[str, str, str, str], list[Mapping[str, Any]]] = {}
    for row in report.rows:
        key = (row["hardware"], row["dtype"], row["variant"], row["bound"] or _NONE)
        groups.setdefault(key, []).append(row)
    lines = []
    for one in report.series:
        counts = Counter(one.bounds)
        if one.empty:
            counts[_NONE] = one.empty
        for bound, count in counts.most_common():
            key = (one.hardware, one.dtype, one.variant, bound)
            own = groups.get(key, [])
            times = [row["estimate"] for row in own if row["estimate"]]
            roofs = [row["percent_of_roof"] for row in own if row["percent_of_roof"] is not None]
            span = f"{format_time(min(times))} to {format_time(max(times))}" if times else ""
            middle = f"{float(np.median(roofs)):.3g} %" if roofs else ""
            share = percent(count / (one.points + one.empty))
            lines.append((*key, format_count(count), share, span, middle))
    whole = len(report.rows) == report.total
    return Table(
        columns=(*_AXES, "bound", "points", "share", "time", "of roof, median"),
        rows=tuple(lines),
        numeric=frozenset({4, 5, 7}),
        note="" if whole else "Counts are of every point, times and medians of those shown.",
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
        "series": [series_json(one) for one in report.series],
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
    drawn = report.data.isel({dim: _evenly(report.data.sizes[dim], _DRAWN) for dim in report.sizes})

    def fill(scratch: Path) -> None:
        for kind in kinds:
            shown = _held(drawn, report.sizes, kind)
            for suffix in FORMATS:
                save_sweep(shown, scratch / f"{kind}.{suffix}", kind=kind)
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


def _held(data: xr.Dataset, sizes: Sequence[str], kind: str) -> xr.Dataset:
    """Return the sweep for a figure: sizes that it does not draw are at their largest."""
    varying = [dim for dim in sizes if data.sizes[dim] > 1]
    drawn = {
        "curves": [max(varying, key=lambda dim: data.sizes[dim], default="")],
        "trajectory": varying[-1:],
    }.get(kind, varying[:2])
    return data.isel({dim: [-1] for dim in sizes if dim not in drawn})


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
