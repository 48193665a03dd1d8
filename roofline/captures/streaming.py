"""Read a table of a capture piece by piece, for tables larger than memory should hold at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from roofline.captures.capture import Capture
from roofline.captures.decoding import decoding
from roofline.captures.plausible import check_numbers
from roofline.errors import MissingTableError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PiecewiseSource", "column_names", "count_rows", "iter_pieces"]


@runtime_checkable
class PiecewiseSource(Protocol):
    """A table source that can also give its table in pieces."""

    @property
    def column_names(self) -> Sequence[str]:
        """Columns the table can give."""

    @property
    def num_rows(self) -> int:
        """Rows of the whole table."""

    def pieces(
        self, columns: Sequence[str] | None, window: tuple[int, int] | None
    ) -> Iterator[pa.Table]:
        """Yield the table in pieces of file order; see ``iter_pieces``."""


def column_names(capture: Capture, name: str) -> tuple[str, ...]:
    """Return the columns of a table, decoding no rows where the format allows it."""
    source: object = capture.sources.get(name)
    if isinstance(source, PiecewiseSource):
        return tuple(source.column_names)
    return tuple(capture.table(name).column_names)


def count_rows(capture: Capture, name: str) -> int:
    """Return the rows of a table, decoding none where the format allows it."""
    source: object = capture.sources.get(name)
    return source.num_rows if isinstance(source, PiecewiseSource) else capture.table(name).num_rows


def iter_pieces(
    capture: Capture,
    name: str,
    columns: Sequence[str] | None = None,
    window: tuple[int, int] | None = None,
) -> Iterator[pa.Table]:
    """Yield a table in pieces (row groups of Parquet files; else one piece), in file order.

    ``window`` is ``(begin, end)`` in ns: pieces whose statistics show that no row overlaps it are
    not read. Pieces that are read hold all their rows: clip them. Raises ``MissingTableError``
    when the capture has no such table or column.
    """
    source: object = capture.sources.get(name)
    if not isinstance(source, PiecewiseSource):
        yield capture.table(name, columns)
        return
    absent = [column for column in columns or () if column not in source.column_names]
    if absent:
        raise MissingTableError(
            f"{capture.path}: table {name!r} has no column {', '.join(map(repr, absent))}; "
            f"held: {', '.join(source.column_names)}"
        )
    pieces = source.pieces(columns, window)
    while True:
        with decoding(capture.path, f"table {name!r}"):
            piece = next(pieces, None)
        if piece is None:
            return
        check_numbers(str(capture.path), name, piece)
        yield piece
