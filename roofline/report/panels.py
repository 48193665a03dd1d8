"""Interactive figures of the page: a Bokeh plot each, with the data that its script needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from roofline.hardware.model import Hardware
from roofline.plots import style
from roofline.plots.figure import Axis, Cell, Figure, Line, Point
from roofline.plots.roofs import every_roof

__all__ = ["Panel", "panel_of", "pooled"]

Entry = tuple[str, tuple[tuple[str, str], ...]]
"""What a reader may want to know of a mark: its name, and (name, text)."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One figure of the page: ``plots`` as (Bokeh model, heading, note), ``data`` for the script.

    ``kind`` is ``plane``, ``spans``, ``timeline`` or ``blocks``. ``about`` has an entry for each
    point or cell.
    """

    key: str
    kind: str
    title: str
    subtitle: str
    notes: tuple[str, ...]
    plots: tuple[tuple[Any, str, str], ...]
    data: dict[str, Any]
    about: tuple[Entry, ...] = ()


def panel_of(figure: Figure, hardware: Hardware | None = None) -> Panel:
    """Return the panel of a figure. With ``hardware`` a plane of FLOP or passes gets all its roofs.

    No library is loaded before this is called.
    """
    if figure.cells or figure.curves:
        return _blocks(figure)
    if figure.lanes:
        return _timeline(figure)
    if figure.spans:
        return _spans(figure)
    from roofline.plots.page.plane import plane_model

    # the shortest time is the smallest mark: drawn last, no larger one hides it
    groups = list(dict.fromkeys(point.group or point.key for point in figure.points))
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
            "x": _axis_name(figure.x),
            "y": _axis_name(figure.y),
            "groups": groups,
            "shown_roofs": [line.key for line in figure.lines],
        },
        about=_entries(figure.points),
    )


def _axis_name(axis: Axis | None) -> str:
    if axis is None or axis.unit == "1":
        return axis.label if axis else ""
    return f"{axis.label} ({axis.unit})"


def _entries(marks: Sequence[Point] | Sequence[Cell]) -> tuple[Entry, ...]:
    return tuple((mark.key, mark.detail) for mark in marks)


def pooled(panels: Sequence[Panel]) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Return the entries of all panels with each once, and which of them each panel has, in order.

    A point is in several figures, and points share most of their texts: ten thousand stay small.
    """
    texts: dict[str, int] = {}
    names: dict[tuple[str, ...], int] = {}
    rows: dict[Entry, int] = {}
    lines: list[list[int]] = []
    for entry in (entry for panel in panels for entry in panel.about):
        if entry in rows:
            continue
        rows[entry] = len(rows)
        key, detail = entry
        kind = names.setdefault(tuple(name for name, _ in detail), len(names))
        said = (key, *(text for _, text in detail))
        lines.append([kind, *(texts.setdefault(text, len(texts)) for text in said)])
    about = {"texts": list(texts), "names": list(names), "rows": lines}
    return about, {panel.key: [rows[entry] for entry in panel.about] for panel in panels}


def _panel(
    figure: Figure,
    kind: str,
    models: Sequence[Any],
    *,
    data: dict[str, Any],
    notes: tuple[str, ...] = (),
    about: tuple[Entry, ...] = (),
) -> Panel:
    """Return a panel of one plot a group, each under the title of its group."""
    groups = figure.groups or ((0, "", ""),)
    return Panel(
        key=figure.key,
        kind=kind,
        title=figure.title,
        subtitle=figure.subtitle,
        notes=(*figure.notes, *notes),
        plots=tuple(
            (model, title, note) for model, (_, title, note) in zip(models, groups, strict=True)
        ),
        data=data,
        about=about,
    )


def _blocks(figure: Figure) -> Panel:
    from roofline.plots.page.blocks import block_models

    groups = figure.groups or ((0, "", ""),)
    marks = figure.cells or figure.points
    scale = figure.scale
    return _panel(
        figure,
        "blocks",
        block_models(figure),
        data={
            "titles": [title for _, title, _ in groups],
            "scale": scale
            and {"label": scale.label, "unit": scale.unit, "low": scale.low, "high": scale.high,
                 "colours": style.SCALE},
            "lines": _line_names(figure),
        },
        about=_entries(marks),
    )  # fmt: skip


def _line_names(figure: Figure) -> list[tuple[str, str, int]]:
    """Return (name, role, shape) of what the key of lines names, each once."""
    names = {"change": "change of bound, solved", "range": "over the published floors"}
    return list(
        dict.fromkeys(
            (names.get(curve.role, curve.label), curve.role, curve.shape if curve.role == "model"
             else -1)
            for curve in figure.curves
        )
    )  # fmt: skip


def _spans(figure: Figure) -> Panel:
    from roofline.plots.page.spans import span_models

    return _panel(
        figure,
        "spans",
        span_models(figure),
        notes=(f"percent: {figure.share_words}",) if figure.share_words else (),
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
    return _panel(
        figure,
        "timeline",
        timeline_models(figure),
        data={
            "titles": [title for _, title, _ in figure.groups],
            "blocks": [
                lane_data(figure.lanes[start:end]) for start, end in zip(starts, ends, strict=True)
            ],
        },
    )


def _group(figure: Figure, row: int) -> str:
    return next((title for start, title, _ in reversed(figure.groups) if start <= row), "")
