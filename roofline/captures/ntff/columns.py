"""Columns of the tables: name, type, unit, meaning, and how each is made from decoded rows.

A table is built from the columns that are asked for, so an unused column costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy.typing as npt

from roofline.captures.ntff.records import floor_ns
from roofline.errors import MissingTableError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CORE", "Column", "array", "build_table", "time_columns"]


CORE: Final = "physical core inside the logical core, in the order of the file"


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


def array(values: npt.NDArray[Any]) -> Any:
    """Return values as an Arrow array, without a copy where possible."""
    import pyarrow as pa

    return pa.array(values)


def time_columns(
    start: npt.NDArray[Any], end: npt.NDArray[Any], *, end_what: str = "end"
) -> list[Column]:
    """Return start, end and duration columns in ns and ps."""
    return [
        Column(
            name="start_ts",
            make=lambda: array(floor_ns(start)),
            meaning="start",
            unit="ns",
        ),
        Column(name="end_ts", make=lambda: array(floor_ns(end)), meaning=end_what, unit="ns"),
        Column(
            name="duration_ns",
            make=lambda: array(floor_ns(end - start)),
            meaning="whole ns of the difference in ps, which may exceed end_ts - start_ts",
            unit="ns",
        ),
        Column(name="start_ps", make=lambda: array(start), meaning="start", unit="ps"),
        Column(name="end_ps", make=lambda: array(end), meaning=end_what, unit="ps"),
    ]
