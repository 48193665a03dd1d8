"""Engines over time: a lane each, its height the share of a bin at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roofline.plots import style
from roofline.plots.canvas import Drawing, new_stack
from roofline.plots.figure import Figure
from roofline.plots.labels import shorten

if TYPE_CHECKING:
    from matplotlib.text import Text

__all__ = ["draw_lanes"]

_WIDTH = 9.0  # inches
_LANE, _HEADER = 0.42, 0.40
_LEFT, _RIGHT, _TOP = 1.3, 0.35, 0.72
_FULL = 1000  # thousandths of a bin
_FILL = 0.86  # of a lane that a full bin takes


def draw_lanes(figure: Figure) -> Drawing:
    """Return the lanes drawn, blocks of lanes under their titles."""
    body = _LANE * len(figure.lanes) + _HEADER * len(figure.groups)
    canvas, axes = new_stack(figure, body, width=_WIDTH, left=_LEFT, right=_RIGHT, top=_TOP)
    across = axes.get_yaxis_transform()
    starts = {row: (title, note) for row, title, note in figure.groups}
    labels: list[Text] = []
    y = 0.0
    for lane in figure.lanes:
        if lane.row in starts:
            title, note = starts[lane.row]
            y += _HEADER
            head = axes.text(
                -(_LEFT - 0.18) / (_WIDTH - _LEFT - _RIGHT), y - 0.12, shorten(title, 48),
                transform=across, fontweight="bold", fontsize=9.5, va="center",
            )  # fmt: skip
            said = axes.annotate(
                note, (1, 0.5), xycoords=head, xytext=(9, 0), textcoords="offset points",
                fontsize=8.5, va="center", color=style.MUTED,
            )  # fmt: skip
            labels += [head, said]
        y += _LANE
        edges = np.linspace(0.0, lane.end, len(lane.working) + 1)
        colour = style.tone_colour(lane.tone)
        for shares, alpha in ((lane.active, 0.3), (lane.working, 1.0)):
            values = np.asarray(shares)
            first = np.concatenate(([0], np.flatnonzero(np.diff(values)) + 1))  # of equal bins
            ends = np.append(edges[first], edges[-1])
            tops = y - values[first] / _FULL * _LANE * _FILL
            axes.stairs(tops, ends, baseline=y, fill=True, color=colour, alpha=alpha, linewidth=0)
        axes.plot((0.0, lane.end), (y, y), color=style.FAINT, linewidth=0.8)
        labels.append(
            axes.text(-0.012, y - _LANE / 2, lane.label, transform=across, ha="right",
                      va="center", fontsize=8.5, color=style.INK)
        )  # fmt: skip
    return Drawing(canvas, axes, tuple(labels))
