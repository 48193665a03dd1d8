"""What each instruction and transfer waited for: edges between their starts and ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from roofline.analysis.graph import Graph, Transfer
from roofline.analysis.signals import NEVER
from roofline.analysis.timeline import KINDS

__all__ = ["Cost", "Dependencies", "Edge", "Node", "find_dependencies"]

_GAPS: Final = ("hop", "dispatch")  # lags that a wait for something else can hide


Cost = tuple[str, str]
"""Whose time it is (an engine or ``dma:queue``), and its kind, one of ``PATH_KINDS``."""


class Edge(NamedTuple):
    """What a node waits for: the end of node ``source`` (its start with ``from_start``).

    ``lag_ps`` later the node can start (``inner``: end); that time is of ``kind`` and of
    ``resource``. ``signal_ps`` of it is what ``transfer`` needs to signal its end. ``binds``
    is whether this was what was waited for last. A ``source`` of -1 is a moment that no record
    explains: it stays at ``fixed_ps``.
    """

    source: int
    lag_ps: int
    resource: str
    kind: str
    transfer: str = ""
    signal_ps: int = 0
    fixed_ps: int = 0
    from_start: bool = False
    inner: bool = False
    binds: bool = True


class Node(NamedTuple):
    """An instruction or a transfer: when it ran in ps, whose time it is, what it waited for.

    ``length_ps`` is what it takes without the wait inside it; ``counts`` is whether its end can
    be the end of the window. Without edges to its start it starts when it did.
    """

    start_ps: int
    end_ps: int
    length_ps: int
    resource: str
    kind: str
    counts: bool
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Nodes, and how many of their ``waits`` no record explains."""

    nodes: tuple[Node, ...]
    waits: int
    unexplained: int


def find_dependencies(graph: Graph) -> Dependencies:
    """Return what everything in the window of ``graph.found`` waited for.

    What starts before the window stays where it was, what starts behind it is left out.
    """
    return _Finder(graph).run()


class _Finder:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.lines = graph, graph.lines
        window = graph.found.window
        self.first, self.last = window.start_ps, window.end_ps
        self.nodes: list[Node] = []
        self.edges: list[list[Edge]] = []
        self.node = np.full(len(self.lines), -1, np.int64)
        self.transfers: dict[Transfer, int] = {}
        self.waits = self.unexplained = 0

    def run(self) -> Dependencies:
        lines = self.lines
        rows = np.flatnonzero(lines.start < self.last)
        for row in rows.tolist():
            start, end = int(lines.start[row]), int(lines.end[row])
            kind = KINDS[lines.kind[row]]
            engine = lines.engines[lines.engine[row]]
            self.node[row] = self._add(start, end, engine, kind, counts=kind != "control")
        computing: dict[tuple[int, int], int] = {}
        for row in rows[np.argsort(lines.start[rows], kind="stable")].tolist():
            engine = int(lines.core[row]), int(lines.engine[row])
            if lines.start[row] >= self.first:
                self.edges[self.node[row]] += self._before(row, computing.get(engine, -1))
            if KINDS[lines.kind[row]] == "compute":
                computing[engine] = row
        self._last_packet()
        return self._settled()

    def _add(self, start: int, end: int, resource: str, kind: str, *, counts: bool) -> int:
        self.nodes.append(
            Node(
                start_ps=start,
                end_ps=end,
                length_ps=end - start,
                resource=resource,
                kind=kind,
                counts=counts,
            )
        )
        self.edges.append([])
        return len(self.nodes) - 1

    def _before(self, row: int, computing: int) -> Iterator[Edge]:
        """Yield what a row waited for, as the walk along the critical path decides it.

        ``computing`` is the row its engine computed in before: weights are loaded beside it.
        """
        graph, lines = self.graph, self.lines
        start = int(lines.start[row])
        previous, reached = int(graph.previous[row]), int(graph.reached[row])
        freed = int(lines.end[previous]) if previous >= 0 else NEVER
        waited = reached != NEVER and reached > min(freed, start)
        if previous >= 0:
            yield self._in_order(int(self.node[previous]), row, binds=not waited)
        if computing not in (-1, previous) and KINDS[lines.kind[row]] == "compute":
            yield self._in_order(int(self.node[computing]), row, binds=False)
        if int(graph.semaphore[row]) >= 0 and reached != NEVER:
            signal = int(graph.semaphore[row]), int(graph.value[row])
            yield self._signalled(row, signal, reached, str(graph.source[row]), binds=waited)
        inner = int(graph.inner_reached[row])
        if inner != NEVER:
            signal = int(graph.inner_semaphore[row]), int(graph.inner_value[row])
            source, binds = str(graph.inner_source[row]), inner > start
            yield self._signalled(row, signal, inner, source, inner=True, binds=binds)

    def _in_order(self, previous: int, row: int, *, binds: bool) -> Edge:
        before = self.nodes[previous]
        start = int(self.lines.start[row])
        if start >= before.end_ps:
            engine = self.nodes[self.node[row]].resource
            lag = start - before.end_ps
            return Edge(source=previous, lag_ps=lag, resource=engine, kind="dispatch", binds=binds)
        # it starts while the one before still runs: so much of that one has to pass
        return Edge(
            source=previous,
            lag_ps=start - before.start_ps,
            resource=before.resource,
            kind=before.kind,
            from_start=True,
            binds=binds,
        )

    def _signalled(
        self,
        row: int,
        signal: tuple[int, int],
        reached: int,
        source: str,
        *,
        inner: bool = False,
        binds: bool,
    ) -> Edge:
        graph = self.graph
        at = int((self.lines.end if inner else self.lines.start)[row])
        core = int(self.lines.core[row])
        engine = self.nodes[self.node[row]].resource
        self.waits += 1
        if source.startswith("dma"):
            transfer = graph.transfer(core, *signal, reached, source)
            node = self._transfer(transfer, core, reached)
            done = self.nodes[node].end_ps
            return Edge(
                source=node,
                lag_ps=at - done,
                resource=engine,
                kind="hop",
                transfer=source,
                signal_ps=max(0, min(reached, at) - done),
                inner=inner,
                binds=binds,
            )
        producer = graph.producer(core, signal[0], reached, source) if source else -1
        if producer < 0 or producer == row or self.node[producer] < 0:
            self.unexplained += 1
            return Edge(
                source=-1,
                fixed_ps=reached,
                lag_ps=at - reached,
                resource=engine,
                kind="hop",
                inner=inner,
                binds=binds,
            )
        node = int(self.node[producer])
        return Edge(
            source=node,
            lag_ps=at - self.nodes[node].end_ps,
            resource=engine,
            kind="hop",
            inner=inner,
            binds=binds,
        )

    def _transfer(self, transfer: Transfer, core: int, reached: int) -> int:
        """Return the node of a transfer; one whose packets are not known takes all its time."""
        if transfer in self.transfers:
            return self.transfers[transfer]
        graph = self.graph
        moment = reached if transfer.first is None else transfer.first
        issuer = transfer.issuer if transfer.issuer >= 0 else graph.doorbell(core, moment)
        issuer = int(self.node[issuer]) if issuer >= 0 else -1
        issued = self.nodes[issuer].end_ps if issuer >= 0 else moment
        first = min(issued, reached) if transfer.first is None else transfer.first
        last = reached if transfer.last is None else transfer.last
        node = self._add(first, last, transfer.name, "dma_transfer", counts=True)
        self.transfers[transfer] = node
        if first >= self.first:
            if issuer < 0:
                self.unexplained += 1
            self.edges[node].append(
                Edge(
                    source=issuer,
                    fixed_ps=first,
                    lag_ps=first - issued,
                    resource=transfer.name,
                    kind="dma_latency",
                )
            )
        return node

    def _last_packet(self) -> None:
        """Add the transfer that ends the window where nothing inside waits for it."""
        dma, found = self.graph.found.dma, self.graph.last_packet(self.last)
        if dma is None or found is None:
            return
        packet, end = found
        if end <= max((one.end_ps for one in self.nodes if one.counts), default=-1):
            return
        transfer = self.graph.transfer_of_packet(packet)
        if transfer is None:
            self.unexplained += 1
            start = int(dma.start[packet])
            transfer = Transfer(name="dma", first=start, last=end, issuer=-1)
        self._transfer(transfer, int(dma.core[packet]), end)

    def _settled(self) -> Dependencies:
        """Return the nodes. A lag that something else hid is no longer than is usual."""
        usual = {kind: int(median(lags)) if (lags := self._lags(kind)) else 0 for kind in _GAPS}
        nodes = []
        for node, edges in zip(self.nodes, self.edges, strict=True):
            kept = tuple(
                edge
                if edge.binds or edge.kind not in _GAPS
                else edge._replace(lag_ps=min(edge.lag_ps, usual[edge.kind] + edge.signal_ps))
                for edge in edges
            )
            waits = any(edge.inner and edge.binds for edge in edges)
            length = min(node.length_ps, usual["dispatch"]) if waits else node.length_ps
            nodes.append(node._replace(length_ps=length, edges=kept))
        return Dependencies(nodes=tuple(nodes), waits=self.waits, unexplained=self.unexplained)

    def _lags(self, kind: str) -> list[int]:
        return [
            max(0, edge.lag_ps - edge.signal_ps)
            for edges in self.edges
            for edge in edges
            if edge.binds and edge.kind == kind and edge.source >= 0
        ]
