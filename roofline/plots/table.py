"""A figure as CSV and back: the table behind a figure rebuilds it exactly."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from roofline.errors import QueryError
from roofline.plots.figure import Axis, Cell, Curve, Figure, Lane, Line, Point, Span

__all__ = ["figure_csv", "figure_from_csv"]

_MARKS: Final[dict[str, type]] = {"line": Line, "point": Point, "span": Span, "lane": Lane,
                                  "curve": Curve, "cell": Cell}  # fmt: skip
_AXES: Final = {"x": "axis x", "y": "axis y", "scale": "scale"}
_SERIES: Final = {"line": ("x", "y"), "lane": ("working", "active"),
                  "curve": ("x", "y", "low", "high")}  # fmt: skip
"""Fields with a row each value; all other fields stand in the first of these rows."""

_NESTED: Final = ("detail", "ticks")
"""Fields that are lists, in one cell."""

_HEAD: Final = ("mark", "number")


def figure_csv(figure: Figure) -> str:
    """Return ``figure`` as CSV: a row for each vertex, point, span, bin and cell, and its texts.

    Column ``mark`` names what a row belongs to, ``number`` counts within it. Numbers have all
    their digits. ``figure_from_csv`` gives the same figure back.
    """
    rows = list(_rows(figure))
    columns = list(dict.fromkeys((*_HEAD, *(name for row in rows for name in row))))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row.get(name, "") for name in columns] for row in rows)
    return text.getvalue()


def figure_from_csv(text: str) -> Figure:
    """Return the figure of a table that ``figure_csv`` made; ``QueryError`` for any other text."""
    try:
        return _figure(list(csv.DictReader(io.StringIO(text, newline=""))))
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise QueryError(f"not the table of a figure: {error}") from error


def _rows(figure: Figure) -> Iterator[dict[str, Any]]:
    yield {"mark": "figure", "key": figure.key, "label": figure.title, "text": figure.subtitle}
    for name, mark in _AXES.items():
        if (axis := getattr(figure, name)) is not None:
            yield {"mark": mark, **_texts(axis)}
    for row, title, note in figure.groups:
        yield {"mark": "group", "row": str(row), "label": title, "text": note}
    for note in figure.notes:
        yield {"mark": "note", "text": note}
    for mark in _MARKS:
        series = _SERIES.get(mark, ())
        for number, one in enumerate(getattr(figure, f"{mark}s")):
            texts = {name: text for name, text in _texts(one).items() if name not in series}
            if not series:
                yield {"mark": mark, "number": number, **texts}
                continue
            for at, values in enumerate(zip(*(getattr(one, n) for n in series), strict=True)):
                drawn = dict(zip(series, map(repr, values), strict=True))
                yield {"mark": mark, "number": number, **(texts if at == 0 else {}), **drawn}


def _texts(one: Any) -> dict[str, str]:
    found = {}
    for field in fields(one):
        value = getattr(one, field.name)
        if field.name in _NESTED:
            found[field.name] = json.dumps(value, ensure_ascii=False)
        elif isinstance(value, str):
            found[field.name] = value
        elif not isinstance(value, tuple):
            found[field.name] = repr(value)
    return found


def _figure(rows: list[dict[str, str]]) -> Figure:
    by_mark: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_mark.setdefault(row["mark"], []).append(row)
    head = by_mark["figure"][0]
    axes = {name: _made(Axis, by_mark[mark][0]) for name, mark in _AXES.items()
            if mark in by_mark}  # fmt: skip
    return Figure(
        key=head["key"],
        title=head["label"],
        subtitle=head["text"],
        x=axes["x"],
        y=axes.get("y"),
        scale=axes.get("scale"),
        groups=tuple((int(r["row"]), r["label"], r["text"]) for r in by_mark.get("group", ())),
        notes=tuple(row["text"] for row in by_mark.get("note", ())),
        **{f"{mark}s": tuple(_marks(mark, by_mark.get(mark, []))) for mark in _MARKS},
    )


def _marks(mark: str, rows: list[dict[str, str]]) -> Iterator[Any]:
    together: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        together.setdefault(row["number"], []).append(row)
    for members in together.values():
        series = {
            name: tuple(_number(row[name]) for row in members) for name in _SERIES.get(mark, ())
        }
        yield _made(_MARKS[mark], members[0], **series)


def _made(kind: type, row: dict[str, str], **known: Any) -> Any:
    values = dict(known)
    for field in fields(kind):
        if field.name in values:
            continue
        text = row[field.name]
        if field.name in _NESTED:
            entries = json.loads(text)
            values[field.name] = tuple(tuple(e) if isinstance(e, list) else e for e in entries)
        elif field.type == "bool":
            values[field.name] = {"True": True, "False": False}[text]
        else:
            values[field.name] = text if field.type == "str" else _number(text)
    return kind(**values)


def _number(text: str) -> int | float:
    """Return a number as it was written: whole ones have no point."""
    return int(text) if text.lstrip("-").isdigit() else float(text)
