"""Draw figure descriptions with matplotlib, without pyplot and without global state."""

from __future__ import annotations

from pathlib import Path

from roofline.errors import QueryError
from roofline.plots.canvas import FORMATS, Drawing, settings, write_canvas
from roofline.plots.draw_blocks import draw_blocks
from roofline.plots.draw_ladder import draw_ladder
from roofline.plots.draw_lanes import draw_lanes
from roofline.plots.draw_plane import draw_plane
from roofline.plots.figure import Figure

__all__ = ["draw", "save"]


def draw(figure: Figure) -> Drawing:
    """Return ``figure`` drawn; the caller saves or inspects it."""
    with settings():
        if figure.cells or figure.curves:
            return draw_blocks(figure)
        if figure.lanes:
            return draw_lanes(figure)
        return draw_ladder(figure) if figure.spans else draw_plane(figure)


def save(figure: Figure, *paths: Path) -> None:
    """Write ``figure`` in the format of each suffix; the same figure, the same bytes."""
    for path in paths:
        if path.suffix.removeprefix(".") not in FORMATS:
            known = ", ".join(FORMATS)
            raise QueryError(f"{path}: unknown figure format {path.suffix!r}; known: {known}")
    drawing = draw(figure)
    with settings():
        for path in paths:
            write_canvas(drawing.canvas, path)
