"""Blocks of curves or cells as Bokeh plots on shared axes; the page's script colours them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.errors import QueryError
from roofline.plots.figure import Cell, Curve, Figure, Point
from roofline.plots.page.base import add_hover, empty_plot, to_range
from roofline.plots.page.theme import MARKERS, colour

if TYPE_CHECKING:
    from bokeh.plotting import figure as Plot

__all__ = ["block_models"]

_DASHES: Final[tuple[Any, ...]] = ("solid", [7, 4], [8, 3, 2, 3], [4, 3])
_TALL: Final = 420  # px of a block that stands alone
_SMALL: Final = 300


def block_models(figure: Figure) -> list[Plot]:
    """Return a plot a block. Data sources are named ``cells``, ``points``, ``curves``, ``bands``.

    Column ``at`` counts cells, or points, through the whole figure.
    """
    if figure.y is None:
        raise QueryError(f"figure {figure.key!r} has no vertical axis")
    ranges = {"x_range": to_range(figure.x), "y_range": to_range(figure.y)}
    rows = [row for row, _, _ in figure.groups] or [0]
    height = _TALL if len(rows) == 1 else _SMALL
    return [
        _model(f"{figure.key}-{number}", figure, row, height, ranges)
        for number, row in enumerate(rows)
    ]


def _model(name: str, figure: Figure, row: int, height: int, ranges: dict[str, Any]) -> Plot:
    from bokeh.models import ColumnDataSource

    plot = empty_plot(name, figure.x, figure.y, **ranges, height=height)
    hovered: list[Any] = []
    cells = [(at, cell) for at, cell in enumerate(figure.cells) if cell.row == row]
    curves = [curve for curve in figure.curves if curve.row == row]
    points = [(at, point) for at, point in enumerate(figure.points) if point.row == row]
    if figure.cells:
        source = ColumnDataSource(_cells(cells), name="cells")
        plot.grid.visible = False
        hovered.append(
            plot.quad(left="left", right="right", bottom="bottom", top="top", source=source,
                      fill_color="colour", line_color="colour", line_width=0.5)
        )  # fmt: skip
    if figure.curves:
        bands = ColumnDataSource(_bands(curves), name="bands")
        plot.patches(xs="xs", ys="ys", source=bands, fill_color="colour", fill_alpha=0.16,
                     line_color=None)  # fmt: skip
        for number, dash in enumerate([*_DASHES, "dotted"]):
            own = [curve for curve in curves if _dash(curve) == number]
            lines = ColumnDataSource(_curves(own), name="curves")
            plot.multi_line(xs="xs", ys="ys", source=lines, line_color="colour",
                            line_width="width", line_dash=dash)  # fmt: skip
    if figure.points:
        source = ColumnDataSource(_points(points), name="points")
        hovered.append(
            plot.scatter(x="x", y="y", source=source, marker="marker", size="size",
                         fill_color="fill", line_color="colour", line_width=1.6)
        )  # fmt: skip
    add_hover(plot, *hovered)
    return plot


def _cells(cells: Sequence[tuple[int, Cell]]) -> dict[str, Any]:
    edges = {name: np.array([getattr(cell, name) for _, cell in cells])
             for name in ("left", "right", "bottom", "top")}  # fmt: skip
    return {
        **edges,
        "at": np.array([at for at, _ in cells], dtype=np.int32),
        "tone": [cell.tone for _, cell in cells],
        "value": np.array([cell.value for _, cell in cells]),
        "colour": [colour(cell.tone) if cell.tone else "" for _, cell in cells],
    }


def _dash(curve: Curve) -> int:
    if curve.role in ("bound", "range"):
        return len(_DASHES)
    return curve.shape % len(_DASHES) if curve.role == "model" else 0


def _curves(curves: Sequence[Curve]) -> dict[str, Any]:
    tones = ["muted" if curve.role == "bound" else "ink" for curve in curves]
    return {
        "xs": [list(curve.x) for curve in curves],
        "ys": [list(curve.y) for curve in curves],
        "tone": tones,
        "colour": [colour(tone) for tone in tones],
        "width": [2.2 if curve.role == "change" else 1.4 for curve in curves],
    }


def _bands(curves: Sequence[Curve]) -> dict[str, Any]:
    wide = [curve for curve in curves if curve.low != curve.y or curve.high != curve.y]
    return {
        "xs": [[*curve.x, *reversed(curve.x)] for curve in wide],
        "ys": [[*curve.low, *reversed(curve.high)] for curve in wide],
        "tone": ["muted"] * len(wide),
        "colour": [colour("muted")] * len(wide),
    }


def _points(points: Sequence[tuple[int, Point]]) -> dict[str, Any]:
    return {
        "x": np.array([point.x for _, point in points]),
        "y": np.array([point.y for _, point in points]),
        "at": np.array([at for at, _ in points], dtype=np.int32),
        "marker": [MARKERS[point.shape % len(MARKERS)] for _, point in points],
        "size": [7 if point.hollow else 11 for _, point in points],
        "hollow": [point.hollow for _, point in points],
        "tone": [point.tone for _, point in points],
        "colour": [colour(point.tone) for _, point in points],
        "fill": [colour("paper" if point.hollow else point.tone) for _, point in points],
    }
