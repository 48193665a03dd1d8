"""Pair starts with ends: the k-th start of a key belongs to the k-th end of that key.

Records of one key come in order, but keys overlap, so neither time nor adjacency pairs them.
Works on chunks with what is still open carried over, so a capture need not fit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["Columns", "Pairer", "order_by_key"]

Columns = dict[str, npt.NDArray[Any]]

_RADIX_KEYS: Final = 1 << 16


def order_by_key(key: npt.NDArray[Any], keys: int) -> npt.NDArray[np.intp]:
    """Return the stable order of ``key`` (values below ``keys``)."""
    if keys <= _RADIX_KEYS:  # numpy sorts 16-bit keys by radix, in linear time
        return np.argsort(key.astype(np.uint16), kind="stable")
    # a key made unique by its position sorts at full speed and stays stable
    both = (key.astype(np.uint64) << np.uint64(32)) | np.arange(len(key), dtype=np.uint64)
    both.sort()
    return (both & np.uint64(0xFFFFFFFF)).astype(np.intp)


@dataclass(slots=True)
class Pairer:
    """Pairs the starts and ends of one stream of records, chunk after chunk.

    ``in_order`` drops an end that no open start precedes (its start was lost), so the records
    behind it still pair; without it the k-th start takes the k-th end whatever happened between.
    """

    keys: int
    in_order: bool = True
    orphans: int = 0
    starts: Columns = field(default_factory=dict)
    ends: Columns = field(default_factory=dict)

    def pair(self, starts: Columns, ends: Columns) -> Columns:
        """Pair one chunk and return the columns of both sides, in the order of the starts.

        Both sides hold ``key`` and ``position`` (record number), the starts and ends their own
        columns beside them; ends' columns win where names collide.
        """
        starts = _join(self.starts, starts)
        ends = _join(self.ends, ends)
        first, second = self._match(starts["key"], ends["key"])
        if self.in_order:
            orphan = self._orphans(starts, ends, first, second)
            if orphan is not None:
                self.orphans += int(np.count_nonzero(orphan))
                ends = {name: column[~orphan] for name, column in ends.items()}
                first, second = self._match(starts["key"], ends["key"])
        if len(first) == len(starts["key"]):
            self.starts = {}
            paired = dict(starts)
        else:
            self.starts = _rest(starts, first)
            paired = {name: column[first] for name, column in starts.items()}
        self.ends = _rest(ends, second) if len(second) < len(ends["key"]) else {}
        for name, column in ends.items():
            if name not in ("key", "position"):
                paired[name] = column[second]
        return paired

    @property
    def open_starts(self) -> int:
        """Starts that have no end (yet)."""
        return len(self.starts["key"]) if self.starts else 0

    @property
    def open_ends(self) -> int:
        """Ends that have no start (yet), those dropped included."""
        return (len(self.ends["key"]) if self.ends else 0) + self.orphans

    def _match(
        self, start: npt.NDArray[Any], end: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the indices of paired starts, ascending, and of their ends."""
        keys = self.keys
        if keys > _RADIX_KEYS and keys > len(start) + len(end):  # few of many: number those used
            used, codes = np.unique(np.concatenate((start, end)), return_inverse=True)
            start, end, keys = codes[: len(start)], codes[len(start) :], max(len(used), 1)
        start_order = order_by_key(start, keys)
        end_order = order_by_key(end, keys)
        opened = np.bincount(start, minlength=keys)
        closed = np.bincount(end, minlength=keys)
        if not np.array_equal(opened, closed):
            both = np.minimum(opened, closed)
            start_order = start_order[_first_of_each(opened, both)]
            end_order = end_order[_first_of_each(closed, both)]
        partner = np.full(len(start), -1, dtype=np.intp)
        partner[start_order] = end_order
        if len(start_order) == len(start):
            return np.arange(len(start)), partner
        chosen = np.flatnonzero(partner >= 0)
        return chosen, partner[chosen]

    def _orphans(
        self,
        starts: Columns,
        ends: Columns,
        first: npt.NDArray[np.intp],
        second: npt.NDArray[np.intp],
    ) -> npt.NDArray[np.bool_] | None:
        """Return where an end comes while no start of its key is open; ``None`` if nowhere."""
        late = starts["position"][first] > ends["position"][second]
        if len(second) == len(ends["key"]) and not late.any():
            return None
        key = np.concatenate((starts["key"], ends["key"])).astype(np.int64)
        position = np.concatenate((starts["position"], ends["position"]))
        step = np.repeat((1, -1), (len(starts["key"]), len(ends["key"])))
        order = np.lexsort((position, key))
        # open starts after each record; an end too many makes a new low below zero of its key.
        # Each key sits lower than all values of the one before, so one running minimum serves.
        group = np.cumsum(np.diff(key[order], prepend=key[order[0]]) != 0)
        depth = np.cumsum(step[order])
        first_of = np.flatnonzero(np.diff(group, prepend=-1) != 0)
        before = np.repeat((depth - step[order])[first_of], np.diff((*first_of, len(group))))
        floor = -group * (2 * len(group) + 2)
        level = depth - before + floor
        low = np.minimum.accumulate(level)
        previous = np.minimum(np.concatenate((floor[:1], low[:-1])), floor)
        orphan = np.zeros(len(key), dtype=bool)
        orphan[order] = (step[order] < 0) & (level < previous)
        return orphan[len(starts["key"]) :]


def _join(held: Columns, new: Columns) -> Columns:
    if not held:
        return new
    return {name: np.concatenate((held[name], new[name])) for name in new}


def _rest(columns: Columns, taken: npt.NDArray[np.intp]) -> Columns:
    keep = np.ones(len(columns["key"]), dtype=bool)
    keep[taken] = False
    return {name: column[keep] for name, column in columns.items()}


def _first_of_each(
    counts: npt.NDArray[np.intp], wanted: npt.NDArray[np.intp]
) -> npt.NDArray[np.intp]:
    """Return the places of the first ``wanted`` of each run of ``counts`` equal keys."""
    starts = np.cumsum(counts) - counts
    rank = np.arange(int(counts.sum())) - np.repeat(starts, counts)
    return np.flatnonzero(rank < np.repeat(wanted, counts))
