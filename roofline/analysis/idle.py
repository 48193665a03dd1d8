"""Why an engine was idle: what the next instruction waited for, who signalled it, for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.activity import Activity, activity
from roofline.analysis.dataset import Builder
from roofline.analysis.operands import Operands, read_operands
from roofline.analysis.signals import NEVER, Signals, read_signals
from roofline.analysis.timeline import Timeline
from roofline.analysis.window import Window
from roofline.captures.capture import Capture
from roofline.errors import MissingTableError
from roofline.intervals import EMPTY, Int64Array, Intervals, merge

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "BARRIER",
    "FINISHED",
    "ISSUE",
    "NO_RECORD",
    "WITHOUT_CAUSE",
    "Segments",
    "idle_causes",
    "idle_segments",
]

ISSUE: Final = "issue"
"""Idle with nothing left to wait for: fetch and dispatch of the next instruction, hops."""

FINISHED: Final = "finished"
"""Idle behind the engine's last instruction."""

BARRIER: Final = "barrier"
"""Idle at a barrier that the runtime put before and behind the kernel."""

NO_RECORD: Final = "unknown"
"""Waited for a semaphore whose update is not in the capture, or whose signaller has no name."""


WITHOUT_CAUSE: Final = (ISSUE, BARRIER, FINISHED, NO_RECORD)
"""Kinds of idle time for which no engine and no DMA queue is to blame."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segments:
    """Idle spans of one engine of one core, each with one cause; ps, in order of time.

    ``row`` is the instruction (in the timeline) that ended the span, -1 behind the last one;
    ``semaphore`` the one it waited for, -1 where it did not wait.
    """

    start: Int64Array
    end: Int64Array
    cause: npt.NDArray[np.object_]
    semaphore: Int64Array
    row: Int64Array

    def of(self, cause: str) -> Intervals:
        """Return the spans of one cause."""
        rows = np.flatnonzero(self.cause == cause)
        return merge(self.start[rows], self.end[rows])


def idle_causes(
    capture: Capture, window: str | Window = "body", *, longest: int = 20
) -> xr.Dataset:
    """Return the idle time of each engine by cause; causes sum to the idle time exactly.

    Dims ``engine``, ``core``, ``cause``: an engine key, ``dma:queue``, ``issue`` (dispatch, with
    nothing left to wait for), ``barrier`` (the runtime's, before and behind the kernel),
    ``finished`` (behind the last instruction) or ``unknown``. Dim
    ``gap`` lists the ``longest`` idle spans with instruction and semaphore. Times are int64 ps.
    Raises ``MissingTableError`` when the capture has no instructions or no operands.
    """
    found = activity(capture, window)
    lines = found.instructions
    operands = read_operands(capture.instructions) if lines is not None else None
    if lines is None or operands is None:
        raise MissingTableError(
            f"{capture.path}: what an engine waited for stands in the operands of instructions, "
            "which this capture does not have"
        )
    signals = read_signals(capture, lines, operands)
    first, last = found.window.start_ps, found.window.end_ps
    totals: dict[tuple[int, int], dict[str, int]] = {}
    spans: list[tuple[Any, ...]] = []
    for core_at, core in enumerate(found.cores):
        for engine_at, engine in enumerate(lines.engines):
            segments = idle_segments(found, lines, operands, signals, engine, core)
            totals[engine_at, core_at] = _by_cause(segments, found, engine, core)
            inside = np.minimum(segments.end, last) - np.maximum(segments.start, first)
            spans += [
                (int(inside[row]), engine, core, segments, row)
                for row in np.argsort(-inside, kind="stable")[:longest].tolist()
                if inside[row] > 0
            ]
    causes = sorted({cause for table in totals.values() for cause in table})
    values = np.zeros((len(lines.engines), len(found.cores), len(causes)), np.int64)
    for place, table in totals.items():
        for cause, length in table.items():
            values[(*place, causes.index(cause))] = length
    out = Builder()
    out.coord("engine", list(lines.engines), "1", "engine of the NeuronCore")
    out.coord("core", list(found.cores), "1", "physical core in the logical core")
    out.coord("cause", causes, "1", "who the engine waited for, or why else it was idle")
    out.add(
        "idle_ps", ("engine", "core", "cause"), values, "ps", "idle time in the window by cause"
    )
    _add_gaps(out, lines, sorted(spans, key=lambda span: -span[0])[:longest])
    return out.build(
        {
            "capture": str(capture.path),
            "format": capture.format,
            "window": found.window.name,
            "window_start_ps": first,
            "window_end_ps": last,
            "window_ps": last - first,
        }
    )


def idle_segments(
    found: Activity,
    lines: Timeline,
    operands: Operands,
    signals: Signals,
    engine: str,
    core: int,
) -> Segments:
    """Return the idle spans of one engine of one core over the whole capture, with their causes."""
    mine = np.flatnonzero((lines.engine == lines.engines.index(engine)) & (lines.core == core))
    rows = mine[np.argsort(lines.start[mine], kind="stable")]
    parts = []
    end_before = np.concatenate(
        [
            [min(found.phases.first_ps, found.window.start_ps)],
            np.maximum.accumulate(lines.end[rows])[:-1] if len(rows) else [],
        ]
    ).astype(np.int64)[: len(rows)]
    table_row = lines.row[rows]
    parts += _waited(
        signals,
        rows,
        lines.core[rows],
        end_before,
        lines.start[rows],
        operands.integers("wait")[table_row],
        operands.integers("wait_value")[table_row],
    )
    inner = rows[np.flatnonzero(lines.waits[rows])]
    inside = _waited(
        signals,
        inner,
        lines.core[inner],
        lines.start[inner],
        lines.end[inner],
        operands.integers("inner_wait")[lines.row[inner]],
        operands.integers("inner_value")[lines.row[inner]],
    )
    # at a barrier all engines wait for each other: who came last is not a cause
    inside[0][2][operands.flags("barrier")[lines.row[inner]]] = BARRIER
    parts += inside
    finish = int(lines.end[rows].max()) if len(rows) else found.phases.first_ps
    behind = max(found.window.end_ps, found.phases.last_ps)
    parts.append(
        (
            np.array([min(finish, behind)], np.int64),
            np.array([behind], np.int64),
            np.array([FINISHED], np.object_),
            np.array([-1], np.int64),
            np.array([-1], np.int64),
        )
    )
    start, end, cause, semaphore, row = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    keep = np.flatnonzero(end > start)
    keep = keep[np.argsort(start[keep], kind="stable")]
    return Segments(
        start=start[keep],
        end=end[keep],
        cause=cause[keep],
        semaphore=semaphore[keep],
        row=row[keep],
    )


def _waited(
    signals: Signals,
    rows: Int64Array,
    core: Int64Array,
    begin: Int64Array,
    until: Int64Array,
    semaphore: Int64Array,
    value: Int64Array,
) -> list[tuple[Any, ...]]:
    """Split ``begin .. until`` of each row where its semaphore was reached: waiting, then issue."""
    time, source = signals.reached(core, semaphore, value, until)
    waits = semaphore >= 0
    seen = waits & (time != NEVER)
    # no record of the update: the whole span is the wait's
    reached = np.where(seen, np.clip(time, begin, np.maximum(begin, until)), until)
    reached = np.where(waits, reached, begin)
    named = np.array([name or NO_RECORD for name in source], np.object_)
    issue = np.full(len(rows), ISSUE, np.object_)
    none = np.full(len(rows), -1, np.int64)
    return [
        (begin, reached, named, semaphore, rows),
        (reached, until, issue, none, rows),
    ]


def _by_cause(segments: Segments, found: Activity, engine: str, core: int) -> dict[str, int]:
    """Return idle ps by cause; where spans overlap the cause with a name comes first."""
    left = found.busy(engine, core).gaps(found.window.start_ps, found.window.end_ps)
    order = sorted(set(segments.cause.tolist()), key=lambda name: (name in WITHOUT_CAUSE, name))
    result = {}
    for cause in order:
        part = left.intersect(segments.of(cause)) if len(left) else EMPTY
        if part.total:
            result[cause] = part.total
            left = left.subtract(part)
    if left.total:
        result[NO_RECORD] = result.get(NO_RECORD, 0) + left.total
    return result


def _add_gaps(out: Builder, lines: Timeline, spans: list[tuple[Any, ...]]) -> None:
    columns: dict[str, list[Any]] = {
        name: []
        for name in ("engine", "core", "start", "length", "cause", "semaphore", "opcode", "row")
    }
    for length, engine, core, segments, at in spans:
        row = int(segments.row[at])
        columns["engine"].append(engine)
        columns["core"].append(core)
        columns["start"].append(int(segments.start[at]))
        columns["length"].append(length)
        columns["cause"].append(str(segments.cause[at]))
        columns["semaphore"].append(int(segments.semaphore[at]))
        columns["opcode"].append(lines.opcodes[lines.opcode[row]] if row >= 0 else "")
        columns["row"].append(int(lines.row[row]) if row >= 0 else -1)
    text = ("engine", "cause", "opcode")
    for name, unit, meaning in (
        ("engine", "1", "engine that was idle"),
        ("core", "1", "its core"),
        ("start", "ps", "start of the idle span"),
        ("length", "ps", "its length inside the window"),
        ("cause", "1", "what it waited for"),
        ("semaphore", "1", "semaphore waited for, -1 for none"),
        ("opcode", "1", "instruction that ended the span"),
        ("row", "1", "its row in the instruction table"),
    ):
        variable = f"gap_{name}_ps" if unit == "ps" else f"gap_{name}"
        kind = np.dtype(str) if name in text else np.dtype(np.int64)
        out.add(variable, ("gap",), np.array(columns[name], kind), unit, meaning)
