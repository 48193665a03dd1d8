"""Points as marks of matplotlib: neighbours that look alike are one artist."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from roofline.plots import style
from roofline.plots.figure import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MarkSize", "draw_marks"]


class MarkSize(NamedTuple):
    """Diameter of a mark and width of its edge, in points."""

    size: float
    edge: float


def draw_marks(axes: Axes, points: Iterable[Point], solid: MarkSize, hollow: MarkSize) -> None:
    """Draw points in their order, hollow ones below; an artist each would take ms a point."""
    for (shape, tone, is_hollow), run in groupby(points, _look):
        alike = list(run)
        colour = style.tone_colour(tone)
        size, edge = hollow if is_hollow else solid
        axes.plot(
            [point.x for point in alike],
            [point.y for point in alike],
            linestyle="none",
            marker=style.MARKERS[shape],
            markersize=size,
            markerfacecolor="white" if is_hollow else colour,
            markeredgecolor=colour if is_hollow else "white",
            markeredgewidth=edge,
            zorder=4 if is_hollow else 5,
        )


def _look(point: Point) -> tuple[int, str, bool]:
    return point.shape % len(style.MARKERS), point.tone, point.hollow
