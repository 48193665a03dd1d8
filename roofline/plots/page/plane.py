"""A plane of roofs and points as a Bokeh plot; the page's script filters and labels it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofline.errors import QueryError
from roofline.plots.figure import Figure, Line, Point
from roofline.plots.labels import shorten
from roofline.plots.page.base import FONT, add_hover, empty_plot
from roofline.plots.page.theme import MARKERS, colour

if TYPE_CHECKING:
    from bokeh.plotting import figure as Plot

__all__ = ["plane_model"]

_DASHES = {"theoretical": "solid", "sustained": "dashed", "measured": "dotted", "vendor": "dashdot"}
_SMALL, _LARGE = 10.0, 22.0  # px of the shortest and the longest time
_PLAIN = 12.0  # px where times are not known or all alike
_LABEL = ("x", "y", "text", "colour", "paper", "dx", "dy")
_LONGEST = 60  # characters of a label; hover and tables hold the whole name


def plane_model(figure: Figure, roofs: Sequence[Line] = ()) -> Plot:
    """Return the plane; ``roofs`` are drawn in place of the figure's own roofs.

    Data sources are named ``roofs``, ``lines``, ``points`` and ``labels``. Size is by time, on a
    logarithmic scale of area.
    """
    from bokeh.core.properties import value
    from bokeh.models import ColumnDataSource, Text

    if figure.y is None:
        raise QueryError(f"figure {figure.key!r} has no vertical axis")
    plot = empty_plot(figure.key, figure.x, figure.y, height=540)
    own = [line for line in figure.lines if line.role in ("memory", "compute")]
    rest = [line for line in figure.lines if line.role not in ("memory", "compute")]
    roof_source = ColumnDataSource(_roofs(roofs or own), name="roofs")
    drawn = plot.segment(
        x0="x0", y0="y0", x1="x1", y1="y1", source=roof_source, line_color="colour",
        line_width="width", line_dash="dash",
    )  # fmt: skip
    line_source = ColumnDataSource(_lines(rest), name="lines")
    plot.multi_line(
        xs="xs", ys="ys", source=line_source, line_color="colour", line_width="width",
        line_dash="dash", line_alpha="alpha",
    )  # fmt: skip
    _add_arrows(plot, [line for line in rest if line.role == "arrow"])
    point_source = ColumnDataSource(_points(figure.points), name="points")
    points = plot.scatter(
        x="x", y="y", source=point_source, marker="marker", size="size", fill_color="fill",
        line_color="edge", line_width=1.5, fill_alpha="alpha", line_alpha="alpha",
        nonselection_fill_alpha="alpha", nonselection_line_alpha="alpha",
        selection_fill_alpha="alpha", selection_line_alpha="alpha",
    )  # fmt: skip
    empty: dict[str, list[Any]] = {name: [] for name in _LABEL}
    glyph = Text(
        x="x", y="y", text="text", text_color="colour", x_offset="dx", y_offset="dy",
        text_font_size="12px", text_font=value(FONT), text_baseline="middle",
        background_fill_color="paper",
    )  # fmt: skip
    plot.add_glyph(ColumnDataSource(empty, name="labels"), glyph)
    add_hover(plot, points, drawn, select=points)
    return plot


def _add_arrows(plot: Plot, lines: Sequence[Line]) -> None:
    """Draw the heads of arrows; their shafts are among the other lines."""
    from bokeh.models import ColumnDataSource
    from bokeh.models.annotations import Arrow
    from bokeh.models.annotations.arrows import NormalHead

    if not lines:
        return
    source = ColumnDataSource(
        {
            "x0": [line.x[0] for line in lines],
            "y0": [line.y[0] for line in lines],
            "x1": [line.x[-1] for line in lines],
            "y1": [line.y[-1] for line in lines],
            "group": [line.key.partition(":")[2] for line in lines],
            "tone": ["ink"] * len(lines),
            "colour": [colour("ink")] * len(lines),
            "alpha": [1.0] * len(lines),
        },
        name="arrows",
    )
    head = NormalHead(size=11, fill_color="colour", line_color="colour", fill_alpha="alpha",
                      line_alpha="alpha")  # fmt: skip
    # the stubs of the library name this property otherwise than the library does
    look: dict[str, Any] = {"line_alpha": 0.0, "level": "underlay"}
    plot.add_layout(
        Arrow(x_start="x0", y_start="y0", x_end="x1", y_end="y1", end=head, source=source, **look)
    )


def _roofs(lines: Sequence[Line]) -> dict[str, list[Any]]:
    return {
        "x0": [line.x[0] for line in lines],
        "y0": [line.y[0] for line in lines],
        "x1": [line.x[-1] for line in lines],
        "y1": [line.y[-1] for line in lines],
        "label": [line.label for line in lines],
        "role": [line.role for line in lines],
        "kind": [line.kind for line in lines],
        "engine": [line.resource if line.role == "compute" else "" for line in lines],
        "memory": [line.resource if line.role == "memory" else "" for line in lines],
        "dtype": [line.dtype for line in lines],
        "tone": [line.resource for line in lines],
        "colour": [colour(line.resource) for line in lines],
        "width": [2.6 if line.binding else 1.4 for line in lines],
        "dash": [_DASHES.get(line.kind, "solid") for line in lines],
        "binding": [line.binding for line in lines],
        "source": [line.source for line in lines],
        "quality": [line.quality for line in lines],
    }


def _lines(lines: Sequence[Line]) -> dict[str, list[Any]]:
    tones = [{"context": "context", "arrow": "ink"}.get(line.role, "muted") for line in lines]
    return {
        "xs": [list(line.x) for line in lines],
        "ys": [list(line.y) for line in lines],
        "label": [line.label for line in lines],
        "role": [line.role for line in lines],
        "group": [line.key.partition(":")[2] for line in lines],
        "tone": tones,
        "colour": [colour(tone) for tone in tones],
        "width": [1.4 if line.role == "arrow" else 1.0 for line in lines],
        "dash": ["dashed" if line.role == "gap" else "solid" for line in lines],
        "alpha": [1.0] * len(lines),
    }


def _points(points: Sequence[Point]) -> dict[str, Any]:
    sizes = _sizes([point.time_s for point in points])
    return {
        "x": np.array([point.x for point in points]),
        "y": np.array([point.y for point in points]),
        "label": [shorten(point.label, _LONGEST) for point in points],
        "group": [point.group or point.key for point in points],
        "basis": [point.basis for point in points],
        "hollow": [point.hollow for point in points],
        "marker": [MARKERS[point.shape % len(MARKERS)] for point in points],
        "size": [
            size * 0.8 if point.hollow else size for point, size in zip(points, sizes, strict=True)
        ],
        "tone": [point.tone for point in points],
        "fill": [colour("paper") if point.hollow else colour(point.tone) for point in points],
        "edge": [colour(point.tone) if point.hollow else colour("paper") for point in points],
        "alpha": [1.0] * len(points),
    }


def _sizes(times: Sequence[float]) -> list[float]:
    known = [time for time in times if time > 0]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    if not known or high / low < 1.05:
        return [_PLAIN] * len(times)
    span = math.log(high / low)
    return [
        round(_SMALL + (_LARGE - _SMALL) * math.sqrt(math.log(time / low) / span), 1)
        if time > 0
        else _PLAIN
        for time in times
    ]
