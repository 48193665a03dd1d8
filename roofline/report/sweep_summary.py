"""Best, worst and crossovers of a sweep, as tables and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.model.stored import AXES, Extreme, Series
from roofline.report.blocks import Block, Heading, Paragraph, Table
from roofline.units import format_count, format_number, format_percent, format_time

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["crossings", "extremes", "ratios", "series_json"]

_ROWS: Final = 40  # of a table


def extremes(series: Sequence[Series]) -> Iterator[Block]:
    """Yield the fastest and slowest points, and those nearest to and farthest from their roof."""
    rows = [(one.key, ", ".join(names), *point) for one in series for point, names in _points(one)]
    if not rows:
        return
    yield Heading(text="Best and worst")
    yield Table(
        columns=("series", "point", "sizes", "estimate", "of roof", "bound"),
        rows=tuple(rows[:_ROWS]),
        numeric=frozenset({3, 4}),
        note="of roof: lower bound over estimate."
        + (f" {len(rows) - _ROWS} more rows are in report.json." if len(rows) > _ROWS else ""),
    )


def _points(one: Series) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield each extreme point as cells, with everything it is."""
    words = {"fastest": "fastest", "slowest": "slowest", "best": "nearest to its roof",
             "worst": "farthest from its roof"}  # fmt: skip
    found: dict[tuple[str, ...], list[str]] = {}
    for name, point in one.extremes.items():
        cells = (_place(point.sizes), format_time(point.estimate_s), _percent(point), point.bound)
        found.setdefault(cells, []).append(words[name])
    yield from found.items()


def ratios(estimates: xr.DataArray) -> Iterator[Block]:
    """Yield how long each chip, dtype and variant takes against the first, over all points.

    ``estimates`` holds modelled times in s over ``AXES`` and sizes; NaN is not modelled.
    """
    rows = []
    for axis in AXES:
        first, *rest = estimates[axis].values.tolist()
        for other in rest:
            ratio = (estimates.sel({axis: other}) / estimates.sel({axis: first})).values
            ratio = ratio[np.isfinite(ratio)]
            if len(ratio):
                low, middle, high = (
                    f"{format_number(float(value))}x"
                    for value in (ratio.min(), np.median(ratio), ratio.max())
                )
                rows.append((axis, f"{other} against {first}", middle, low, high))
    if rows:
        yield Heading(text="Against each other")
        yield Table(
            columns=("axis", "time of", "median", "smallest", "largest"),
            rows=tuple(rows),
            numeric=frozenset({2, 3, 4}),
            note="Ratios of modelled times of points that differ in this axis alone: above 1x the "
            "first of the two is slower.",
        )


def crossings(series: Sequence[Series]) -> Iterator[Block]:
    """Yield where the bound changes along the longest size."""
    along = series[0].along if series else ""
    if not along:
        return
    yield Heading(text="Crossovers")
    rows = [
        (one.key, before, after, format_count(count),
         format_count(low) if low == high else f"{format_count(low)} to {format_count(high)}")
        for one in series
        for (before, after), (count, low, high) in one.changes.items()
    ]  # fmt: skip
    if not rows:
        yield Paragraph(text=f"One bound all along {along} in every series.")
        return
    yield Table(
        columns=("series", "from", "to", "lines", f"new bound from {along}"),
        rows=tuple(rows[:_ROWS]),
        numeric=frozenset({3}),
        note=f"A line is one choice of the other sizes. Sizes are those of the sweep: the change "
        f"lies above the size before; roofline sweep --crossing {along} solves it to the size.",
    )


def series_json(one: Series) -> dict[str, Any]:
    """Return the summary of one hardware, dtype and variant."""
    return {
        "hardware": one.hardware,
        "dtype": one.dtype,
        "variant": one.variant,
        "points": one.points,
        "empty": one.empty,
        "extremes": {name: asdict(point) for name, point in one.extremes.items()},
        "bounds": one.bounds,
        "along": one.along,
        "changes": [
            {"before": before, "after": after, "count": count, "first_low": low, "first_high": high}
            for (before, after), (count, low, high) in one.changes.items()
        ],
        "examples": [asdict(change) for change in one.examples],
    }


def _place(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{dim} {format_count(size)}" for dim, size in sizes.items())


def _percent(point: Extreme) -> str:
    share = point.percent_of_roof
    return format_percent(None if share is None else share / 100)
