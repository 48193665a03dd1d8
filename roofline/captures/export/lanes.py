"""Lay overlapping spans out on lanes, so that spans of one lane never overlap."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

__all__ = ["lanes"]


def lanes(start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return a lane for each span, lanes numbered from 0, spans given in any order.

    Spans that end in the order they start (queues) go round the lanes in turn, as many as overlap
    at most; others take the first lane that is free, one after another.
    """
    order = np.argsort(start, kind="stable")
    first, last = start[order], np.maximum(start, end)[order]
    result = np.zeros(len(start), dtype=np.int32)
    if not len(start) or (first[1:] >= last[:-1]).all():
        return result
    if (last[1:] >= last[:-1]).all():
        open_now = np.arange(1, len(first) + 1) - np.searchsorted(last, first, "right")
        result[order] = np.arange(len(first)) % max(int(open_now.max()), 1)
        return result
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    used = 0
    for index, (begin, stop) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, used = used, used + 1
        heapq.heappush(busy, (stop, lane))
        result[order[index]] = lane
    return result
