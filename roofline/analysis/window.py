"""The part of a capture a query looks at: body, total, or from..to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from roofline.analysis.timeline import KINDS, DmaTimeline, Timeline
from roofline.errors import QueryError, UnitError
from roofline.intervals import EMPTY, Intervals, merge
from roofline.units import format_time, parse_time

__all__ = ["WINDOWS", "Phases", "Window", "find_phases", "resolve_window", "window_ns"]

WINDOWS: Final = ("body", "total")
"""Named windows; any other is written ``from..to``, such as ``10us..50us``."""

_SILENT_FROM_PS: Final = 100_000_000
"""Shorter silence can be a latency: a DMA needs 1 to 2 us, a first run 1 ms and more."""

_FARTHEST_PS: Final = 2**62
"""Of a window from zero; differences of two such moments still fit into 64 bits."""

_CONTROL: Final = KINDS.index("control")
_TABLE_LOAD: Final = KINDS.index("table_load")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Half-open ``[start_ps, end_ps)`` since the capture's zero; ``length_ps`` divides rates.

    Of the whole capture ``length_ps`` is the profile's total time, which the rows can exceed by a
    fraction of a microsecond on either side.
    """

    name: str
    start_ps: int
    end_ps: int
    length_ps: int
    note: str = ""

    @property
    def seconds(self) -> float:
        """Length in s."""
        return self.length_ps / 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Start-up, body and tail of one execution, ps since the capture's zero.

    The body runs from the first to the last useful instruction or byte. ``silent_ps`` is the
    length of a gap that was left out of it: over 100 us in which the device records nothing at all,
    and longer than everything else between first and last; the body is the part behind it.
    """

    first_ps: int
    body_start_ps: int
    body_end_ps: int
    last_ps: int
    silent_ps: int = 0

    @property
    def start_up_ps(self) -> int:
        """Time before the body."""
        return self.body_start_ps - self.first_ps

    @property
    def tail_ps(self) -> int:
        """Time after the body."""
        return self.last_ps - self.body_end_ps

    @property
    def body_ps(self) -> int:
        """Length of the body."""
        return self.body_end_ps - self.body_start_ps


def find_phases(
    instructions: Timeline | None, dma: DmaTimeline | None, total_s: float | None = None
) -> Phases:
    """Return where start-up, body and tail of an execution are.

    Useful are instructions that are not control, and packets that carry data; a table load is
    set-up until something else is useful. Raises ``QueryError`` when there is no row at all.
    """
    starts, ends, useful, alive = [], [], EMPTY, EMPTY
    if instructions is not None and len(instructions):
        starts.append(int(instructions.start.min()))
        ends.append(int(instructions.end.max()))
        works = ~np.isin(instructions.kind, (_CONTROL, _TABLE_LOAD))
        # an instruction of zero length is still something useful at its time
        useful = merge(
            instructions.start[works], np.maximum(instructions.end, instructions.start + 1)[works]
        )
        moves = ~instructions.waits
        alive = merge(instructions.start[moves], instructions.end[moves])
    if dma is not None and len(dma):
        starts.append(int(dma.start.min()))
        ends.append(int(dma.end.max()))
        data = dma.payload
        useful = useful.union(merge(dma.start[data], dma.end[data]))
        alive = alive.union(merge(dma.start, dma.end))
    if not starts:
        raise QueryError("the capture holds no instruction and no DMA packet: there is no window")
    first, last = min(0, *starts), max(ends)
    if total_s is not None and total_s > 0:
        last = max(last, first + round(total_s * 1e12))
    if not len(useful):
        return Phases(first_ps=first, body_start_ps=first, body_end_ps=last, last_ps=last)
    return _without_silence(first, last, useful, alive)


def _without_silence(first: int, last: int, useful: Intervals, alive: Intervals) -> Phases:
    start, end = int(useful.starts[0]), int(useful.ends[-1])
    silence = alive.union(useful).gaps(start, end)
    silent = 0
    if len(silence):
        longest = int(np.argmax(silence.lengths))
        length = int(silence.lengths[longest])
        if length > max(_SILENT_FROM_PS, (end - start) - length):
            silent = length
            start = int(useful.starts[np.searchsorted(useful.starts, silence.ends[longest])])
    return Phases(
        first_ps=first, body_start_ps=start, body_end_ps=end, last_ps=last, silent_ps=silent
    )


def resolve_window(text: str | Window, phases: Phases, total_s: float | None = None) -> Window:
    """Return the window of a text: ``body``, ``total``, ``10us..50us``, ``10us..``, ``..50us``.

    Raises ``QueryError`` for a text that is none, and for a window of no length.
    """
    if isinstance(text, Window):
        return text
    if text == "body":
        note = ""
        if phases.silent_ps:
            note = (
                f"a silent gap of {format_time(phases.silent_ps / 1e12)} before it, in which the "
                "device records nothing, counts as start-up"
            )
        return _window("body", phases.body_start_ps, phases.body_end_ps, note=note)
    if text == "total":
        length = round(total_s * 1e12) if total_s else phases.last_ps - phases.first_ps
        return Window(
            name="total", start_ps=phases.first_ps, end_ps=phases.last_ps, length_ps=length
        )
    start, end = _ends(text)
    return _window(
        text,
        phases.first_ps if start is None else start,
        phases.last_ps if end is None else end,
    )


def window_ns(text: str) -> tuple[int, int]:
    """Return begin and end in ns of a window ``from..to``; an open end reaches as far as it can.

    >>> window_ns("10us..50us")
    (10000, 50000)
    """
    start, end = _ends(text)
    far = 2**62
    return -far if start is None else start // 1000, far if end is None else -(-end // 1000)


def _ends(text: str) -> tuple[int | None, int | None]:
    begin, dots, stop = text.partition("..")
    if not dots:
        raise QueryError(f"unknown window {text!r}; known: body, total, 10us..50us")
    try:
        start = round(parse_time(begin) * 1e12) if begin.strip() else None
        end = round(parse_time(stop) * 1e12) if stop.strip() else None
    except UnitError as error:
        raise QueryError(f"window {text!r}: {error}") from None
    if any(abs(moment) > _FARTHEST_PS for moment in (start, end) if moment is not None):
        raise QueryError(f"window {text!r}: reaches beyond {_FARTHEST_PS // 10**12} s")
    return start, end


def _window(name: str, start: int, end: int, note: str = "") -> Window:
    if end <= start:
        raise QueryError(
            f"window {name!r} has no length: it ends at {end / 1e6:.3f} us and starts at "
            f"{start / 1e6:.3f} us"
        )
    return Window(name=name, start_ps=start, end_ps=end, length_ps=end - start, note=note)
