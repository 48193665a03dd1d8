"""Rows of spans (time ladder, utilization, waterfall) as Bokeh plots, one a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofline.plots.figure import Figure, Span
from roofline.plots.labels import shorten
from roofline.plots.page.base import FONT, add_hover, empty_plot, to_range
from roofline.plots.page.theme import colour

if TYPE_CHECKING:
    from bokeh.plotting import figure as Plot

__all__ = ["span_models"]

_ROW, _AXIS, _TITLE = 24, 26, 18  # px


def span_models(figure: Figure) -> list[Plot]:
    """Return a plot for each group of rows, on one horizontal axis that they share."""
    starts = [row for row, _, _ in figure.groups] or [0]
    ends = [*starts[1:], len(figure.spans)]
    shared = to_range(figure.x)
    return [
        _model(
            f"{figure.key}-{number}",
            figure,
            [span for span in figure.spans if start <= span.row < end],
            shared,
            last=end == len(figure.spans),
        )
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def _model(name: str, figure: Figure, spans: list[Span], shared: Any, *, last: bool) -> Plot:
    from bokeh.core.properties import value
    from bokeh.models import ColumnDataSource, FactorRange

    labels = _unique([shorten(span.label, 26) for span in spans])
    plot = empty_plot(
        name,
        figure.x,
        None,
        x_range=shared,
        y_range=FactorRange(factors=labels[::-1]),
        height=_ROW * len(spans) + _AXIS + (_TITLE if last else 0),
    )
    plot.min_border_left = 130
    plot.ygrid.grid_line_color = None
    axis = plot.yaxis[0]
    axis.axis_line_color = None
    axis.major_tick_line_color = None
    axis.major_label_text_font_size = "12px"
    axis.major_label_text_font = FONT
    if not last:
        plot.xaxis[0].axis_label = None
    dots = [
        (label, span) for label, span in zip(labels, spans, strict=True) if _is_dot(figure, span)
    ]
    bars = [
        (label, span)
        for label, span in zip(labels, spans, strict=True)
        if not _is_dot(figure, span)
    ]
    made: list[Any] = []
    for marks in (bars, dots):
        source = ColumnDataSource(_columns(marks), name="spans")
        if marks is bars:
            made.append(
                plot.hbar(y="y", left="low", right="high", height=0.5, source=source,
                          fill_color="colour", line_color=None)
            )  # fmt: skip
        else:
            made.append(
                plot.scatter(x="value", y="y", size=11, marker="marker", source=source,
                             fill_color="colour", line_color=None)
            )  # fmt: skip
        plot.text(
            x="tx", y="y", text="text", x_offset="dx", text_baseline="middle",
            text_align="align",
            text_font_size="12px", text_font=value(FONT), text_color="ink", source=source,
        )  # fmt: skip
    add_hover(plot, *made)
    return plot


def _is_dot(figure: Figure, span: Span) -> bool:
    """Whether a span is drawn as a dot: on a logarithmic axis one value has no length."""
    return figure.x.scale == "log" and span.low == span.high


def _columns(marks: list[tuple[str, Span]]) -> dict[str, list[Any]]:
    return {
        "y": [label for label, _ in marks],
        "low": [span.low for _, span in marks],
        "high": [span.high for _, span in marks],
        "value": [span.value for _, span in marks],
        "label": [span.label for _, span in marks],
        "text": [f"{span.text}   {span.share}".rstrip() for _, span in marks],
        "tone": [_tone(span) for _, span in marks],
        "colour": [colour(_tone(span)) for _, span in marks],
        "tx": [span.high for _, span in marks],
        "dx": [9] * len(marks),
        "align": ["left"] * len(marks),
        "ink": [colour("ink")] * len(marks),
        "marker": ["diamond" if span.tone == "measured" else "circle" for _, span in marks],
        "source": [span.source for _, span in marks],
    }


def _tone(span: Span) -> str:
    return "dma-latency" if span.tone == "dma" and "latency" in span.label else span.tone


def _unique(labels: list[str]) -> list[str]:
    """Tell equal labels apart with a mark that is not seen."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        count = seen.get(label, 0)
        seen[label] = count + 1
        found.append(label + "\u200b" * count)
    return found
