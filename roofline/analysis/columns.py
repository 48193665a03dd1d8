"""Arrow columns as numpy arrays: codes of strings, integers with a mask, never a Python row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from roofline.errors import MissingTableError
from roofline.intervals import Int64Array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["codes", "floats", "has", "integers", "known"]

BoolArray = npt.NDArray[np.bool_]


def has(table: pa.Table, *names: str) -> bool:
    """Whether the table holds every one of the columns."""
    return all(name in table.column_names for name in names)


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        held = ", ".join(table.column_names) or "none"
        raise MissingTableError(f"the capture has no column {name!r}; held: {held}")
    return table.column(name)


def codes(table: pa.Table, name: str) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Return a string column as codes and names; a null is code -1.

    A column of numbers or booleans is coded by the text of its values.
    """
    import pyarrow as pa

    column = _column(table, name)
    if not pa.types.is_dictionary(column.type):
        if not pa.types.is_string(column.type):
            column = column.cast(pa.string())
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    names = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    parts = [
        (chunk.indices.fill_null(-1) if chunk.null_count else chunk.indices).to_numpy(
            zero_copy_only=False
        )
        for chunk in column.chunks
    ]
    found = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0)
    return found.astype(np.int32, copy=False), [str(each) for each in names]


def integers(table: pa.Table, name: str) -> Int64Array:
    """Return an integer column as int64; nulls become 0 (see ``known`` for the mask)."""
    import pyarrow as pa

    column = _column(table, name)
    if column.type != pa.int64():
        column = column.cast(pa.int64())
    if column.null_count:
        column = column.fill_null(0)
    if column.num_chunks == 1:
        return np.asarray(column.chunk(0).to_numpy(zero_copy_only=False), np.int64)
    return np.asarray(column.to_numpy(), np.int64)


def floats(table: pa.Table, name: str) -> npt.NDArray[np.float64]:
    """Return a number column as float64; nulls become NaN. Never for times."""
    import pyarrow as pa

    column = _column(table, name).cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(), np.float64)


def known(table: pa.Table, name: str) -> BoolArray:
    """Return where a column has a value; all False where the table has no such column."""
    if name not in table.column_names:
        return np.zeros(table.num_rows, np.bool_)
    column = table.column(name)
    if not column.null_count:
        return np.ones(table.num_rows, np.bool_)
    return np.asarray(column.is_valid().to_numpy(), np.bool_)
