"""Interactive figures of the page: a Bokeh plot each, with the data that its script needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from roofline.hardware.model import Hardware
from roofline.plots.figure import Figure, Line, Point
from roofline.plots.roofs import every_roof

__all__ = ["Panel", "panel_of"]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One figure of the page: ``plots`` as (Bokeh model, heading, note), ``data`` for the script.

    ``kind`` is ``plane``, ``spans`` or ``timeline``.
    """

    key: str
    kind: str
    title: str
    subtitle: str
    notes: tuple[str, ...]
    plots: tuple[tuple[Any, str, str], ...]
    data: dict[str, Any]


def panel_of(figure: Figure, hardware: Hardware | None = None) -> Panel:
    """Return the panel of a figure. With ``hardware`` a plane of FLOP or passes gets all its roofs.

    No library is loaded before this is called.
    """
    if figure.lanes:
        return _timeline(figure)
    if figure.spans:
        return _spans(figure)
    from roofline.plots.page.plane import plane_model

    # the shortest time is the smallest mark: drawn last, no larger one hides it
    figure = replace(figure, points=tuple(sorted(figure.points, key=lambda one: -one.time_s)))
    unit = {"FLOP/B": "FLOP", "pass/B": "pass"}.get(figure.x.unit, "")
    roofs: tuple[Line, ...] = ()
    if hardware is not None and unit:
        roofs = every_roof(hardware, unit, figure.x)
    return Panel(
        key=figure.key,
        kind="plane",
        title=figure.title,
        subtitle=figure.subtitle,
        notes=figure.notes,
        plots=((plane_model(figure, roofs), "", ""),),
        data={
            "x": f"{figure.x.label} ({figure.x.unit})",
            "y": f"{figure.y.label} ({figure.y.unit})" if figure.y else "",
            "points": pooled(figure.points),
            "shown_roofs": [line.key for line in figure.lines],
        },
    )


def pooled(points: Sequence[Point]) -> dict[str, Any]:
    """Return texts of points with each distinct text once: ten thousand points stay small."""
    pool: dict[str, int] = {}

    def index(text: str) -> int:
        return pool.setdefault(text, len(pool))

    rows = [
        [
            index(point.key),
            index(point.group or point.key),
            *(index(text) for pair in point.detail for text in pair),
        ]
        for point in points
    ]
    return {"pool": list(pool), "rows": rows}


def _spans(figure: Figure) -> Panel:
    from roofline.plots.page.spans import span_models

    groups = figure.groups or ((0, "", ""),)
    return Panel(
        key=figure.key,
        kind="spans",
        title=figure.title,
        subtitle=figure.subtitle,
        notes=figure.notes,
        plots=tuple(
            (model, title, note)
            for model, (_, title, note) in zip(span_models(figure), groups, strict=True)
        ),
        data={
            "rows": [
                [_group(figure, span.row), span.label, span.text, span.share, span.source]
                for span in figure.spans
            ]
        },
    )


def _timeline(figure: Figure) -> Panel:
    from roofline.plots.page.timeline import lane_data, timeline_models

    starts = [row for row, _, _ in figure.groups]
    ends = [*starts[1:], len(figure.lanes)]
    return Panel(
        key=figure.key,
        kind="timeline",
        title=figure.title,
        subtitle=figure.subtitle,
        notes=figure.notes,
        plots=tuple(
            (model, title, note)
            for model, (_, title, note) in zip(timeline_models(figure), figure.groups, strict=True)
        ),
        data={
            "titles": [title for _, title, _ in figure.groups],
            "blocks": [
                lane_data(figure.lanes[start:end]) for start, end in zip(starts, ends, strict=True)
            ],
        },
    )


def _group(figure: Figure, row: int) -> str:
    return next((title for start, title, _ in reversed(figure.groups) if start <= row), "")
