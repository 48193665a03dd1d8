"""Roofline and engine panel: roofs, points and their labels on two logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from roofline.plots import style
from roofline.plots.canvas import Drawing, add_heading, new_canvas, set_axis, text_sizes
from roofline.plots.figure import Figure, Line, Point
from roofline.plots.labels import Box, place_labels, shorten
from roofline.plots.marks import MarkSize, draw_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.legend import Legend
    from matplotlib.text import Text

__all__ = ["draw_plane"]

_WIDTH, _HEIGHT = 9.0, 6.6
_SOLID, _HOLLOW = MarkSize(8, 0.8), MarkSize(6, 1.3)
_MOST_LABELS = 24  # more points than this are told by the table, not in the figure
_CORNERS: tuple[Any, ...] = (
    "lower right",
    "upper left",
    "lower left",
    "upper right",
    "center right",
)


def draw_plane(figure: Figure) -> Drawing:
    """Return the plane drawn, every label clear of the others, of points and of roofs."""
    if figure.y is None:
        raise ValueError(f"figure {figure.key!r} has no vertical axis")
    bottom = 0.62 + 0.17 * len(figure.notes)
    canvas = new_canvas(_WIDTH, _HEIGHT)
    axes = canvas.add_axes(
        (
            0.82 / _WIDTH,
            bottom / _HEIGHT,
            1 - (0.82 + 0.2) / _WIDTH,
            1 - (0.78 + bottom) / _HEIGHT,
        )
    )
    set_axis(axes, "x", figure.x)
    set_axis(axes, "y", figure.y)
    axes.grid(visible=True, color=style.FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    add_heading(canvas, figure, 0.18 / _WIDTH, _HEIGHT)
    for line in figure.lines:
        _draw_line(axes, line)
    draw_marks(axes, figure.points, _SOLID, _HOLLOW)
    obstacles = _marker_boxes(axes, figure.points)
    for line in figure.lines:
        obstacles += _line_boxes(axes, line)
    legend = _draw_key(axes, canvas, figure, obstacles)
    if legend is not None:
        obstacles.append(_extent(legend, canvas))
    labels = _label_roofs(axes, canvas, figure.lines, obstacles)
    labels += _label_points(axes, canvas, figure, obstacles)
    if legend is not None:
        labels += legend.get_texts()
    return Drawing(canvas, axes, tuple(labels))


def _draw_line(axes: Axes, line: Line) -> None:
    if line.role == "context":
        axes.plot(
            line.x,
            line.y,
            color=style.CONTEXT,
            linewidth=1.0,
            marker="o",
            markersize=2.6,
            zorder=2.5,
        )
    elif line.role == "join":
        axes.plot(line.x, line.y, color=style.MUTED, linewidth=0.9, zorder=3)
    elif line.role in ("gap", "arrow"):
        gap = line.role == "gap"  # up to a roof; an arrow goes from point to point
        axes.annotate(
            "",
            xy=(line.x[1], line.y[1]),
            xytext=(line.x[0], line.y[0]),
            arrowprops={
                "arrowstyle": "-|>",
                "linestyle": (0, (4, 3)) if gap else "-",
                "color": style.MUTED if gap else style.INK,
                "linewidth": 0.9 if gap else 1.2,
                "shrinkA": 9 if gap else 5,
                "shrinkB": 1 if gap else 6,
            },
            zorder=3,
        )
    else:
        axes.plot(
            line.x,
            line.y,
            color=style.ROOF_COLOURS.get(line.resource, style.INK),
            linestyle=style.KIND_DASHES.get(line.kind, "-"),
            linewidth=2.2 if line.binding else 1.2,
            alpha=1.0 if line.binding or line.role == "compute" else 0.75,
            zorder=2.4 if line.binding else 2,
        )


def _draw_key(
    axes: Axes, canvas: Canvas, figure: Figure, obstacles: Sequence[Box]
) -> Legend | None:
    """Draw the key of memory roofs and colours in the corner that hides least."""
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=style.ROOF_COLOURS.get(line.resource, style.INK),
            linestyle=style.KIND_DASHES.get(line.kind, "-"),
            linewidth=2.2 if line.binding else 1.2,
            label=line.label + ("  (binds)" if line.binding else ""),
        )
        for line in figure.lines
        if line.role == "memory"
    ]
    handles += [
        Line2D(
            [],
            [],
            linestyle="none",
            marker="o",
            markersize=7,
            color=style.tone_colour(tone),
            label=f"verdict: {tone}",
        )
        for tone in dict.fromkeys(point.tone for point in figure.points)
    ]
    if not handles:
        return None
    found = []
    for order, corner in enumerate(_CORNERS):
        legend = Legend(
            axes,
            handles,
            [str(handle.get_label()) for handle in handles],
            loc=corner,
            fontsize=7.8,
            facecolor="white",
            edgecolor=style.FAINT,
            framealpha=1.0,
            borderpad=0.6,
            labelspacing=0.45,
        )
        box = _extent(legend, canvas)
        found.append((sum(box.overlaps(other) for other in obstacles), order, legend))
    chosen = min(found, key=lambda one: one[:2])[2]
    chosen.set_zorder(6)
    axes.add_artist(chosen)
    return chosen


def _label_roofs(
    axes: Axes, canvas: Canvas, lines: Sequence[Line], obstacles: list[Box]
) -> list[Text]:
    """Write the name of each compute roof on its line, from the right end leftwards."""
    texts = []
    for line in lines:
        if line.role != "compute":
            continue
        colour = style.ROOF_COLOURS.get(line.resource, style.INK)
        for words in _shorter(line.label):
            text = axes.text(0, 0, words, fontsize=8, color=colour)
            box = _spot_on(axes, text_sizes(canvas, [text])[0], line, obstacles)
            if box is not None:
                _move(axes, text, box)
                obstacles.append(box)
                texts.append(text)
                break
            text.remove()
    return texts


def _shorter(label: str) -> Iterator[str]:
    """Yield a label of several names and a rate, then the same with ever fewer of its names."""
    names, gap, rate = label.partition("  ")
    known = [name for name in names.split(", ") if name != "…"]
    yield label
    for count in range(len(known) - 1, 0, -1):
        yield f"{', '.join(known[:count])}, …{gap}{rate}"


def _spot_on(
    axes: Axes, size: tuple[float, float], line: Line, obstacles: Sequence[Box]
) -> Box | None:
    """Return the rightmost free place above or below a level line, ``None`` without one."""
    width, height = size
    (left, y), (right, _) = axes.transData.transform(list(zip(line.x, line.y, strict=True)))
    bounds = _bounds(axes)
    for gap in (2.5, -height - 2.5):
        for x in np.arange(right - width - 4, min(left, right - width - 5), -height):
            box = Box(x, y + gap, x + width, y + gap + height)
            inside = box.left >= bounds.left and box.top <= bounds.top
            if inside and not any(box.overlaps(other) for other in obstacles):
                return box
    return None


def _label_points(axes: Axes, canvas: Canvas, figure: Figure, obstacles: list[Box]) -> list[Text]:
    """Write the name of each point and trajectory near it, with a thin leader where it is far."""
    named = [point for point in figure.points if point.label]
    if len(named) > _MOST_LABELS:
        named = []
    anchors = [(point.x, point.y) for point in named]
    colours = [style.tone_colour(point.tone) for point in named]
    words = [point.label for point in named]
    for line in figure.lines:
        if line.role == "context":
            anchors.append((line.x[-1], line.y[-1]))
            colours.append(style.CONTEXT)
            words.append(line.label)
        elif line.role == "gap":
            anchors.append((line.x[0], float(np.sqrt(line.y[0] * line.y[1]))))
            colours.append(style.MUTED)
            words.append(line.label)
    if not anchors:
        return []
    texts = [
        axes.text(0, 0, shorten(word, 60), fontsize=8, color=colour, zorder=7)
        for word, colour in zip(words, colours, strict=True)
    ]
    pixels = [tuple(float(v) for v in row) for row in axes.transData.transform(anchors)]
    spots = [(x, y) for x, y in pixels]
    boxes = place_labels(spots, text_sizes(canvas, texts), obstacles, _bounds(axes))
    shown = []
    for text, box, (x, y), colour in zip(texts, boxes, spots, colours, strict=True):
        if box is None:
            text.remove()
            continue
        _move(axes, text, box)
        shown.append(text)
        _leader(axes, box, (x, y), colour)
    return shown


def _leader(axes: Axes, box: Box, anchor: tuple[float, float], colour: str) -> None:
    near = (
        min(max(anchor[0], box.left), box.right),
        min(max(anchor[1], box.bottom), box.top),
    )
    if np.hypot(near[0] - anchor[0], near[1] - anchor[1]) < 18:
        return
    ends = axes.transData.inverted().transform([near, anchor])
    axes.plot(ends[:, 0], ends[:, 1], color=colour, linewidth=0.6, alpha=0.7, zorder=3.5)


def _move(axes: Axes, text: Text, box: Box) -> None:
    """Put a text so that its extent is the box; extents start at the descender."""
    x, y = axes.transData.inverted().transform((box.left, box.bottom))
    text.set_position((x, y))
    text.set_verticalalignment("bottom")
    text.set_horizontalalignment("left")


def _marker_boxes(axes: Axes, points: Sequence[Point]) -> list[Box]:
    if not points:
        return []
    half = 8.0
    spots = axes.transData.transform([(point.x, point.y) for point in points])
    return [Box(x - half, y - half, x + half, y + half) for x, y in spots]


def _line_boxes(axes: Axes, line: Line) -> list[Box]:
    """Cover a line with small boxes, so that no label lies on it."""
    ends = axes.transData.transform(list(zip(line.x, line.y, strict=True)))
    boxes = []
    for (x0, y0), (x1, y1) in pairwise(ends):
        steps = max(2, int(np.hypot(x1 - x0, y1 - y0) / 6))
        for x, y in zip(np.linspace(x0, x1, steps), np.linspace(y0, y1, steps), strict=True):
            boxes.append(Box(x - 2, y - 2, x + 2, y + 2))
    return boxes


def _bounds(axes: Axes) -> Box:
    box = axes.get_window_extent()
    return Box(box.x0 + 3, box.y0 + 3, box.x1 - 3, box.y1 - 3)


def _extent(artist: Legend | Text, canvas: Canvas) -> Box:
    box = artist.get_window_extent(canvas.canvas.get_renderer())  # type: ignore[attr-defined]
    return Box(box.x0 - 4, box.y0 - 4, box.x1 + 4, box.y1 + 4)
