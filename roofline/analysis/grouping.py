"""Sums and merged times per group of rows and per bin, exactly, in integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from roofline.analysis.columns import codes, has
from roofline.errors import QueryError
from roofline.intervals import (
    Int64Array,
    grouped_totals,
    merge,
    spread_binned,
    sum_binned,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BY", "MAX_BINS", "MAX_CELLS", "Groups", "labelled"]

MAX_BINS: Final = 10_000
"""Finer than any capture needs: a hundredth of a microsecond of 100 us."""

MAX_CELLS: Final = 2_000_000
"""Groups times bins of one result: each of its tens of variables holds so many numbers."""

BY: Final = {
    "source": ("bir_debug_info_source_location", "nki_source_location", "source_location"),
    "queue": ("queue_name",),
    "dma_engine": ("engine_idx",),
    "class": ("queue_type",),
}
"""Short names of columns for ``by``; any other text column goes by its own name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Rows with a group number, and the bins their times are cut into.

    ``group`` numbers 0 .. ``count - 1``; ``edges`` are ps, ``[bins + 1]``, strictly rising. Every
    method takes an index of rows and returns int64 ``[count, bins]``; bins sum to what one bin
    from the first to the last edge would hold. Raises ``QueryError`` beyond ``MAX_CELLS``.
    """

    group: Int64Array
    start: Int64Array
    end: Int64Array
    count: int
    edges: Int64Array

    def __post_init__(self) -> None:
        cells = self.count * self.bins
        if cells > MAX_CELLS:
            raise QueryError(
                f"{self.count} groups in {self.bins} bins are {cells} cells; at most {MAX_CELLS} "
                "are allowed: take fewer bins, or columns with fewer values"
            )

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    def merged(self, rows: Int64Array) -> Int64Array:
        """Return the time in ps with at least one of ``rows``, per group and bin."""
        if self.bins == 1 and self._inside(rows):
            return grouped_totals(
                self.group[rows], self.start[rows], self.end[rows], self.count
            ).reshape(self.count, 1)
        return self._each(
            rows, lambda index: merge(self.start[index], self.end[index]).binned(self.edges)
        )

    def summed(self, rows: Int64Array) -> Int64Array:
        """Return durations in ps added up, overlaps counted each time, per group and bin."""
        if self.bins == 1 and self._inside(rows):
            return self._added(rows, self.end[rows] - self.start[rows])
        return self._each(
            rows, lambda index: sum_binned(self.start[index], self.end[index], self.edges)
        )

    def spread(self, rows: Int64Array, amounts: Int64Array) -> Int64Array:
        """Return whole amounts (one a row of the table) spread over their rows' time."""
        if self.bins == 1 and self._inside(rows):
            return self._added(rows, amounts[rows])
        return self._each(
            rows,
            lambda index: spread_binned(
                self.start[index], self.end[index], amounts[index], self.edges
            ),
        )

    def started(self, rows: Int64Array) -> Int64Array:
        """Return how many rows start in each bin, per group."""
        place = np.searchsorted(self.edges, self.start[rows], "right") - 1
        inside = np.flatnonzero((place >= 0) & (place < self.bins))
        result = np.zeros((self.count, self.bins), np.int64)
        np.add.at(result, (self.group[rows[inside]], place[inside]), 1)
        return result

    def _inside(self, rows: Int64Array) -> bool:
        if not len(rows):
            return True
        # a row of zero length at the last edge would belong to the next bin
        return bool(
            self.start[rows].min() >= self.edges[0] and self.end[rows].max() < self.edges[-1]
        ) or bool(
            self.start[rows].min() >= self.edges[0]
            and self.end[rows].max() == self.edges[-1]
            and self.start[rows].max() < self.edges[-1]
        )

    def _added(self, rows: Int64Array, amounts: Int64Array) -> Int64Array:
        result = np.zeros((self.count, 1), np.int64)
        np.add.at(result[:, 0], self.group[rows], amounts)
        return result

    def _each(self, rows: Int64Array, function: Callable[[Int64Array], Int64Array]) -> Int64Array:
        result = np.zeros((self.count, self.bins), np.int64)
        touching = (self.end[rows] >= self.edges[0]) & (self.start[rows] < self.edges[-1])
        rows = rows[np.flatnonzero(touching)]
        order = rows[np.argsort(self.group[rows], kind="stable")]
        bounds = np.searchsorted(self.group[order], np.arange(self.count + 1))
        for number, (low, high) in enumerate(pairwise(bounds.tolist())):
            if high > low:
                result[number] = function(order[low:high])
        return result


def labelled(
    table: pa.Table, names: Sequence[str], rows: Int64Array
) -> list[tuple[str, Int64Array, list[str]]]:
    """Return name, code per row and labels of each of ``names`` that this table can tell apart."""
    result = []
    for name in names:
        column = next((each for each in (*BY.get(name, ()), name) if has(table, each)), None)
        if column is None:
            continue
        code, labels = codes(table, column)
        used, place = np.unique(code[rows], return_inverse=True)
        known = ["unknown" if index < 0 else labels[index] for index in used.tolist()]
        result.append((name, place.astype(np.int64), known))
    return result
