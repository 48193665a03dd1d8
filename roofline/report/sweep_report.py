"""The report of a stored sweep: what bounds its points, figures, and every point in a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline import __version__
from roofline.captures.decoding import decoding
from roofline.model.stored import Series, open_sweep, sizes_of, summarise
from roofline.report.blocks import Block, FigureBlock, Heading, Paragraph, Table
from roofline.report.data import SCHEMA_VERSION, to_json
from roofline.report.hardware_card import hardware_card
from roofline.report.html import to_html
from roofline.report.markdown import to_markdown
from roofline.report.panels import panel_of
from roofline.report.sweep_figures import sweep_figures
from roofline.report.sweep_rows import spread, sweep_rows
from roofline.report.sweep_summary import crossings, extremes, ratios, series_json
from roofline.report.write import fill_report, write_folder
from roofline.units import (
    format_count,
    format_counted,
    format_number,
    format_percent,
    format_span,
    format_time,
)

if TYPE_CHECKING:
    import xarray as xr

    from roofline.plots.figure import Figure

__all__ = ["SweepReport", "save_sweep", "sweep_blocks", "sweep_json", "sweep_report",
           "write_sweep_report"]  # fmt: skip

_AXES: Final = ("hardware", "dtype", "variant")
_NONE: Final = "not modelled"


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

    @property
    def single(self) -> bool:
        """Whether every series is one point, so that nothing changes along a size."""
        return self.total == len(self.rows) == len(self.series)


def sweep_report(path: str) -> SweepReport:
    """Return the sweep stored at ``path``.

    Raises ``QueryError`` for what is not one, ``CaptureError`` for values that cannot be read.
    """
    file = Path(path)
    data = open_sweep(file)
    with decoding(file, "the result of a sweep"):
        return SweepReport(
            name=file.stem,
            data=data,
            sizes=tuple(sizes_of(data)),
            rows=tuple(sweep_rows(spread(data))),
            total=int(data["estimate"].size),
            series=tuple(summarise(data)),
        )


def sweep_blocks(report: SweepReport, figures: Sequence[Figure] = ()) -> list[Block]:
    """Return what is said of a sweep; ``figures`` are those that were drawn."""
    attrs = report.data.attrs
    spans = ", ".join(_span(report.data, name) for name in report.sizes)
    shown = len(report.rows)
    part = "" if shown == report.total else f"; {format_count(shown)} of them, evenly spread, here"
    blocks: list[Block] = [
        Heading(text=f"Sweep of {attrs.get('op', report.name)}", level=1),
        Paragraph(
            text=f"{spans}; {format_counted(report.total, 'point')}{part}. Times are modelled and "
            f"not measured, on the clock {attrs.get('clock', 'unknown')}; LNC: "
            f"{_lnc(str(attrs.get('lnc', 'unknown')))}. Of roof: lower bound over time."
        ),
    ]
    if attrs.get("problems"):
        blocks.append(Paragraph(text=f"Not modelled: {attrs['problems']}"))
    blocks += ratios(spread(report.data)["estimate"])
    table = _points_table(report) if report.single else _bounds(report)
    blocks += [Heading(text="What bounds the points"), Paragraph(text=_most(report)), table]
    if figures:
        blocks.append(Heading(text="Figures"))
        blocks += [FigureBlock(stem=figure.key, alt=figure.title) for figure in figures]
    if not report.single:
        blocks += [*extremes(report.series), *crossings(report.series)]
    return blocks


def _lnc(text: str) -> str:
    """Return ``2 on trn2, 1 on trn1`` for ``trn2=2 trn1=1``."""
    views = [view.partition("=") for view in text.split()]
    return ", ".join(f"{lnc} on {name}" if mark else name for name, mark, lnc in views)


def _most(report: SweepReport) -> str:
    """Return how many points each bound has, the most first."""
    counts = Counter[str]()
    for one in report.series:
        counts.update(one.bounds)
        counts[_NONE] += one.empty
    told = [
        f"{bound} {format_count(count)} ({format_percent(count / report.total)})"
        for bound, count in counts.most_common()
        if count
    ]
    return f"Of {format_counted(report.total, 'point')}: {', '.join(told)}."


def _span(data: xr.Dataset, name: str) -> str:
    low, high, count = data[name].values.min(), data[name].values.max(), data.sizes[name]
    if count == 1:
        return f"{name} {format_count(low)}"
    return f"{name} {format_count(low)} to {format_count(high)} ({format_count(count)} sizes)"


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
            span = format_span(min(times), max(times)) if times else ""
            middle = format_percent(float(np.median(roofs)) / 100) if roofs else ""
            share = format_percent(count / (one.points + one.empty))
            lines.append((one.key, bound, format_count(count), share, span, middle))
    whole = len(report.rows) == report.total
    return Table(
        columns=("series", "bound", "points", "share", "time", "of roof, median"),
        rows=tuple(lines),
        numeric=frozenset({2, 3, 5}),
        note="" if whole else "Counts are of every point, times and medians of those shown.",
    )


def _points(report: SweepReport) -> list[Block]:
    """Return every point; Markdown has the summary and points.csv alone."""
    return [] if report.single else [Heading(text="Points"), _points_table(report)]


def _points_table(report: SweepReport) -> Table:
    return Table(
        columns=(
            *_AXES,
            *report.sizes,
            "estimate",
            "interval",
            "lower bound",
            "of roof",
            "FLOP/B",
            "bound",
            "status",
        ),
        rows=tuple(
            (
                *(str(row[axis]) for axis in _AXES),
                *(format_count(row[name]) for name in report.sizes),
                format_time(row["estimate"]),
                _interval(row),
                format_time(row["lower_bound"]),
                ""
                if row["percent_of_roof"] is None
                else format_percent(row["percent_of_roof"] / 100),
                "" if row["intensity"] is None else format_number(row["intensity"], digits=4),
                row["bound"] or _NONE,
                row.get("status") or "unknown",
            )
            for row in report.rows
        ),
        numeric=frozenset(range(3, 8 + len(report.sizes))),
        note="interval: holds 90 % of the measured times the model was checked on. of roof: "
        "lower bound over estimate.",
    )


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row["estimate_low"], row["estimate_high"]
    return "" if low is None else format_span(low, high)


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
    return write_folder(folder, lambda scratch: _fill(report, scratch))


def save_sweep(data: xr.Dataset, folder: Path) -> tuple[Path, ...]:
    """Write a sweep as ``sweep.nc`` with its report beside it, all files or none."""

    def fill(scratch: Path) -> None:
        data.to_netcdf(scratch / "sweep.nc", engine="h5netcdf")
        report = sweep_report(str(scratch / "sweep.nc"))
        try:
            _fill(report, scratch)
        finally:
            report.data.close()

    return write_folder(folder, fill)


def _fill(report: SweepReport, scratch: Path) -> None:
    pairs = list(sweep_figures(report.data))
    figures = [figure for figure, _ in pairs]
    chips = {chip.name: chip for _, chip in pairs if chip is not None}.values()
    blocks = sweep_blocks(report, figures)
    page = to_html(
        f"Sweep of {report.data.attrs.get('op', report.name)}",
        [*blocks, *_points(report), *(block for chip in chips for block in hardware_card(chip))],
        panels=[panel_of(figure, hardware) for figure, hardware in pairs],
    )
    texts = {
        "report.md": to_markdown(blocks),
        "report.json": to_json(sweep_json(report)),
        "points.csv": _csv(report),
        "index.html": page,
    }
    fill_report(scratch, figures, texts)


def _csv(report: SweepReport) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.DictWriter(text, list(report.rows[0]) if report.rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(report.rows)
    return text.getvalue()
