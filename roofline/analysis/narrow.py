"""A capture with only the rows of a window, reading no more of a large file than that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from roofline.captures.capture import Capture
from roofline.captures.streaming import iter_pieces

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LARGE_ROWS", "narrow", "rows_of"]

LARGE_ROWS: Final = 2_000_000
"""Instructions from which on a whole capture is only counted and merged, not looked into."""

_TIMED: Final = ("instructions", "dma")


def rows_of(capture: Capture, name: str) -> int:
    """Return the rows of a table, from the footer of a file where the format has one."""
    source: object = capture.sources.get(name)
    rows = getattr(source, "num_rows", None)
    return int(rows) if isinstance(rows, int) else capture.table(name).num_rows


def narrow(capture: Capture, begin_ns: int, end_ns: int) -> Capture:
    """Return the capture with instructions and packets of the pieces that touch a window.

    Pieces (row groups) that the window does not touch are not read; those it touches keep all of
    their rows, which queries clip.
    """
    sources = {
        name: partial(_pieces, capture, name, (begin_ns, end_ns)) if name in _TIMED else source
        for name, source in capture.sources.items()
    }
    return replace(capture, sources=sources, _cache={})


def _pieces(
    capture: Capture, name: str, window: tuple[int, int], columns: Sequence[str] | None
) -> pa.Table:
    import pyarrow as pa

    pieces = list(iter_pieces(capture, name, columns, window))
    if not pieces:
        return capture.table(name, columns).slice(0, 0)
    return pa.concat_tables(pieces, promote_options="permissive")
