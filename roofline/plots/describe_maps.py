"""Describe a sweep as maps over two sizes: share of the roof, or what bounds each point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from roofline.errors import QueryError
from roofline.plots.figure import Axis, Cell, Curve, Figure
from roofline.plots.sweep_view import (
    Row,
    SweepView,
    cell_edges,
    details,
    name_of,
    series_of,
    size_axis,
    varying,
)

__all__ = ["Crossing", "describe_map"]

Crossing = tuple[str, Mapping[str, Any], int, "int | None", "int | None"]
"""(dim, where and from what to what, at, low, high) of a change of bound; low and high are its
range over the published floors, ``None`` outside the sweep."""

_TITLES: Final = {"heat": "Percent of roof over two sizes",
                  "bounds": "What bounds each point, over two sizes"}  # fmt: skip

_CHANGES: Final = (
    "line: where the bound changes, solved to the size; dotted: its range over the published "
    "floors of one execution"
)


def describe_map(view: SweepView, kind: str, crossings: Sequence[Crossing] = ()) -> Figure:
    """Return a map for each hardware, dtype and variant: ``heat`` or ``bounds``.

    Raises ``QueryError`` unless just two sizes vary.
    """
    sizes = varying(view)
    if len(sizes) != 2:
        raise QueryError(
            f"a {kind} map needs two sizes that vary, not {sizes}; draw curves instead"
        )
    down, across = sizes
    blocks = series_of(view.rows)
    edges = {name: _edges([row[name] for row in view.rows]) for name in sizes}
    notes = {"heat": ("percent of roof: lower bound over estimate",), "bounds": ()}[kind]
    if crossings:
        notes = (*notes, _CHANGES)
    return Figure(
        key=kind,
        title=_TITLES[kind],
        subtitle=view.title,
        x=size_axis(across, [row[across] for row in view.rows], cells=True),
        y=size_axis(down, [row[down] for row in view.rows], cells=True),
        scale=Axis(label="percent of roof", unit="%", low=0.0, high=100.0, scale="linear")
        if kind == "heat"
        else None,
        cells=tuple(
            _cell(row, at, (across, down), edges, kind, view.sizes)
            for at, rows in enumerate(blocks.values())
            for row in rows
        ),
        curves=tuple(
            curve
            for at, key in enumerate(blocks)
            for curve in _changes(at, key, (across, down), edges, crossings)
        ),
        groups=tuple((at, " ".join(key), "") for at, key in enumerate(blocks)),
        notes=(*notes, *view.notes),
    )


def _edges(values: Sequence[int]) -> dict[int, tuple[float, float]]:
    sizes = sorted(set(values))
    edges = cell_edges(sizes)
    return dict(zip(sizes, pairwise(edges), strict=True))


def _cell(
    row: Row,
    at: int,
    axes: tuple[str, str],
    edges: Mapping[str, Mapping[int, tuple[float, float]]],
    kind: str,
    sizes: Sequence[str],
) -> Cell:
    across, down = axes
    (left, right), (bottom, top) = edges[across][row[across]], edges[down][row[down]]
    share = row["percent_of_roof"]
    tone = (row["bound"] or "none") if kind == "bounds" else ("none" if share is None else "")
    return Cell(
        key=name_of(row, sizes),
        row=at,
        x=float(row[across]),
        y=float(row[down]),
        left=left,
        right=right,
        bottom=bottom,
        top=top,
        tone=tone,
        value=share or 0.0,
        text="" if share is None or kind == "bounds" else f"{share:.0f}" if share >= 0.5 else "<1",
        detail=details(row),
    )


def _changes(
    at: int,
    key: tuple[str, ...],
    axes: tuple[str, str],
    edges: Mapping[str, Mapping[int, tuple[float, float]]],
    crossings: Sequence[Crossing],
) -> Iterator[Curve]:
    """Yield the solved changes of bound of one map, each with its range as two more curves."""
    across, down = axes
    for along, other in ((across, down), (down, across)):
        own = sorted(
            (c for c in crossings
             if c[0] == along and c[1].get(other) in edges[other]
             and tuple(str(c[1].get(name)) for name in ("hardware", "dtype", "variant")) == key),
            key=lambda c: c[1][other],
        )  # fmt: skip
        ends = list(edges[along].values())
        first, last = ends[0][0], ends[-1][1]
        for change in dict.fromkeys(str(c[1].get("change", "")) for c in own):
            line = [c for c in own if str(c[1].get("change", "")) == change]
            places = tuple(float(c[1][other]) for c in line)
            for role, values in (
                ("change", [c[2] for c in line]),
                ("range", [first if c[3] is None else c[3] for c in line]),
                ("range", [last if c[4] is None else c[4] for c in line]),
            ):
                found = tuple(float(value) for value in values)
                x, y = (found, places) if along == across else (places, found)
                yield Curve(key=change, row=at, label=change, role=role, x=x, y=y, low=y, high=y)
