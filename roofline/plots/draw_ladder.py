"""The time ladder: one block a variant, one row a rung, a common logarithmic time axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roofline.plots import style
from roofline.plots.canvas import Drawing, new_stack
from roofline.plots.figure import Axis, Figure, Span
from roofline.plots.labels import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

__all__ = ["draw_ladder"]

_ROW = 0.235  # inches
_HEADER = 0.40
_WIDTH = 9.0
_LEFT, _RIGHT = 1.5, 1.2
_TOP = 0.78
_INSIDE = _WIDTH - _LEFT - _RIGHT


def draw_ladder(figure: Figure) -> Drawing:
    """Return the ladder drawn; canvas and labels in inches, the time axis in s."""
    body = _ROW * len(figure.spans) + _HEADER * len(figure.groups)
    canvas, axes = new_stack(figure, body, width=_WIDTH, left=_LEFT, right=_RIGHT, top=_TOP)
    labels: list[Text] = []
    starts = {row: (title, note) for row, title, note in figure.groups}
    y = 0.0
    for span in figure.spans:
        if span.row in starts:
            y += _HEADER
            if span.row:
                axes.axhline(y - _HEADER + 0.06, color=style.FAINT, linewidth=0.8, xmin=-0.2)
            labels += _header(axes, y, *starts[span.row])
        y += _ROW
        middle = y - _ROW / 2
        _mark(axes, span, middle, figure.x)
        labels += _names(axes, span, middle)
        if span.share:
            labels.append(_on_the_right(axes, middle, span.share, 8.5))
    if figure.share_words:
        labels.append(_on_the_right(axes, 0.14, figure.share_words, 7.5))
    return Drawing(canvas, axes, tuple(labels))


def _header(axes: Axes, y: float, title: str, note: str) -> tuple[Text, Text]:
    """Draw the name of a variant, and its verdict beside it in the colour of the resource."""
    head = axes.text(
        -(_LEFT - 0.18) / _INSIDE,
        y - 0.10,
        shorten(title, 40),
        transform=axes.get_yaxis_transform(),
        fontweight="bold",
        fontsize=9.5,
        va="center",
    )
    tone = note.rsplit(" ", 1)[-1].split(":")[0]
    verdict = axes.annotate(
        note,
        (1, 0.5),
        xycoords=head,
        xytext=(9, 0),
        textcoords="offset points",
        fontsize=8.5,
        va="center",
        color=style.tone_colour(tone),
    )
    return head, verdict


def _mark(axes: Axes, span: Span, y: float, x: Axis) -> None:
    """Draw a rung: a bar where it is a range, else a point at the end of a thin line."""
    colour = style.tone_colour("dma-latency" if span.tone == "dma" else span.tone)
    measured = span.tone == "measured"
    if x.scale == "log":
        axes.plot((x.low, span.low), (y, y), color=colour, linewidth=0.8, alpha=0.35)
    if span.high > span.low or x.scale == "linear":
        axes.plot(
            (span.low, span.high),
            (y, y),
            color=colour,
            linewidth=6,
            solid_capstyle="butt",
            alpha=0.9,
        )
    else:
        axes.plot(
            (span.value,),
            (y,),
            marker="D" if measured else "o",
            markersize=7 if measured else 6,
            color=colour,
        )


def _names(axes: Axes, span: Span, y: float) -> tuple[Text, Text]:
    """Write what a rung is to the left, and its value behind it."""
    measured = span.tone == "measured"
    name = axes.text(
        -0.012,
        y,
        span.label,
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="center",
        fontsize=8.5,
        color=style.INK if measured else style.MUTED,
        fontweight="bold" if measured else "normal",
    )
    value = axes.annotate(
        span.text,
        (span.high, y),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        fontsize=8.5,
        fontweight="bold" if measured else "normal",
        color=style.INK,
    )
    return name, value


def _on_the_right(axes: Axes, y: float, text: str, size: float) -> Text:
    return axes.text(
        1 + (_RIGHT - 0.12) / _INSIDE,
        y,
        text,
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="center",
        fontsize=size,
        color=style.MUTED,
    )
