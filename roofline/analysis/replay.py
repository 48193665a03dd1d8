"""Run a recorded window again with one cost taken away, on the dependencies it recorded."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from roofline.analysis.activity import Activity, activity
from roofline.analysis.critical_path import Segment, walk_back
from roofline.analysis.dataset import Builder, ratio
from roofline.analysis.dependencies import Cost, Edge, Node, find_dependencies
from roofline.analysis.graph import Graph, build_graph
from roofline.analysis.window import Window
from roofline.captures.capture import Capture
from roofline.engines import COMPUTE_ENGINES, resource_title
from roofline.errors import QueryError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["MOST_ROWS", "replay", "replay_of"]

MOST_ROWS: Final = 200_000
"""Instructions of the largest capture that is replayed: each is visited once for every cost."""

_WORK: Final = ("compute", "weight_load", "table_load")
_TRANSFER: Final = ("dma_latency", "dma_transfer", "dma_completion")
_WORDS: Final = {
    "dma_transfer": "DMA: packets in flight",
    "dma_latency": "DMA: issue to first packet",
    "dma_completion": "DMA: last packet to signal",
    "dma_issue": "issuing DMA on the engines",
    "weight_load": "loading weights",
    "table_load": "loading function tables",
    "control": "control instructions",
    "hop": "signal to what waits for it",
    "dispatch": "gaps between instructions",
}


class _What(NamedTuple):
    """A cost: the times of some kinds, of one engine or of everybody."""

    name: str
    words: str
    kinds: tuple[str, ...]
    engine: str = ""

    def takes(self, cost: Cost) -> bool:
        """Whether a time is part of it."""
        return cost[1] in self.kinds and self.engine in ("", cost[0])


def replay(capture: Capture, window: str | Window = "body") -> xr.Dataset:
    """Return how long a window would have been without one of its costs, others unchanged.

    Dim ``cost``: computing of one engine, all of DMA, or one kind of time. ``replayed_ps`` is the
    window without it, ``saved_ps`` the difference, ``path_ps`` its time on the
    critical path. Every instruction starts again when what it waited for is done; a lag that
    was hidden behind another wait is taken to be the usual one. With nothing taken away the window
    is the recorded one exactly. What no record explains stays where it was, so savings are rather
    too small; that transfers share bandwidth is not modelled.

    Raises ``MissingTableError`` when the capture has no operands, ``QueryError`` beyond
    ``MOST_ROWS`` instructions.
    """
    found = activity(capture, window)
    if found.instructions is not None and len(found.instructions) > MOST_ROWS:
        raise QueryError(
            f"{capture.path}: {len(found.instructions):,} instructions are not replayed; at most "
            f"{MOST_ROWS:,} are"
        )
    graph = build_graph(capture, found)
    return replay_of(graph, found, walk_back(graph, found))


def replay_of(graph: Graph, found: Activity, path: Sequence[Segment]) -> xr.Dataset:
    """Return what ``replay`` does, of a graph and its critical path."""
    dependencies = find_dependencies(graph)
    window = found.window
    run = _Run(dependencies.nodes, window)
    on_path = {
        what: sum(one.end - one.start for one in path if what.takes((one.resource, one.kind)))
        for what in _costs()
    }
    costs = [what for what, time in on_path.items() if time]
    whole = run.length(frozenset())
    saved = np.array(
        [whole - run.length(frozenset(filter(one.takes, dependencies.costs))) for one in costs],
        np.int64,
    )
    out = Builder()
    out.coord("cost", [one.name for one in costs], "1", "what is taken away")
    out.add("replayed_ps", ("cost",), window.length_ps - saved, "ps", "the window without it")
    out.add("saved_ps", ("cost",), saved, "ps", "the window less the window without it")
    out.add("saved_share", ("cost",), ratio(saved, window.length_ps), "1", "saved of the window")
    paths = np.array([on_path[one] for one in costs], np.int64)
    out.add("path_ps", ("cost",), paths, "ps", "its time on the critical path")
    words = np.array([one.words for one in costs], np.dtype(str))
    out.add("meaning", ("cost",), words, "1", "what the cost is")
    return out.build(
        {
            "window": window.name,
            "window_ps": window.length_ps,
            "unchanged_ps": whole,
            "waits": dependencies.waits,
            "unexplained_waits": dependencies.unexplained,
        }
    )


def _costs() -> Iterator[_What]:
    for engine in COMPUTE_ENGINES:
        words = f"all work of {resource_title(engine)}"
        yield _What(engine, words, _WORK, engine)
    yield _What("dma", "all of DMA, issue to signal", _TRANSFER)
    for kind, words in _WORDS.items():
        yield _What(kind, words, (kind,))


def _order(nodes: Sequence[Node]) -> list[int]:
    """Return starts (2 n) and ends (2 n + 1) of nodes, each behind what it waits for.

    Signals are stamped apart from what they signal, by tens of ns either way; where that closes
    a circle, the earliest moment of it comes first.
    """
    after: list[list[int]] = [[] for _ in range(2 * len(nodes))]
    missing = [0] * (2 * len(nodes))
    times = [time for node in nodes for time in (node.start_ps, node.end_ps)]
    for at, node in enumerate(nodes):
        after[2 * at].append(2 * at + 1)
        missing[2 * at + 1] += 1
        for edge in node.edges:
            if edge.source >= 0:
                event = 2 * at + edge.inner
                after[2 * edge.source + (not edge.from_start)].append(event)
                missing[event] += 1
    ready = [(times[event], event) for event, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    blocked = sorted(range(len(times)), key=lambda event: (times[event], event), reverse=True)
    done = [False] * len(times)
    order: list[int] = []
    while len(order) < len(times):
        event = heapq.heappop(ready)[1] if ready else blocked.pop()
        if done[event]:
            continue
        done[event] = True
        order.append(event)
        for following in after[event]:
            missing[following] -= 1
            if not missing[following]:
                heapq.heappush(ready, (times[following], following))
    return order


class _Run:
    """Nodes in an order of their moments, to be run with some costs taken away."""

    def __init__(self, nodes: Sequence[Node], window: Window) -> None:
        self.nodes, self.window = nodes, window
        self.order = _order(nodes)

    def length(self, free: frozenset[Cost]) -> int:
        """Return the length of the window in ps if everything in ``free`` takes no time."""
        nodes, first, last = self.nodes, self.window.start_ps, self.window.end_ps
        # a moment that is read before it is set, in a circle, is the recorded one
        starts = [node.start_ps for node in nodes]
        ends = [node.end_ps for node in nodes]
        for event in self.order:
            at, is_end = divmod(event, 2)
            node = nodes[at]
            if node.start_ps < first:
                continue
            edges = [edge for edge in node.edges if edge.inner == bool(is_end)]
            if is_end:
                length = 0 if (node.resource, node.kind) in free else node.length_ps
                moment = starts[at] + length
            else:
                moment = first if edges else node.start_ps
            for edge in edges:
                moment = max(moment, _moment(edge, starts, ends, free))
            (ends if is_end else starts)[at] = moment
        done = (min(end, last) for end, node in zip(ends, nodes, strict=True) if node.counts)
        return max(first, max(done, default=last)) - first


def _moment(edge: Edge, starts: Sequence[int], ends: Sequence[int], free: frozenset[Cost]) -> int:
    lag, signal = edge.lag_ps, edge.signal_ps
    if (edge.resource, edge.kind) in free:
        lag = min(lag, signal)
    if signal and (edge.transfer, "dma_completion") in free:
        lag -= signal
    if edge.source < 0:
        return edge.fixed_ps + lag
    return (starts if edge.from_start else ends)[edge.source] + lag
