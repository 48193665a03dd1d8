"""What every Bokeh plot of the page shares: axes, tools, and calls to the page's script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from roofline.plots.figure import Axis
from roofline.plots.page.theme import colour

if TYPE_CHECKING:
    from bokeh.models import Range1d
    from bokeh.plotting import figure as Plot

__all__ = ["FONT", "add_hover", "empty_plot", "to_range"]

FONT: Final = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
"""The font of the page, for texts on a canvas."""

# ticks in SI prefixes, and one text for axes of every unit
_TICKS = """
    if (tick === 0) return '0 ' + suffix
    const power = Math.floor(Math.log10(Math.abs(tick)) + 1e-9)
    const step = Math.max(-5, Math.min(6, Math.floor(power / 3)))
    const prefix = ['f', 'p', 'n', 'µ', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'][step + 5]
    const value = +(tick / Math.pow(1000, step)).toPrecision(3)
    return prefixed ? value + ' ' + prefix + suffix : String(+tick.toPrecision(3))
"""


# the rule of the static figures: decades, fewer on long axes, 1, 2 and 5 of each on short ones
_LOG_TICKS = """
    const [low, high] = [Math.log10(cb_data.range.start), Math.log10(cb_data.range.end)]
    const step = Math.max(1, Math.ceil((high - low) / 11))
    const ticks = []
    for (let power = Math.floor(low); power <= Math.floor(high); power += step) {
        for (const factor of high - low < 3 ? [1, 2, 5] : [1]) ticks.push(factor * 10 ** power)
    }
    return ticks.filter((one) => one >= cb_data.range.start && one <= cb_data.range.end)
"""


def to_range(axis: Axis) -> Range1d:
    """Return the range of an axis; plots that share it zoom together."""
    from bokeh.models import Range1d

    return Range1d(start=axis.low, end=axis.high, reset_start=axis.low, reset_end=axis.high)


def empty_plot(
    name: str, x: Axis, y: Axis | None, *, x_range: Any = None, y_range: Any = None, height: int
) -> Plot:
    """Return a plot without marks, on ranges of its own or on those of other plots.

    Without an axis ``y``, ``y_range`` holds rows of labels.
    """
    from bokeh.models import BoxZoomTool, PanTool, ResetTool, WheelZoomTool
    from bokeh.plotting import figure

    box = BoxZoomTool()
    kinds: dict[str, Any] = {"x_axis_type": x.scale, "y_axis_type": y.scale if y else "auto"}
    plot = figure(
        **kinds,
        name=name,
        x_range=x_range or to_range(x),
        y_range=y_range if y is None else y_range or to_range(y),
        height=height,
        sizing_mode="stretch_width",
        toolbar_location=None if y is None else "above",
        tools=[box, PanTool(), WheelZoomTool(), ResetTool()] if y is not None else [],
        min_width=240,
        min_border_right=12,
        outline_line_color=None,
        background_fill_color=None,
        border_fill_color=None,
        lod_threshold=None,
    )
    plot.toolbar.logo = None
    if y is not None:
        plot.toolbar.active_drag = box
    _axis(plot.xaxis[0], x)
    if y is not None:
        _axis(plot.yaxis[0], y)
    for grid in plot.grid:
        grid.grid_line_color = colour("grid")
        grid.minor_grid_line_color = None
    return plot


def _axis(model: Any, axis: Axis) -> None:
    from bokeh.models import BasicTicker, CustomJSTicker, CustomJSTickFormatter, FixedTicker

    prefixed = axis.unit not in ("FLOP/B", "pass/B", "%", "")
    suffix = {"s": "s", "%": " %"}.get(axis.unit, "")
    model.formatter = (
        CustomJSTickFormatter(code="return tick.toLocaleString('en-US')")
        if axis.unit == "1"
        else CustomJSTickFormatter(args={"prefixed": prefixed, "suffix": suffix}, code=_TICKS)
    )
    if axis.ticks:
        model.ticker = FixedTicker(ticks=list(axis.ticks))
    elif axis.scale == "log":
        model.ticker = CustomJSTicker(major_code=_LOG_TICKS, minor_code="return []")
    else:
        model.ticker = BasicTicker(desired_num_ticks=7, num_minor_ticks=0)
    unit = "" if axis.unit in ("s", "%", "", "1") else f", {axis.unit}"
    model.axis_label = f"{axis.label}{unit}"
    model.axis_label_text_font_style = "normal"
    model.axis_label_text_font_size = "12px"
    model.axis_label_text_font = model.major_label_text_font = FONT
    model.major_label_text_font_size = "12px"
    model.minor_tick_line_color = None
    model.axis_line_color = colour("muted")
    model.major_tick_line_color = colour("muted")


def add_hover(plot: Plot, *renderers: Any, select: Any = None) -> None:
    """Tell the page's script what is under the pointer, and which of ``select`` was clicked."""
    from bokeh.models import CustomJS, HoverTool, TapTool

    tell = CustomJS(args={"plot": plot}, code="window.rooflinePage.hover(plot.name, cb_data)")
    plot.add_tools(HoverTool(renderers=list(renderers), tooltips=None, callback=tell))
    if select is not None:
        pick = CustomJS(
            args={"plot": plot},
            code="window.rooflinePage.pick(plot.name, cb_data.source)",
        )
        plot.add_tools(TapTool(renderers=[select], callback=pick))
