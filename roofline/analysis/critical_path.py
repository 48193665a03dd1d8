"""The chain of work and waits that set the length of a window, walked back from its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from roofline.analysis.activity import Activity, activity
from roofline.analysis.dataset import Builder, ratio
from roofline.analysis.graph import Graph, build_graph
from roofline.analysis.signals import NEVER
from roofline.analysis.timeline import KINDS
from roofline.analysis.window import Window
from roofline.captures.capture import Capture
from roofline.intervals import Intervals

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["PATH_KINDS", "Segment", "critical_path", "walk_back"]

PATH_KINDS: Final = {
    **{kind: f"an engine in {kind.replace('_', ' ')} instructions" for kind in KINDS},
    "hop": "from a signal to the start of what waited for it",
    "dispatch": "an engine between two of its instructions, with nothing to wait for",
    "dma_latency": "from the issue of a transfer to its first packet",
    "dma_transfer": "packets of a transfer in flight",
    "dma_completion": "from a transfer's last packet to its signal",
    "barrier": "at a barrier of the runtime",
    "unknown": "no record says what was waited for",
}
"""What the critical path can consist of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One piece of the path: ps since the capture's zero, who, what, and its timeline row or -1."""

    start: int
    end: int
    resource: str
    kind: str
    row: int = -1


def critical_path(capture: Capture, window: str | Window = "body") -> xr.Dataset:
    """Return the critical path through a window: segments that add up to its length exactly.

    From the last useful event it goes back to whatever allowed that to start last: the previous
    instruction of the engine, the engine that signalled, or the transfer and the instruction that
    issued it. Dim ``segment`` in order of time, dims ``resource``, ``path_kind`` for the totals.
    Time on the path is what a change can win at most where no second path is nearly as long.
    Raises ``MissingTableError`` when the capture has no operands.
    """
    found = activity(capture, window)
    segments = walk_back(build_graph(capture, found), found)
    first, last = found.window.start_ps, found.window.end_ps
    out = Builder()
    resources = sorted({one.resource for one in segments})
    kinds = [kind for kind in PATH_KINDS if any(one.kind == kind for one in segments)]
    out.coord("resource", resources, "1", "engine, dma:queue, or unknown")
    out.coord("path_kind", kinds, "1", "what the path consists of")
    totals = np.zeros((len(resources), len(kinds)), np.int64)
    for one in segments:
        totals[resources.index(one.resource), kinds.index(one.kind)] += one.end - one.start
    out.add("path_ps", ("resource", "path_kind"), totals, "ps", "time on the critical path")
    out.add(
        "path_share",
        ("resource", "path_kind"),
        ratio(totals, last - first),
        "1",
        "time on the critical path over the window",
    )
    lines = found.instructions
    for name, values, unit, meaning in (
        ("segment_start_ps", [one.start for one in segments], "ps", "start of the segment"),
        ("segment_ps", [one.end - one.start for one in segments], "ps", "its length"),
        ("segment_resource", [one.resource for one in segments], "1", "who"),
        ("segment_kind", [one.kind for one in segments], "1", "what"),
        (
            "segment_row",
            [int(lines.row[one.row]) if lines and one.row >= 0 else -1 for one in segments],
            "1",
            "row of the instruction table, -1 for none",
        ),
    ):
        kind = np.dtype(str) if isinstance((values or [""])[0], str) else np.dtype(np.int64)
        out.add(name, ("segment",), np.array(values, kind), unit, meaning)
    return out.build(
        {
            "capture": str(capture.path),
            "window": found.window.name,
            "window_start_ps": first,
            "window_end_ps": last,
            "window_ps": last - first,
        }
    )


def walk_back(graph: Graph, found: Activity) -> list[Segment]:
    """Return the segments of the critical path in order of time; they fill the window."""
    return _Walk(graph, found).run()


class _Walk:
    """The walk: a moment that moves back, and the row or transfer that holds it."""

    def __init__(self, graph: Graph, found: Activity) -> None:
        self.graph, self.lines = graph, graph.lines
        self.first, self.now = found.window.start_ps, found.window.end_ps
        self.found = found
        self.barrier = graph.operands.flags("barrier")[self.lines.row]
        self.segments: list[Segment] = []
        self.computing: dict[tuple[str, int], Intervals] = {}

    def run(self) -> list[Segment]:
        row = self._last_row()
        # each step leaves a row behind, or moves the time back
        for _ in range(4 * len(self.lines) + 4):
            if row < 0 or self.now <= self.first:
                break
            row = self._before(row)
        self._add(self.first, "unknown", "unknown")
        self.segments.reverse()
        return [part for one in self.segments for part in self._computing(one)]

    def _computing(self, one: Segment) -> list[Segment]:
        """Split a segment of an engine where it computes beside the instruction on the path.

        Weights are loaded for the next matmul while one runs: that time is the matmul's.
        """
        if one.kind not in KINDS or one.kind == "compute":
            return [one]
        core = int(self.lines.core[one.row])
        busy = self._compute(one.resource, core).clip(one.start, one.end)
        rest = busy.gaps(one.start, one.end)
        parts = [(start, end, "compute") for start, end in busy]
        parts += [(start, end, one.kind) for start, end in rest]
        return [replace(one, start=a, end=b, kind=kind) for a, b, kind in sorted(parts)]

    def _last_row(self) -> int:
        """Return the row that ends last in the window, or issued the packets that do."""
        lines = self.lines
        works = np.flatnonzero((lines.kind != KINDS.index("control")) & (lines.start < self.now))
        if not len(works):
            return -1
        last = int(works[np.argmax(np.minimum(lines.end[works], self.now))])
        found = self.graph.last_packet(self.now)
        if found is None or found[1] <= min(int(lines.end[last]), self.now):
            return last
        return self._issuer_of(found[0], last)

    def _issuer_of(self, packet: int, otherwise: int) -> int:
        """Return the issuer of a packet's transfer, with the flight added to the path."""
        found = self.graph.transfer_of_packet(packet)
        if found is None or found.first is None or found.last is None:
            self._add(int(self.lines.end[otherwise]), "dma", "dma_transfer")
            return otherwise
        self._add(found.last, found.name, "dma_completion")
        self._add(found.first, found.name, "dma_transfer")
        self._add(int(self.lines.end[found.issuer]), found.name, "dma_latency")
        return found.issuer

    def _before(self, row: int) -> int:
        """Put a row on the path and return the one that allowed it to start."""
        graph, lines = self.graph, self.lines
        engine = lines.engines[lines.engine[row]]
        inner = int(graph.inner_reached[row])
        if self.barrier[row]:
            self._add(int(lines.start[row]), engine, "barrier", row)
        elif inner != NEVER and inner > int(lines.start[row]):
            self._add(inner, engine, "hop", row)
            waited = int(graph.inner_semaphore[row]), int(graph.inner_value[row])
            return self._producer(row, waited, inner, str(graph.inner_source[row]))
        else:
            self._add(int(lines.start[row]), engine, KINDS[lines.kind[row]], row)
        previous = int(graph.previous[row])
        freed = int(lines.end[previous]) if previous >= 0 else NEVER
        reached = int(graph.reached[row])
        if reached != NEVER and reached > min(freed, int(lines.start[row])):
            self._add(reached, engine, "hop", row)
            waited = int(graph.semaphore[row]), int(graph.value[row])
            return self._producer(row, waited, reached, str(graph.source[row]))
        if previous >= 0:
            self._add(freed, engine, "dispatch", row)
        return previous

    def _producer(self, row: int, waited: tuple[int, int], reached: int, source: str) -> int:
        graph, lines = self.graph, self.lines
        semaphore, value = waited
        core = int(lines.core[row])
        if not source.startswith("dma"):
            producer = graph.producer(core, semaphore, reached, source) if source else -1
            if producer >= 0 and producer != row:
                self._add(int(lines.end[producer]), source, "hop", producer)
                return producer
            return -1
        transfer = graph.transfer(core, semaphore, value, reached, source)
        if transfer.first is not None and transfer.last is not None:
            self._add(transfer.last, source, "dma_completion")
            self._add(transfer.first, source, "dma_transfer")
        issuer = transfer.issuer if transfer.issuer >= 0 else graph.doorbell(core, self.now)
        if issuer >= 0:
            kind = "dma_latency" if transfer.first is not None else "dma_transfer"
            self._add(int(lines.end[issuer]), source, kind)
        return issuer

    def _compute(self, engine: str, core: int) -> Intervals:
        """Return when an engine computes, merged once an engine."""
        if (engine, core) not in self.computing:
            self.computing[engine, core] = self.found.busy(engine, core, "compute")
        return self.computing[engine, core]

    def _add(self, start: int, resource: str, kind: str, row: int = -1) -> None:
        """Add the segment from ``start`` to now, inside the window, and move back to its start."""
        start = max(start, self.first)
        if start < self.now:
            self.segments.append(
                Segment(start=start, end=self.now, resource=resource, kind=kind, row=row)
            )
            self.now = start
