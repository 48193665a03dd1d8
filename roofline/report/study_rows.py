"""Which rows of a study a table shows, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.plots.describe import shown_rows
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row

__all__ = ["distinct_rows", "noun", "row_name", "some_rows"]

_MOST_ROWS = 16  # of a table in the text; points.csv holds every one


def distinct_rows(rows: Sequence[Row]) -> list[Row]:
    """Return one row a variant, label and config."""
    return list({row.key: row for row in rows}.values())


def some_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows a table of the text shows."""
    return rows if len(rows) <= _MOST_ROWS else shown_rows(rows, most=_MOST_ROWS)


def noun(result: StudyResult) -> str:
    """Return what the rows of a result are; a trace beside captures has a row an operator."""
    if result.kind == "capture" and result.captures:
        return "captures" if len(result.rows) == len(result.captures) else "rows"
    return "operators" if result.kind == "trace" else "variants"


def row_name(row: Row, result: StudyResult) -> str:
    """Return what tells a row from the others of its result: the config only where it does."""
    if result.kind == "capture" or len(result.study.configs) == 1:
        return row.measurement.key
    return row.key
