"""What every matplotlib figure is drawn on: canvas, axes, ticks and heading; no global state."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from roofline.plots import style
from roofline.plots.figure import Axis, Figure
from roofline.units import format_count, format_si

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.text import Text

__all__ = [
    "FORMATS",
    "Drawing",
    "add_heading",
    "new_canvas",
    "new_stack",
    "set_axis",
    "settings",
    "text_sizes",
    "write_canvas",
]

FORMATS = ("svg", "png", "pdf")

_DPI = 144
_SHORT_DECADES = 3.0
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


class Drawing(NamedTuple):
    """A drawn figure: the matplotlib figure, its axes, and every label that must stay apart."""

    canvas: Canvas
    axes: Axes
    labels: tuple[Text, ...]


def write_canvas(canvas: Canvas, path: Path) -> None:
    """Write a drawn figure in the format of the suffix of ``path``, without a date in it."""
    suffix = path.suffix.removeprefix(".")
    canvas.savefig(path, dpi=_DPI, metadata=_METADATA[suffix], facecolor="white")


@contextmanager
def settings() -> Iterator[None]:
    """Draw and save inside this: the settings of every figure, and no global state."""
    import matplotlib as mpl

    with mpl.rc_context(style.RC), warnings.catch_warnings():
        # a kernel may be named in any script: a box stands for a glyph that the font lacks
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        yield


def set_axis(axes: Axes, name: str, axis: Axis) -> None:
    """Give one axis its scale and limits, ticks in SI prefixes, and its label.

    Sizes (unit ``1``) are written out.
    """
    ticks = list(axis.ticks) or _ticks(axis)
    texts = [_tick_text(value, axis.unit) for value in ticks]
    unit = "" if axis.unit in ("s", "1") else f", {axis.unit}"
    if name == "x":
        axes.set_xscale(axis.scale)
        axes.set_xlim(axis.low, axis.high)
        axes.set_xticks(ticks, texts)
        axes.set_xlabel(f"{axis.label}{unit}")
        axes.xaxis.set_minor_locator(_no_ticks())
    else:
        axes.set_yscale(axis.scale)
        axes.set_ylim(axis.low, axis.high)
        axes.set_yticks(ticks, texts)
        axes.set_ylabel(f"{axis.label}{unit}")
        axes.yaxis.set_minor_locator(_no_ticks())


def add_heading(canvas: Canvas, figure: Figure, left: float, height: float) -> None:
    """Write title, subtitle and notes; positions are in inches from the edges."""
    canvas.text(left, 1 - 0.27 / height, figure.title, fontsize=13, fontweight="bold", va="center")
    canvas.text(
        left, 1 - 0.51 / height, figure.subtitle, fontsize=9.5, color=style.MUTED, va="center"
    )
    for line, note in enumerate(reversed(figure.notes)):
        canvas.text(
            left,
            (0.12 + 0.17 * line) / height,
            note,
            fontsize=7.5,
            color=style.MUTED,
            va="center",
        )


def new_canvas(width: float, height: float) -> Canvas:
    """Return an empty figure of a size in inches with an Agg canvas."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as MplFigure

    canvas = MplFigure(figsize=(width, height), dpi=_DPI)
    FigureCanvasAgg(canvas)
    return canvas


def new_stack(
    figure: Figure, body: float, *, width: float, left: float, right: float, top: float
) -> tuple[Canvas, Axes]:
    """Return a canvas with a heading and one pair of axes for rows stacked downwards.

    Sizes are in inches; y of the axes counts inches from the top of the ``body``.
    """
    bottom = 0.62 + 0.17 * len(figure.notes)
    height = top + body + bottom
    canvas = new_canvas(width, height)
    axes = canvas.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, body / height)
    )
    set_axis(axes, "x", figure.x)
    axes.set_ylim(body, 0)
    axes.set_yticks([])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, axis="x", color=style.FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    add_heading(canvas, figure, 0.18 / width, height)
    return canvas, axes


def text_sizes(canvas: Canvas, texts: Sequence[Text]) -> list[tuple[float, float]]:
    """Return (width, height) of texts in screen units."""
    renderer = canvas.canvas.get_renderer()  # type: ignore[attr-defined]
    boxes = [text.get_window_extent(renderer) for text in texts]
    return [(box.width, box.height) for box in boxes]


def _tick_text(value: float, unit: str) -> str:
    if unit == "1":
        return format_count(value)
    if unit in ("FLOP/B", "pass/B", "%"):
        return f"{value:g}"
    return format_si(value, "s" if unit == "s" else "").strip()


def _ticks(axis: Axis) -> list[float]:
    """Return decades, thinned out on long axes; on short ones 1, 2 and 5 of each."""
    if axis.scale == "linear":
        return _even_ticks(axis)
    low, high = math.log10(axis.low), math.log10(axis.high)
    step = max(1, math.ceil((high - low) / 11))
    steps = (1.0, 2.0, 5.0) if high - low < _SHORT_DECADES else (1.0,)
    ticks = [
        factor * 10.0**power
        for power in range(math.floor(low), math.floor(high) + 1, step)
        for factor in steps
    ]
    return [tick for tick in ticks if axis.low <= tick <= axis.high]


def _even_ticks(axis: Axis) -> list[float]:
    """Return 4 to 10 even ticks at 1, 2 or 5 times a power of ten."""
    rough = (axis.high - axis.low) / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough)
    first, last = math.ceil(axis.low / step), math.floor(axis.high / step)
    return [number * step for number in range(first, last + 1)]


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()
