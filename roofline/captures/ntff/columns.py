"""Columns of the tables: name, type, unit, meaning, and how each is made from decoded rows.

A table is built from the columns that are asked for, so an unused column costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.errors import MissingTableError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Column", "build_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: ``make`` returns its Arrow array, or ``None`` where it cannot be known at all."""

    name: str
    make: Callable[[], Any]
    meaning: str
    unit: str = ""


def build_table(name: str, columns: Sequence[Column], wanted: Sequence[str] | None) -> pa.Table:
    """Build an Arrow table of ``wanted`` columns (all where ``None``) with units as metadata.

    Field metadata carries ``units`` (where there is one) and ``long_name``.
    """
    import pyarrow as pa

    held: Mapping[str, Column] = {column.name: column for column in columns}
    chosen = list(held) if wanted is None else list(dict.fromkeys(wanted))
    arrays, fields = [], []
    for key in chosen:
        column = held.get(key)
        array = column.make() if column is not None else None
        if column is None or array is None:
            if wanted is None:
                continue
            raise MissingTableError(
                f"table {name!r} has no column {key!r}; held: {', '.join(held)}"
            )
        metadata = {"long_name": column.meaning}
        if column.unit:
            metadata["units"] = column.unit
        arrays.append(array)
        fields.append(pa.field(key, array.type, metadata=metadata))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
