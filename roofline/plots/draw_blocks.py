"""Blocks of curves or cells side by side, all on the same axes, with one key below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from roofline.plots import style
from roofline.plots.canvas import Drawing, add_heading, new_canvas, set_axis, text_sizes
from roofline.plots.figure import Cell, Curve, Figure, Point
from roofline.plots.labels import shorten
from roofline.plots.marks import MarkSize, draw_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Canvas
    from matplotlib.text import Text

__all__ = ["draw_blocks"]

_WIDTH: Final = 9.0  # inches, as all below
_LEFT, _RIGHT, _TOP = 0.95, 0.25, 0.72
_BETWEEN, _TITLE, _FOOT = 0.28, 0.3, 0.52  # columns apart; above and below each block
_TALL: Final = {1: 3.9, 2: 2.7, 3: 2.1}  # of a block by columns
_KEY: Final = 0.22  # a line of the key
_SOLID, _HOLLOW = MarkSize(6.5, 0.7), MarkSize(4.2, 1.2)
_DASHES: Final[tuple[Any, ...]] = ("-", (0, (6, 3)), (0, (6, 2, 1.5, 2)), (0, (3, 2)))


class _Layout(NamedTuple):
    columns: int
    rows: int
    width: float
    height: float
    bottom: float  # of the lowest block
    canvas: float


def draw_blocks(figure: Figure) -> Drawing:
    """Return every block drawn under its title, with the key of colours and lines below."""
    if figure.y is None:
        raise ValueError(f"figure {figure.key!r} has no vertical axis")
    groups = figure.groups or ((0, "", ""),)
    handles = _handles(figure)
    lay = _layout(len(groups), len(handles), figure)
    canvas = new_canvas(_WIDTH, lay.canvas)
    add_heading(canvas, figure, 0.18 / _WIDTH, lay.canvas)
    labels: list[Text] = []
    first: Axes | None = None
    for at, (row, title, note) in enumerate(groups):
        axes = _axes(canvas, figure, lay, at, len(groups))
        first = first or axes
        head = " ".join(part for part in (title, note) if part)
        labels.append(
            axes.set_title(shorten(head, int(lay.width * 14)), fontsize=9.5, loc="left", pad=5)
        )
        labels += _cells(axes, figure, [cell for cell in figure.cells if cell.row == row], lay)
        for curve in figure.curves:
            if curve.row == row:
                _curve(axes, curve)
        labels += _points(axes, [point for point in figure.points if point.row == row])
    labels += _key(canvas, figure, handles, lay)
    assert first is not None
    return Drawing(canvas, first, tuple(labels))


def _layout(blocks: int, entries: int, figure: Figure) -> _Layout:
    columns = blocks if blocks < 3 else 2 if blocks in (3, 4) else 3
    rows = -(-blocks // columns)
    width = (_WIDTH - _LEFT - _RIGHT - _BETWEEN * (columns - 1)) / columns
    height = _TALL[columns]
    key = _KEY * -(-entries // _per_line()) + (0.42 if figure.scale else 0.0) + 0.12
    bottom = 0.12 + 0.17 * len(figure.notes) + key + _FOOT
    whole = _TOP + rows * (_TITLE + height + _FOOT) - _FOOT + bottom
    return _Layout(columns, rows, width, height, bottom, whole)


def _per_line() -> int:
    return 3


def _axes(canvas: Canvas, figure: Figure, lay: _Layout, at: int, blocks: int) -> Axes:
    down, across = divmod(at, lay.columns)
    left = _LEFT + across * (lay.width + _BETWEEN)
    low = lay.bottom + (lay.rows - 1 - down) * (lay.height + _TITLE + _FOOT)
    axes = canvas.add_axes(
        (left / _WIDTH, low / lay.canvas, lay.width / _WIDTH, lay.height / lay.canvas)
    )
    assert figure.y is not None
    set_axis(axes, "x", figure.x)
    set_axis(axes, "y", figure.y)
    _thin(axes, canvas)
    if across:
        axes.set_ylabel("")
        axes.set_yticklabels([])
    if at + lay.columns < blocks:
        axes.set_xlabel("")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if not figure.cells:
        axes.grid(visible=True, color=style.FAINT, linewidth=0.7)
        axes.set_axisbelow(True)
    return axes


def _thin(axes: Axes, canvas: Canvas) -> None:
    """Leave out names of ticks that would print on the one before."""
    texts = axes.get_xticklabels()
    places = [float(axes.transData.transform((tick, 1.0))[0]) for tick in axes.get_xticks()]
    end = -np.inf
    for text, place, (width, _) in zip(texts, places, text_sizes(canvas, texts), strict=True):
        if place - width / 2 < end + 5:
            text.set_text("")
        else:
            end = place + width / 2
    axes.set_xticks(axes.get_xticks(), [text.get_text() for text in texts])


def _scale() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("scale", list(style.SCALE))


def _cells(axes: Axes, figure: Figure, cells: list[Cell], lay: _Layout) -> list[Text]:
    from matplotlib.collections import PolyCollection

    if not cells:
        return []
    colours = _cell_colours(cells, figure)
    places, fills = _rectangles(cells, colours)
    # edges in the colour of the cell: no light seams between cells in PDF viewers
    axes.add_collection(
        PolyCollection(places, facecolors=fills, edgecolors=fills, linewidths=0.3),
        autolim=False,
    )
    across = len({cell.x for cell in cells})
    down = len({cell.y for cell in cells})
    # no figures where they do not fit or where lines would cross them
    if lay.width / across < 0.3 or lay.height / down < 0.18 or figure.curves:
        return []
    return [
        axes.text(
            cell.x, cell.y, cell.text,
            ha="center", va="center", fontsize=7.5,
            color="white" if _dark(colour) else style.INK,
        )
        for cell, colour in zip(cells, colours, strict=True)
        if cell.text
    ]  # fmt: skip


def _rectangles(
    cells: Sequence[Cell], colours: Sequence[Any]
) -> tuple[list[list[tuple[float, float]]], list[Any]]:
    """Return corners and colours of cells, those of one colour side by side as one rectangle."""
    boxes: list[tuple[float, float, float, float]] = []
    fills: list[Any] = []
    for cell, colour in zip(cells, colours, strict=True):
        box = (cell.left, cell.right, cell.bottom, cell.top)
        if boxes and fills[-1] == colour and boxes[-1][1:] == (cell.left, *box[2:]):
            boxes[-1] = (boxes[-1][0], *box[1:])
        else:
            boxes.append(box)
            fills.append(colour)
    return [[(x, low), (end, low), (end, top), (x, top)] for x, end, low, top in boxes], fills


def _cell_colours(cells: Sequence[Cell], figure: Figure) -> list[Any]:
    if figure.scale is None:
        return [style.tone_colour(cell.tone or "none") for cell in cells]
    low, high = figure.scale.low, figure.scale.high
    shares = (np.array([cell.value for cell in cells]) - low) / (high - low)
    scaled = _scale()(np.clip(shares, 0.0, 1.0))
    return [
        style.tone_colour(cell.tone) if cell.tone else tuple(colour)
        for cell, colour in zip(cells, scaled, strict=True)
    ]


def _dark(colour: Any) -> bool:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5


def _curve(axes: Axes, curve: Curve) -> None:
    if curve.low != curve.y or curve.high != curve.y:
        axes.fill_between(
            curve.x, curve.low, curve.high, color=style.MUTED, alpha=0.13, linewidth=0
        )
    look = _look(curve)
    if curve.role in ("change", "range"):  # seen on dark cells too
        axes.plot(curve.x, curve.y, color="white", linewidth=look["linewidth"] + 1.6, alpha=0.7)
    axes.plot(curve.x, curve.y, **look)


def _look(curve: Curve) -> dict[str, Any]:
    if curve.role == "model":
        return {"color": style.INK, "linewidth": 1.1,
                "linestyle": _DASHES[curve.shape % len(_DASHES)]}  # fmt: skip
    if curve.role == "change":
        return {"color": style.INK, "linewidth": 1.8}
    return {"color": style.INK if curve.role == "range" else style.MUTED, "linewidth": 1.1,
            "linestyle": ":"}  # fmt: skip


def _points(axes: Axes, points: list[Point]) -> list[Text]:
    draw_marks(axes, points, _SOLID, _HOLLOW)
    return [
        axes.annotate(point.label, (point.x, point.y), xytext=(6, -9), fontsize=7.5,
                      textcoords="offset points", color=style.MUTED)
        for point in points
        if point.label
    ]  # fmt: skip


def _handles(figure: Figure) -> list[Any]:
    """Return the entries of the key: colours, then lines, each once."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    tones = dict.fromkeys(cell.tone for cell in figure.cells if cell.tone)
    handles: list[Any] = [
        Patch(facecolor=style.tone_colour(tone), label=_tone_name(tone)) for tone in tones
    ]
    handles += [
        Line2D([], [], linestyle="none", marker="o", markersize=6, color=style.tone_colour(tone),
               label=_tone_name(tone))
        for tone in dict.fromkeys(point.tone for point in figure.points)
    ]  # fmt: skip
    looks: dict[str, Curve] = {}
    for curve in figure.curves:
        looks.setdefault(_curve_name(curve), curve)
    shapes = {point.shape for point in figure.points}
    for name, curve in looks.items():
        marker: dict[str, Any] = {
            "marker": style.MARKERS[curve.shape % len(style.MARKERS)],
            "markersize": 4.2,
            "markerfacecolor": "white",
        }
        drawn = curve.role == "model" and curve.shape in shapes
        handles.append(Line2D([], [], label=name, **_look(curve), **(marker if drawn else {})))
    return handles


def _tone_name(tone: str) -> str:
    return "not modelled" if tone == "none" else tone


def _curve_name(curve: Curve) -> str:
    names = {"change": "change of bound, solved", "range": "over the published floors"}
    return names.get(curve.role, shorten(curve.label, 40))


def _key(canvas: Canvas, figure: Figure, handles: list[Any], lay: _Layout) -> list[Text]:
    """Draw the key below the blocks, and the bar of a scale below that."""
    found: list[Text] = []
    low = 0.12 + 0.17 * len(figure.notes) + 0.06
    if figure.scale is not None:
        bar = canvas.add_axes(
            (_LEFT / _WIDTH, (low + 0.2) / lay.canvas, 3.4 / _WIDTH, 0.12 / lay.canvas)
        )
        bar.imshow(np.linspace(0, 1, 256)[None, :], aspect="auto", cmap=_scale(),
                   extent=(figure.scale.low, figure.scale.high, 0, 1))  # fmt: skip
        bar.set_yticks([])
        ticks = np.linspace(figure.scale.low, figure.scale.high, 5)
        bar.set_xticks(ticks, [f"{tick:g} {figure.scale.unit}" for tick in ticks])
        bar.tick_params(length=2, labelsize=8)
        found.append(
            canvas.text((_LEFT + 3.6) / _WIDTH, (low + 0.26) / lay.canvas, figure.scale.label,
                        fontsize=8.5, va="center", color=style.MUTED)
        )  # fmt: skip
        low += 0.42
    if handles:
        legend = canvas.legend(
            handles=handles, loc="lower left", ncols=_per_line(), frameon=False, fontsize=8.3,
            bbox_to_anchor=((_LEFT - 0.1) / _WIDTH, low / lay.canvas), borderpad=0.1,
            borderaxespad=0.0, labelspacing=0.35,
        )  # fmt: skip
        found += legend.get_texts()
    return found
