"""Interval algebra on int64 times: merge, intersect, subtract, clip, bin, overlap.

Intervals are half open, ``[start, end)``, in any integer unit (ns, ps, cycles). An ``Intervals``
is canonical: sorted, disjoint, not touching, none of zero length. Time never passes through float,
so results are exact for any int64 times whose span is below 2**63.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline.errors import CaptureError

__all__ = [
    "EMPTY",
    "Int64Array",
    "Intervals",
    "grouped_totals",
    "merge",
    "merge_grouped",
    "overlap_matrix",
    "spread_binned",
    "sum_binned",
    "total",
    "totals_of_keys",
]

Int64Array = npt.NDArray[np.int64]

_KEY_BITS: Final = 63
_PAIRS_AT_ONCE: Final = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """A set of times as sorted, disjoint, not touching intervals: int64 ``starts`` and ``ends``.

    Made by ``merge``; every method keeps the form.
    """

    starts: Int64Array
    ends: Int64Array

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts.tolist(), self.ends.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intervals):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends)

    __hash__ = None  # type: ignore[assignment]

    @property
    def lengths(self) -> Int64Array:
        """Length of each interval."""
        return self.ends - self.starts

    @property
    def total(self) -> int:
        """Length of the set."""
        return int(np.sum(self.lengths))

    def clip(self, start: int, end: int) -> Intervals:
        """Return the part inside ``[start, end)``."""
        if end <= start:
            return EMPTY
        first = int(np.searchsorted(self.ends, start, "right"))
        last = int(np.searchsorted(self.starts, end, "left"))
        return Intervals(
            starts=np.maximum(self.starts[first:last], start),
            ends=np.minimum(self.ends[first:last], end),
        )

    def union(self, *others: Intervals) -> Intervals:
        """Return the times in this set or in any other."""
        sets = (self, *others)
        return merge(
            np.concatenate([each.starts for each in sets]),
            np.concatenate([each.ends for each in sets]),
        )

    def intersect(self, other: Intervals) -> Intervals:
        """Return the times in both sets."""
        low = np.searchsorted(other.ends, self.starts, "right")
        high = np.searchsorted(other.starts, self.ends, "left")
        mine, theirs = _pairs(low, high)
        return Intervals(
            starts=np.maximum(self.starts[mine], other.starts[theirs]),
            ends=np.minimum(self.ends[mine], other.ends[theirs]),
        )

    def subtract(self, other: Intervals) -> Intervals:
        """Return the times in this set and not in the other."""
        if not len(self):
            return self
        return self.intersect(other.gaps(int(self.starts[0]), int(self.ends[-1])))

    def gaps(self, start: int, end: int) -> Intervals:
        """Return the times inside ``[start, end)`` that are not in this set."""
        inside = self.clip(start, end)
        starts = np.concatenate([np.array([start], np.int64), inside.ends])
        ends = np.concatenate([inside.starts, np.array([end], np.int64)])
        keep = np.flatnonzero(starts < ends)
        return Intervals(starts=starts[keep], ends=ends[keep])

    def before(self, times: Int64Array) -> Int64Array:
        """Return how much of the set lies before each of ``times``."""
        times = np.asarray(times, np.int64)
        if not len(self):
            return np.zeros(times.shape, np.int64)
        done = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.lengths)])
        index = np.searchsorted(self.starts, times, "right") - 1
        inside = np.maximum(index, 0)
        partial = np.minimum(times, self.ends[inside]) - self.starts[inside]
        return np.where(index < 0, 0, done[inside] + partial)

    def binned(self, edges: Int64Array) -> Int64Array:
        """Return the length inside each bin ``[edges[i], edges[i + 1])``, exactly."""
        return np.diff(self.before(edges))

    def contains(self, times: Int64Array) -> npt.NDArray[np.bool_]:
        """Return whether each of ``times`` lies in the set."""
        times = np.asarray(times, np.int64)
        return np.searchsorted(self.starts, times, "right") > np.searchsorted(
            self.ends, times, "right"
        )


EMPTY: Final = Intervals(starts=np.zeros(0, np.int64), ends=np.zeros(0, np.int64))
"""The empty set."""


def merge(starts: npt.ArrayLike, ends: npt.ArrayLike) -> Intervals:
    """Return the union of intervals given in any order, overlapping, nested, tied or empty.

    With starts and ends each in order, the union ends at an end, and begins anew, where the next
    start lies behind it.

    >>> list(merge([3, 0, 7, 5], [4, 2, 9, 7]))
    [(0, 2), (3, 4), (5, 9)]
    """
    first, last = _checked(starts, ends)
    keep = np.flatnonzero(first < last)
    if not len(keep):
        return EMPTY
    first, last = np.sort(first[keep]), np.sort(last[keep])
    cuts = np.flatnonzero(first[1:] > last[:-1])
    return Intervals(
        starts=np.concatenate([first[:1], first[cuts + 1]]),
        ends=np.concatenate([last[cuts], last[-1:]]),
    )


def total(starts: npt.ArrayLike, ends: npt.ArrayLike) -> int:
    """Return the length of the union of intervals given in any order.

    >>> total([0, 1, 8], [3, 2, 9])
    4
    """
    return merge(starts, ends).total


def merge_grouped(
    groups: npt.ArrayLike, starts: npt.ArrayLike, ends: npt.ArrayLike, count: int
) -> tuple[Intervals, ...]:
    """Return the union per group, for group numbers ``0 .. count - 1``."""
    group = np.asarray(groups)
    first, last = _checked(starts, ends)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(count + 1))
    return tuple(
        merge(first[order[low:high]], last[order[low:high]]) for low, high in pairwise(bounds)
    )


def grouped_totals(
    groups: npt.ArrayLike, starts: npt.ArrayLike, ends: npt.ArrayLike, count: int
) -> Int64Array:
    """Return the length of the union per group, with one sort for all groups.

    Group number and time share one int64 key, so the order of rows does not matter. Where span and
    groups do not fit into 63 bits together, groups are merged one by one.
    """
    group = np.asarray(groups, np.int64)
    first, last = _checked(starts, ends)
    if not len(first):
        return np.zeros(count, np.int64)
    base = int(first.min())
    bits = max(1, (int(last.max()) - base).bit_length())
    if bits + max(1, count - 1).bit_length() > _KEY_BITS:
        return np.array([each.total for each in merge_grouped(group, first, last, count)], np.int64)
    offset = group << bits
    return totals_of_keys(
        np.sort(offset | (first - base)), np.sort(offset | (last - base)), bits, count
    )


def totals_of_keys(
    starts: Int64Array, ends: Int64Array, bits: int, count: int, block: int = 1 << 20
) -> Int64Array:
    """Return the union length per group of sorted keys ``group << bits | time``.

    Both arrays hold every group equally often, so equal positions are of one group; they are read
    in blocks, so no third array of their size is made.
    """
    bounds = np.searchsorted(starts, np.arange(count + 1, dtype=np.int64) << bits)
    lengths = np.zeros(count, np.int64)
    for number, (low, high) in enumerate(pairwise(bounds.tolist())):
        if low == high:
            continue
        length = int(ends[high - 1] - starts[low])
        for at in range(low, high - 1, block):
            stop = min(at + block, high - 1)
            length -= int(np.maximum(starts[at + 1 : stop + 1] - ends[at:stop], 0).sum())
        lengths[number] = length
    return lengths


def sum_binned(starts: npt.ArrayLike, ends: npt.ArrayLike, edges: npt.ArrayLike) -> Int64Array:
    """Return the summed length per bin of intervals as they are, overlaps counted each time.

    Exact although the running sums may wrap: differences are right modulo 2**64.
    """
    first, last = _checked(starts, ends)
    at = np.asarray(edges, np.int64)
    return np.diff(_elapsed(np.sort(first), at) - _elapsed(np.sort(last), at))


def spread_binned(
    starts: npt.ArrayLike, ends: npt.ArrayLike, amounts: npt.ArrayLike, edges: npt.ArrayLike
) -> Int64Array:
    """Return whole amounts (bytes, FLOP) per bin, spread evenly over each interval.

    What an interval has delivered by an edge is rounded down to a whole, so the bins of an interval
    inside the edges sum to its amount exactly. An interval of zero length delivers at its start.
    """
    first, last = _checked(starts, ends)
    amount, at = np.asarray(amounts, np.int64), np.asarray(edges, np.int64)
    bins = len(at) - 1
    result = np.zeros(bins, np.int64)
    low = np.searchsorted(at, first, "right") - 1
    high = np.searchsorted(at, last, "left") - 1
    single = np.flatnonzero((high <= low) & (low >= 0) & (low < bins))
    np.add.at(result, low[single], amount[single])
    many = np.flatnonzero(high > low)
    begin, stop = np.maximum(low[many], 0), np.minimum(high[many] + 1, bins)
    done = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.maximum(stop - begin, 0))])
    for left in range(0, int(done[-1]), _PAIRS_AT_ONCE):
        chosen = slice(
            int(np.searchsorted(done, left, "left")),
            int(np.searchsorted(done, left + _PAIRS_AT_ONCE, "left")),
        )
        row, bin_index = _pairs(begin[chosen], stop[chosen])
        index = many[chosen][row]
        np.add.at(
            result,
            bin_index,
            _delivered(first[index], last[index], amount[index], at[bin_index + 1])
            - _delivered(first[index], last[index], amount[index], at[bin_index]),
        )
    return result


def overlap_matrix(sets: Sequence[Intervals]) -> Int64Array:
    """Return ``[k, k]`` lengths of time in both set i and set j; the diagonal holds the totals."""
    matrix = np.zeros((len(sets), len(sets)), np.int64)
    for row, mine in enumerate(sets):
        matrix[row, row] = mine.total
        for column in range(row):
            matrix[row, column] = matrix[column, row] = mine.intersect(sets[column]).total
    return matrix


def _checked(starts: npt.ArrayLike, ends: npt.ArrayLike) -> tuple[Int64Array, Int64Array]:
    first, last = np.asarray(starts), np.asarray(ends)
    for times in (first, last):
        if times.size and times.dtype.kind not in "iu":
            raise CaptureError(f"interval times have to be integers, not {times.dtype}")
    first, last = first.astype(np.int64, copy=False), last.astype(np.int64, copy=False)
    if first.shape != last.shape:
        raise CaptureError(f"{first.size} interval starts but {last.size} ends")
    wrong = np.flatnonzero(first > last)
    if len(wrong):
        row = int(wrong[0])
        raise CaptureError(
            f"{len(wrong)} intervals end before they start; "
            f"the first is row {row}: {first[row]} .. {last[row]}"
        )
    return first, last


def _pairs(low: Int64Array, high: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return rows and values of all ``low[row] <= value < high[row]``, in order."""
    counts = np.maximum(high - low, 0)
    rows = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return rows, np.arange(len(rows)) - before[rows] + low[rows]


def _elapsed(times: Int64Array, edges: Int64Array) -> Int64Array:
    """Return the summed time since each of the sorted ``times`` at every edge, modulo 2**64."""
    passed = np.searchsorted(times, edges, "right")
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(times)])
    elapsed: Int64Array = passed * edges - sums[passed]
    return elapsed


def _delivered(
    first: Int64Array, last: Int64Array, amount: Int64Array, at: Int64Array
) -> Int64Array:
    share = np.clip((at - first) / (last - first), 0.0, 1.0)
    part = np.floor(amount * share).astype(np.int64)
    return np.where(at >= last, amount, part)
