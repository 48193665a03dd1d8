"""A table of a query as text, JSON and CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

from roofline.report.bars import table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["table_csv", "table_record", "table_text"]

_ROWS_SHOWN: Final = 100


def table_record(found: pa.Table) -> dict[str, Any]:
    """Return the rows as JSON values, the number of rows beside them."""
    return {
        "rows": found.num_rows,
        "columns": found.column_names,
        "values": [[_plain(value) for value in row.values()] for row in found.to_pylist()],
    }


def table_csv(found: pa.Table) -> str:
    """Return all rows as CSV; a null is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(found.column_names)
    writer.writerows(row.values() for row in found.to_pylist())
    return out.getvalue().rstrip("\n")


def table_text(found: pa.Table) -> str:
    """Return the first rows as aligned text, and how many more there are."""
    rows = [
        ["null" if value is None else str(value) for value in row.values()]
        for row in found.slice(0, _ROWS_SHOWN).to_pylist()
    ]
    lines = table(found.column_names, rows)
    if found.num_rows > _ROWS_SHOWN:
        lines.append(f"and {found.num_rows - _ROWS_SHOWN} more; --csv or --json print all")
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value if value == value else None
    return str(value)
