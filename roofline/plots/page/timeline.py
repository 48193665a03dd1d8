"""Engines over time as Bokeh plots; the page's script bins them anew at every zoom."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from roofline.plots.figure import Figure, Lane
from roofline.plots.page.base import FONT, add_hover, empty_plot, to_range
from roofline.plots.page.theme import colour

if TYPE_CHECKING:
    from bokeh.plotting import figure as Plot

__all__ = ["lane_data", "timeline_models"]

_LANE, _AXES = 40, 60  # px


def timeline_models(figure: Figure) -> list[Plot]:
    """Return a plot a block of lanes, on one time axis that they share; marks are the script's."""
    starts = [row for row, _, _ in figure.groups] or [0]
    ends = [*starts[1:], len(figure.lanes)]
    shared = to_range(figure.x)
    return [
        _model(f"{figure.key}-{number}", figure, figure.lanes[start:end], shared)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def lane_data(lanes: tuple[Lane, ...]) -> list[dict[str, Any]]:
    """Return lanes for the script: thousandths as little-endian 16 bit, in base64."""

    def packed(shares: tuple[int, ...]) -> str:
        return base64.b64encode(np.asarray(shares, dtype="<u2").tobytes()).decode("ascii")

    return [
        {
            "label": lane.label,
            "tone": lane.tone,
            "end": lane.end,
            "working": packed(lane.working),
            "active": packed(lane.active),
        }
        for lane in lanes
    ]


def _model(name: str, figure: Figure, lanes: tuple[Lane, ...], shared: Any) -> Plot:
    from bokeh.models import (
        BoxZoomTool,
        ColumnDataSource,
        FixedTicker,
        PanTool,
        Range1d,
        ResetTool,
        WheelZoomTool,
        ZoomInTool,
        ZoomOutTool,
    )

    plot = empty_plot(
        name, figure.x, None, x_range=shared, y_range=Range1d(start=len(lanes), end=0),
        height=_LANE * len(lanes) + _AXES,
    )  # fmt: skip
    box = BoxZoomTool(dimensions="width")
    plot.add_tools(
        box, PanTool(dimensions="width"), WheelZoomTool(dimensions="width"),
        ZoomInTool(dimensions="width"), ZoomOutTool(dimensions="width"), ResetTool(),
    )  # fmt: skip
    plot.toolbar_location = "above"
    plot.toolbar.active_drag = box
    plot.min_border_left = 130
    plot.ygrid.grid_line_color = None
    axis = plot.yaxis[0]
    axis.ticker = FixedTicker(ticks=[number + 0.55 for number in range(len(lanes))])
    axis.major_label_overrides = {number + 0.55: lane.label for number, lane in enumerate(lanes)}
    axis.axis_line_color = axis.major_tick_line_color = None
    axis.minor_tick_line_color = None
    axis.major_label_text_font_size = "12px"
    axis.major_label_text_font = FONT
    columns: dict[str, list[Any]] = {
        key: [] for key in ("left", "right", "bottom", "top", "tone", "colour", "alpha", "label",
                            "text")
    }  # fmt: skip
    source = ColumnDataSource(columns, name="bins")
    marks = plot.quad(
        left="left", right="right", bottom="bottom", top="top", source=source,
        fill_color="colour", fill_alpha="alpha", line_color="colour", line_alpha="alpha",
        line_width=0.5,
    )  # fmt: skip
    add_hover(plot, marks)
    plot.xaxis[0].axis_line_color = colour("muted")
    return plot
