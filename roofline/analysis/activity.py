"""The rows a query is about and its window, and when each engine and the DMA were active."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roofline.analysis.timeline import (
    KINDS,
    DmaTimeline,
    Timeline,
    dma_timeline,
    instruction_timeline,
)
from roofline.analysis.where import columns_of
from roofline.analysis.window import Phases, Window, find_phases, resolve_window
from roofline.captures.capture import Capture
from roofline.errors import MissingTableError, QueryError
from roofline.intervals import EMPTY, Intervals, merge

__all__ = ["Activity", "activity"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Activity:
    """The rows of a capture that a query is about, and its window."""

    instructions: Timeline | None
    dma: DmaTimeline | None
    phases: Phases
    window: Window
    cores: tuple[int, ...]
    total_s: float | None

    def busy(self, engine: str, core: int | None = None, kind: str | None = None) -> Intervals:
        """Return when an engine was active in the window, on one core or any, in any kind."""
        lines = self.instructions
        if lines is None or engine not in lines.engines:
            return EMPTY
        rows = (lines.engine == lines.engines.index(engine)) & ~lines.waits
        if core is not None:
            rows &= lines.core == core
        if kind is not None:
            rows &= lines.kind == KINDS.index(kind)
        index = np.flatnonzero(rows)
        return self.clipped(merge(lines.start[index], lines.end[index]))

    def transfers(self, core: int | None = None) -> Intervals:
        """Return when at least one DMA packet was in flight in the window."""
        if self.dma is None:
            return EMPTY
        index = np.flatnonzero(self.dma.core == core) if core is not None else slice(None)
        return self.clipped(merge(self.dma.start[index], self.dma.end[index]))

    def clipped(self, spans: Intervals) -> Intervals:
        """Return the part of ``spans`` in the window."""
        return spans.clip(self.window.start_ps, self.window.end_ps)


def activity(capture: Capture, window: str | Window = "body", where: str | None = None) -> Activity:
    """Return the instructions and packets that match ``where``, and the window of the capture.

    The window is found on all rows, so a filter does not move it. Raises ``MissingTableError``
    when the capture has neither table, ``QueryError`` for a wrong window or expression.
    """
    tables = [name for name in ("instructions", "dma") if capture.has(name)]
    if not tables:
        raise MissingTableError(
            f"{capture.path}: a {capture.format} capture has no events, only totals: "
            "engines over time need an .ntff, a full-profile JSON or Parquet tables"
            + ("; for its operators see roofline launches" if capture.has("cpu_ops") else "")
        )
    instructions = instruction_timeline(capture) if "instructions" in tables else None
    dma = dma_timeline(capture) if "dma" in tables else None
    value = capture.summary.get("total_time")
    total_s = float(value) if value else None
    phases = find_phases(instructions, dma, total_s)
    cores = sorted(
        {
            int(core)
            for lines in (instructions, dma)
            if lines is not None
            for core in np.unique(lines.core)
        }
    )
    if where is not None:
        wanted = set(columns_of(where))
        applies = [name for name in tables if wanted <= set(capture.table(name).column_names)]
        if not applies:
            held = "; ".join(
                f"{name}: {', '.join(capture.table(name).column_names)}" for name in tables
            )
            raise QueryError(f"where {where!r}: no table has all of {sorted(wanted)}; {held}")
        # what the expression cannot tell apart is left out, not counted in full
        instructions = instruction_timeline(capture, where) if "instructions" in applies else None
        dma = dma_timeline(capture, where) if "dma" in applies else None
    return Activity(
        instructions=instructions,
        dma=dma,
        phases=phases,
        window=resolve_window(window, phases, total_s),
        cores=tuple(cores),
        total_s=total_s,
    )
