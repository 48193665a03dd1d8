"""Who made what possible: the producer of each wait, over engines and DMA."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.activity import Activity
from roofline.analysis.operands import Operands, read_operands
from roofline.analysis.signals import NEVER, Signals, read_signals
from roofline.analysis.timeline import Timeline
from roofline.captures.capture import Capture
from roofline.errors import MissingTableError
from roofline.intervals import Int64Array

__all__ = ["Graph", "Transfer", "build_graph"]

_NONE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One DMA transfer that a semaphore signalled: when its packets flew, and who issued it.

    Times in ps; ``first`` and ``last`` are ``None`` where its packets are not known; ``issuer``
    is a row of the timeline, -1 where no instruction is known to have issued it.
    """

    name: str
    first: int | None
    last: int | None
    issuer: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph:
    """Edges into each row of the timeline, one entry a row.

    ``previous`` is the row before it on its engine, -1 for the first. ``reached`` is when what it
    waits for before it starts was reached, ``inner_reached`` the same for the wait inside an
    EVENT_SEMAPHORE (``NEVER``: no wait or no record); ``source`` and ``inner_source`` name the
    signaller.
    """

    lines: Timeline
    operands: Operands
    found: Activity
    previous: Int64Array
    semaphore: Int64Array
    inner_semaphore: Int64Array
    value: Int64Array
    inner_value: Int64Array
    reached: Int64Array
    inner_reached: Int64Array
    source: npt.NDArray[np.object_]
    inner_source: npt.NDArray[np.object_]
    slack_ps: int
    _signals: dict[tuple[int, int], Int64Array]
    _issues: dict[tuple[int, int], Int64Array]
    _bytes: Int64Array
    _increment: Int64Array
    _updates: Signals
    _names: dict[tuple[int, int], str]
    _cache: dict[Any, Any] = field(default_factory=dict)

    def name_of_issue(self, row: int) -> str:
        """Return the name of the queue that a DMA instruction issues to, ``dma`` if not known."""
        semaphore = self.operands.parsed[self.operands.code[self.lines.row[row]]].dma_semaphore
        return self._names.get((int(self.lines.core[row]), semaphore), "dma")

    def producer(self, core: int, semaphore: int, reached: int, engine: str) -> int:
        """Return the row of ``engine`` whose end made the update at ``reached`` ps; -1: none."""
        rows, starts, ends = self._signalled(core, semaphore, engine)
        # the end of an instruction and its signal are stamped apart, by tens of ns either way
        after = bisect_left(ends, reached)
        candidates = [bisect_left(ends, ends[after - 1])] if after else []
        while after < len(ends) and starts[after] >= reached:
            after += 1
        if after < len(ends):
            candidates.append(after)
        if not candidates:
            return _NONE
        return rows[min(candidates, key=lambda at: abs(ends[at] - reached))]

    def _signalled(
        self, core: int, semaphore: int, engine: str
    ) -> tuple[list[int], list[int], list[int]]:
        """Return the rows of an engine that signal a semaphore by their ends; starts and ends."""
        key = ("signals", core, semaphore, engine)
        if key not in self._cache:
            lines = self.lines
            rows = self._signals.get((core, semaphore), np.empty(0, np.int64))
            names = np.array(lines.engines, np.dtype(str))
            rows = rows[names[lines.engine[rows]] == engine]
            self._cache[key] = (
                rows.tolist(),
                lines.start[rows].tolist(),
                lines.end[rows].tolist(),
            )
        found: tuple[list[int], list[int], list[int]] = self._cache[key]
        return found

    def transfer(self, core: int, semaphore: int, value: int, reached: int, name: str) -> Transfer:
        """Return the transfer whose completion made the update at ``reached`` ps."""
        issuer, wanted = _NONE, 0
        rows = self._issues.get((core, semaphore))
        if rows is not None:
            # transfers of one semaphore complete in the order they are issued: the n-th count is
            # the n-th of them, and where counts do not fit, it is the last one issued before
            latest = bisect_left(self._starts(core, semaphore), reached) - 1
            step = int(self._increment[rows[0]])
            at = latest
            if step > 0:
                counted = self._updates.counted(core, semaphore, value, reached)
                at = -(-counted // step) - 1
            if latest >= 0:
                issuer = int(rows[at if 0 <= at <= latest else latest])
                wanted = int(self._bytes[issuer])
        first, last = self._flight(core, name, issuer, reached, wanted)
        return Transfer(name=name, first=first, last=last, issuer=issuer)

    def _starts(self, core: int, semaphore: int) -> list[int]:
        """Return the starts of what issues DMA on a semaphore, in their order."""
        key = ("issues", core, semaphore)
        if key not in self._cache:
            self._cache[key] = self.lines.start[self._issues[core, semaphore]].tolist()
        found: list[int] = self._cache[key]
        return found

    def last_packet(self, before: int) -> tuple[int, int] | None:
        """Return the payload packet that ends last of those that start before ``before`` ps.

        With it when it ends, at most ``before``; ``None`` where there is none.
        """
        dma = self.found.dma
        if dma is None:
            return None
        data = np.flatnonzero(dma.payload & (dma.start < before))
        if not len(data):
            return None
        ends = np.minimum(dma.end[data], before)
        at = int(np.argmax(ends))
        return int(data[at]), int(ends[at])

    def transfer_of_packet(self, packet: int) -> Transfer | None:
        """Return the transfer of a payload packet that none of its queue was issued behind."""
        dma, lines = self.found.dma, self.lines
        if dma is None:
            return None
        core = int(dma.core[packet])
        issues = np.flatnonzero(
            (self.operands.integers("dma_semaphore")[lines.row] >= 0)
            & (lines.start < dma.start[packet])
            & (lines.core == core)
        )
        for issuer in issues[np.argsort(-lines.start[issues], kind="stable")].tolist():
            name = self.name_of_issue(issuer)
            mine = self.packets(core, name)
            if mine is None or not mine[packet]:
                continue
            # all packets of the queue behind its last issue are this transfer's
            rows = np.flatnonzero(mine & dma.payload & (dma.start >= lines.start[issuer]))
            return Transfer(
                name=name,
                first=int(dma.start[rows].min()),
                last=int(dma.end[packet]),
                issuer=issuer,
            )
        return None

    def doorbell(self, core: int, before: int) -> int:
        """Return the write that can have triggered a static transfer: the last until ``before``."""
        lines, key = self.lines, ("writes", core)
        if key not in self._cache:
            writes = [at for at, name in enumerate(lines.opcodes) if name == "WRITE"]
            rows = np.flatnonzero(np.isin(lines.opcode, writes) & (lines.core == core))
            rows = rows[np.argsort(lines.end[rows], kind="stable")]
            self._cache[key] = rows.tolist(), lines.end[rows].tolist()
        rows, ends = self._cache[key]
        at = bisect_right(ends, before) - 1
        return int(rows[at]) if at >= 0 else _NONE

    def packets(self, core: int, name: str) -> npt.NDArray[np.bool_] | None:
        """Return which packets belong to the queue ``dma:name``; ``None`` where it is not known.

        A capture that does not name the ring of a packet tells it by class and bytes: the payload
        of a ring is what the issuers of its queue asked for.
        """
        key = ("packets", core, name)
        if key not in self._cache:
            self._cache[key] = self._packets(core, name)
        found: npt.NDArray[np.bool_] | None = self._cache[key]
        return found

    def _packets(self, core: int, name: str) -> npt.NDArray[np.bool_] | None:
        dma = self.found.dma
        if dma is None:
            return None
        queue = name.removeprefix("dma:")
        if queue in dma.queues:
            found: npt.NDArray[np.bool_] = (dma.queue == dma.queues.index(queue)) & (
                dma.core == core
            )
            return found
        issued = [
            row
            for (of, number), rows in self._issues.items()
            for row in rows.tolist()
            if of == core and self._names.get((of, number)) == name
        ]
        if not issued:
            return None
        wanted = int(self._bytes[issued].sum())
        ring = dma.kind.astype(np.int64) * (1 << 20) + dma.index
        by_gpsimd = self.lines.engines[self.lines.engine[issued[0]]] == "gpsimd"
        built = "software_dynamic" if by_gpsimd else "hardware_dynamic"
        kind = dma.classes.index(built) if built in dma.classes else -2
        rings: list[npt.NDArray[np.bool_]] = [
            (ring == one) & (dma.core == core)
            for one in np.unique(ring[(dma.core == core) & (dma.kind == kind)]).tolist()
        ]
        same = [rows for rows in rings if int(dma.size[rows & dma.payload].sum()) == wanted]
        # a transfer that converts moves other bytes than it stores: then only one ring is clear
        return next(iter(same), rings[0] if len(rings) == 1 else None)

    def _by_end(self, core: int, name: str) -> tuple[Int64Array, Int64Array, Int64Array] | None:
        """Return the payload packets of a queue by their ends, these, and bytes up to each."""
        key = ("by end", core, name)
        if key not in self._cache:
            mine, dma = self.packets(core, name), self.found.dma
            self._cache[key] = None
            if mine is not None and dma is not None:
                rows = np.flatnonzero(mine & dma.payload)
                rows = rows[np.argsort(dma.end[rows], kind="stable")]
                done = np.concatenate([[0], np.cumsum(dma.size[rows])])
                self._cache[key] = (rows, dma.end[rows], done)
        found: tuple[Int64Array, Int64Array, Int64Array] | None = self._cache[key]
        return found

    def _flight(
        self, core: int, name: str, issuer: int, reached: int, wanted: int
    ) -> tuple[int | None, int | None]:
        dma, ordered = self.found.dma, self._by_end(core, name)
        if dma is None or ordered is None:
            return None, None
        rows, ends, done = ordered
        begin = int(self.lines.start[issuer]) if issuer >= 0 else self.found.phases.first_ps
        stop = int(np.searchsorted(ends, reached + self.slack_ps, "right"))
        first = int(np.searchsorted(ends, begin, "right"))
        if wanted > 0:
            # the latest packets that together carry what was asked for
            first = max(first, int(np.searchsorted(done, done[stop] - wanted, "right")) - 1)
        mine = rows[first:stop]
        mine = mine[dma.start[mine] >= begin]
        if not len(mine):
            return None, None
        return int(dma.start[mine].min()), int(dma.end[mine].max())


def build_graph(capture: Capture, found: Activity) -> Graph:
    """Return the edges of a capture's instructions.

    Raises ``MissingTableError`` when the capture has no instructions or operands.
    """
    lines = found.instructions
    operands = read_operands(capture.instructions) if lines is not None else None
    if lines is None or operands is None:
        raise MissingTableError(
            f"{capture.path}: who waited for whom stands in the operands of instructions, "
            "which this capture does not have"
        )
    signals = read_signals(capture, lines, operands)
    row = lines.row
    semaphore = operands.integers("wait")[row]
    inner = operands.integers("inner_wait")[row]
    value = operands.integers("wait_value")[row]
    inner_value = operands.integers("inner_value")[row]
    reached, source = _reached(signals, lines, semaphore, value, lines.start)
    inner_reached, inner_source = _reached(signals, lines, inner, inner_value, lines.end)
    issued = operands.integers("dma_semaphore")[row]
    size = operands.integers("dma_bytes")[row]
    return Graph(
        lines=lines,
        operands=operands,
        found=found,
        previous=_previous(lines),
        semaphore=semaphore,
        inner_semaphore=inner,
        value=value,
        inner_value=inner_value,
        reached=reached,
        inner_reached=inner_reached,
        source=source,
        inner_source=inner_source,
        slack_ps=signals.slack_ps,
        _signals=_by_semaphore(lines, operands.integers("signal")[row], lines.end),
        _issues=_by_semaphore(lines, issued, lines.start),
        _bytes=size,
        _increment=operands.integers("dma_increment")[row],
        _updates=signals,
        _names=signals.names,
    )


def _reached(
    signals: Signals, lines: Timeline, semaphore: Int64Array, value: Int64Array, until: Int64Array
) -> tuple[Int64Array, npt.NDArray[np.object_]]:
    time = np.full(len(lines), NEVER, np.int64)
    source = np.full(len(lines), "", np.object_)
    rows = np.flatnonzero(semaphore >= 0)
    time[rows], source[rows] = signals.reached(
        lines.core[rows], semaphore[rows], value[rows], until[rows]
    )
    return time, source


def _previous(lines: Timeline) -> Int64Array:
    order = np.lexsort((np.arange(len(lines)), lines.start, lines.engine, lines.core))
    previous = np.full(len(lines), _NONE, np.int64)
    same = (lines.engine[order][1:] == lines.engine[order][:-1]) & (
        lines.core[order][1:] == lines.core[order][:-1]
    )
    previous[order[1:][same]] = order[:-1][same]
    return previous


def _by_semaphore(
    lines: Timeline, number: Int64Array, time: Int64Array
) -> dict[tuple[int, int], Int64Array]:
    rows = np.flatnonzero(number >= 0)
    if not len(rows):
        return {}
    rows = rows[np.lexsort((time[rows], number[rows], lines.core[rows]))]
    pair = lines.core[rows] * (1 << 32) + number[rows]
    parts = np.split(rows, np.flatnonzero(np.diff(pair)) + 1)
    return {(int(lines.core[part[0]]), int(number[part[0]])): part for part in parts}
