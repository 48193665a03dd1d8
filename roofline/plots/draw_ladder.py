"""The time ladder: one block a variant, one row a rung, a common logarithmic time axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roofline.plots import style
from roofline.plots.draw import Drawing, new_stack
from roofline.plots.figure import Figure
from roofline.plots.labels import shorten

if TYPE_CHECKING:
    from matplotlib.text import Text

__all__ = ["draw_ladder"]

_ROW = 0.235  # inches
_HEADER = 0.40
_WIDTH = 9.0
_LEFT, _RIGHT = 1.5, 1.2
_TOP = 0.78


def draw_ladder(figure: Figure) -> Drawing:
    """Return the ladder drawn."""
    body = _ROW * len(figure.spans) + _HEADER * len(figure.groups)
    canvas, axes = new_stack(figure, body, width=_WIDTH, left=_LEFT, right=_RIGHT, top=_TOP)
    labels: list[Text] = []
    right = axes.get_yaxis_transform()  # x in axes fractions, y in data
    starts = {row: (title, note) for row, title, note in figure.groups}
    y = 0.0
    for span in figure.spans:
        if span.row in starts:
            title, note = starts[span.row]
            y += _HEADER
            if span.row:
                axes.axhline(y - _HEADER + 0.06, color=style.FAINT, linewidth=0.8, xmin=-0.2)
            head = axes.text(
                -(_LEFT - 0.18) / (_WIDTH - _LEFT - _RIGHT),
                y - 0.10,
                shorten(title, 40),
                transform=right,
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
            labels += [head, verdict]
        y += _ROW
        middle = y - _ROW / 2
        tone = "dma-latency" if span.tone == "dma" else span.tone
        colour = style.tone_colour(tone)
        measured = span.tone == "measured"
        if figure.x.scale == "log":
            axes.plot(
                (figure.x.low, span.low), (middle, middle), color=colour, linewidth=0.8, alpha=0.35
            )
        if span.high > span.low or figure.x.scale == "linear":
            axes.plot(
                (span.low, span.high),
                (middle, middle),
                color=colour,
                linewidth=6,
                solid_capstyle="butt",
                alpha=0.9,
            )
        else:
            axes.plot(
                (span.value,),
                (middle,),
                marker="D" if measured else "o",
                markersize=7 if measured else 6,
                color=colour,
            )
        name = axes.text(
            -0.012,
            middle,
            span.label,
            transform=right,
            ha="right",
            va="center",
            fontsize=8.5,
            color=style.INK if measured else style.MUTED,
            fontweight="bold" if measured else "normal",
        )
        value = axes.annotate(
            span.text,
            (span.high, middle),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            fontweight="bold" if measured else "normal",
            color=style.INK,
        )
        labels += [name, value]
        if span.share:
            labels.append(
                axes.text(
                    1 + (_RIGHT - 0.12) / (_WIDTH - _LEFT - _RIGHT),
                    middle,
                    span.share,
                    transform=right,
                    ha="right",
                    va="center",
                    fontsize=8.5,
                    color=style.MUTED,
                )
            )
    if any(span.share for span in figure.spans):
        labels.append(
            axes.text(
                1 + (_RIGHT - 0.12) / (_WIDTH - _LEFT - _RIGHT),
                0.14,
                "of the measured time" if figure.x.scale == "log" else "of the total",
                transform=right,
                ha="right",
                va="center",
                fontsize=7.5,
                color=style.MUTED,
            )
        )
    return Drawing(canvas, axes, tuple(labels))
