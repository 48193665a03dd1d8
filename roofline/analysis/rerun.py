"""The moments of a recorded window as arrays, to be computed again with some costs taken away."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.dependencies import Cost, Node
from roofline.analysis.window import Window
from roofline.intervals import Int64Array

__all__ = ["Rerun"]

_NOBODY: Final[Cost] = ("", "dma_completion")


class Rerun:
    """Nodes in an order of their moments.

    Node n starts at moment 2 n and ends at moment 2 n + 1; behind these stand moments that stay
    what they are. An edge says that moment ``target`` is no earlier than moment ``source`` plus
    a lag. Edges are flat arrays in the order of their targets, since each is visited for every
    cost.
    """

    def __init__(self, nodes: Sequence[Node], window: Window) -> None:
        self.first, self.last = window.start_ps, window.end_ps
        self._numbers: dict[Cost, int] = {_NOBODY: 0}
        edges = self._edges(nodes)
        order = _order(nodes, edges[:, 0], edges[:, 1])
        self._arrange(nodes, edges, order)

    @property
    def costs(self) -> tuple[Cost, ...]:
        """Everything that takes time."""
        return tuple(self._numbers)

    def length(self, free: frozenset[Cost]) -> int:
        """Return the length of the window in ps if everything in ``free`` takes no time."""
        gone = np.array([cost in free for cost in self._numbers], np.bool_)
        lag = np.where(gone[self._cost], np.minimum(self._lag, self._signal), self._lag)
        lag -= np.where(gone[self._completion], self._signal, 0)
        moments = list(self._moments)
        for source, target, later in zip(self._sources, self._targets, lag.tolist(), strict=True):
            moment = moments[source] + later
            if moment > moments[target]:
                moments[target] = moment
        done = max((moments[end] for end in self._ends), default=self.last)
        return max(self.first, min(done, self.last)) - self.first

    def _number(self, cost: Cost) -> int:
        return self._numbers.setdefault(cost, len(self._numbers))

    def _edges(self, nodes: Sequence[Node]) -> Int64Array:
        """Return [edge, (source, target, lag, signal, cost, completion, fixed)].

        The length of a node is an edge from its start to its end. A source of -1 is ``fixed``.
        """
        found = []
        for at, node in enumerate(nodes):
            own = self._number((node.resource, node.kind))
            found.append((2 * at, 2 * at + 1, node.length_ps, 0, own, 0, 0))
            for edge in node.edges:
                source = 2 * edge.source + (not edge.from_start) if edge.source >= 0 else -1
                cost = self._number((edge.resource, edge.kind))
                done = self._number((edge.transfer, "dma_completion")) if edge.signal_ps else 0
                found.append((source, 2 * at + edge.inner, edge.lag_ps, edge.signal_ps, cost,
                              done, edge.fixed_ps))  # fmt: skip
        return np.array(found, np.int64).reshape(-1, 7)

    def _arrange(self, nodes: Sequence[Node], edges: Int64Array, order: Int64Array) -> None:
        recorded = np.array([(node.start_ps, node.end_ps) for node in nodes], np.int64).ravel()
        stays = np.repeat(recorded[::2] < self.first, 2)  # what starts before the window
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        edges = edges[~stays[edges[:, 1]]]
        edges = edges[np.argsort(place[edges[:, 1]], kind="stable")]
        source, target = edges[:, 0], edges[:, 1]
        fixed = source < 0
        # a moment that is read before it is set, in a circle, is the recorded one
        early = ~fixed & (place[source] >= place[target])
        moved = fixed | early
        kept = np.where(fixed, edges[:, 6], recorded[source])[moved]
        source = source.copy()
        source[moved] = len(recorded) + np.arange(len(kept))
        # a start that waits for something known can come as early as the window; others stay
        floor = recorded.copy()
        floor[target] = self.first
        self._moments: list[int] = [*floor.tolist(), *kept.tolist()]
        self._sources: list[int] = source.tolist()
        self._targets: list[int] = target.tolist()
        self._lag, self._signal = edges[:, 2], edges[:, 3]
        self._cost, self._completion = edges[:, 4], edges[:, 5]
        self._ends = [2 * at + 1 for at, node in enumerate(nodes) if node.counts]


def _order(
    nodes: Sequence[Node], source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]
) -> Int64Array:
    """Return moments, each behind what it waits for.

    Signals are stamped apart from what they signal, by tens of ns either way; where that closes
    a circle, the earliest moment of it comes first.
    """
    times = [time for node in nodes for time in (node.start_ps, node.end_ps)]
    known = source >= 0
    by_source = np.argsort(source[known], kind="stable")
    after = target[known][by_source].tolist()
    cuts = np.searchsorted(source[known][by_source], np.arange(len(times) + 1)).tolist()
    missing = np.bincount(target[known], minlength=len(times)).tolist()
    ready = [(times[event], event) for event, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    blocked = sorted(range(len(times)), key=lambda event: (times[event], event), reverse=True)
    done = bytearray(len(times))
    order: list[int] = []
    while len(order) < len(times):
        event = heapq.heappop(ready)[1] if ready else blocked.pop()
        if done[event]:
            continue
        done[event] = True
        order.append(event)
        for following in after[cuts[event] : cuts[event + 1]]:
            missing[following] -= 1
            if not missing[following]:
                heapq.heappush(ready, (times[following], following))
    return np.array(order, np.int64)
