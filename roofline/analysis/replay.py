"""Run a recorded window again with one cost taken away, on the dependencies it recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from roofline.analysis.activity import Activity, activity
from roofline.analysis.critical_path import Segment, walk_back
from roofline.analysis.dataset import Builder, ratio
from roofline.analysis.dependencies import Cost, find_dependencies
from roofline.analysis.graph import Graph, build_graph
from roofline.analysis.rerun import Rerun
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
    run = Rerun(dependencies.nodes, window)
    times: Counter[Cost] = Counter()
    for one in path:
        times[one.resource, one.kind] += one.end - one.start
    on_path = {
        what: sum(time for cost, time in times.items() if what.takes(cost)) for what in _costs()
    }
    costs = [what for what, time in on_path.items() if time]
    whole = run.length(frozenset())
    saved = np.array(
        [whole - run.length(frozenset(filter(one.takes, run.costs))) for one in costs], np.int64
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
