"""Semaphore updates over time: when a waited-for value was reached, and who reached it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import codes, has, integers
from roofline.analysis.operands import EVENT, Operands, signaller
from roofline.analysis.timeline import PS_PER_NS, Timeline, base_ns
from roofline.captures.capture import Capture
from roofline.engines import VENDOR_NAMES, engine_key
from roofline.errors import RooflineError
from roofline.intervals import Int64Array

_SEMAPHORE: Final = re.compile(r"(?:([SE])\[)?(\d+)\]?(?: \(([^)]*)\))?")

__all__ = ["NEVER", "Signals", "read_signals"]

NEVER = -(2**62)
"""Time of a signal that is not in the capture."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _History:
    """Updates of one semaphore on one core, by time.

    ``epoch`` counts its resets, ``undone`` sums what it held before each of them.
    """

    time: Int64Array
    value: Int64Array
    source: npt.NDArray[np.int32]
    epoch: Int64Array
    undone: Int64Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Signals:
    """All semaphore updates of a capture, and the names of those who signal.

    ``sources`` are engine keys and ``dma:queue`` (``dma`` where the queue is not known).
    ``slack_ps`` is how much later than its effect an update may be written, through rounding.
    """

    histories: dict[tuple[int, int], _History]
    sources: tuple[str, ...]
    names: dict[tuple[int, int], str]
    slack_ps: int

    def reached(
        self, core: Int64Array, semaphore: Int64Array, value: Int64Array, before: Int64Array
    ) -> tuple[Int64Array, npt.NDArray[np.object_]]:
        """Return when each waited-for value was reached, at the latest at ``before``, and by whom.

        All arrays ``[waits]``, times in ps. A time is ``NEVER`` and a name empty where the capture
        does not show the update.
        """
        time = np.full(len(core), NEVER, np.int64)
        source = np.full(len(core), "", np.object_)
        pair = core * (1 << 32) + semaphore
        order = np.argsort(pair, kind="stable")
        cuts = np.flatnonzero(np.diff(pair[order])) + 1
        for rows in np.split(order, cuts) if len(order) else ():
            key = int(core[rows[0]]), int(semaphore[rows[0]])
            name = self.names.get(key, "")
            source[rows] = name
            history = self.histories.get(key)
            if history is None:
                continue
            last = np.searchsorted(history.time, before[rows] + self.slack_ps, "right") - 1
            held = last >= 0
            epoch = history.epoch[np.maximum(last, 0)]
            # values never fall inside an epoch, so (epoch, value) is sorted
            scale = int(max(history.value.max(), value[rows].max())) + 2
            at = np.searchsorted(
                history.epoch * scale + np.maximum(history.value, 0),
                epoch * scale + value[rows],
                "left",
            )
            found = held & (at <= last)
            index = np.minimum(at, len(history.time) - 1)
            time[rows] = np.where(found, history.time[index], NEVER)
            if self.sources:
                told = np.array([*self.sources, name], np.object_)[history.source[index]]
                plain = np.array([not each or each == "dma" for each in told], np.bool_)
                source[rows] = np.where(plain & bool(name), name, told)
        return time, source

    def counted(self, core: int, semaphore: int, value: int, reached: int) -> int:
        """Return what a semaphore counted in all when it reached ``value``, resets undone.

        ``value`` alone where the capture does not show its updates.
        """
        history = self.histories.get((core, semaphore))
        if history is None:
            return value
        at = int(np.searchsorted(history.time, reached, "right")) - 1
        return value + (int(history.undone[at]) if at >= 0 else 0)


def read_signals(capture: Capture, lines: Timeline, operands: Operands) -> Signals:
    """Return the semaphore updates of a capture; empty where it has no such table."""
    names = _names(capture, lines, operands)
    table = capture.semaphores if capture.has("semaphores") else None
    if table is None or not has(table, "timestamp", "id", "value"):
        return Signals(histories={}, sources=(), names=names, slack_ps=PS_PER_NS)
    exact = has(table, "timestamp_ps")
    if exact:
        time = integers(table, "timestamp_ps") - base_ns(capture) * PS_PER_NS
    else:
        time = (integers(table, "timestamp") - base_ns(capture)) * PS_PER_NS
    number, told = _numbers(table, "id")
    value = integers(table, "value")
    core = integers(table, "pcore_idx") if has(table, "pcore_idx") else np.zeros(len(value), int)
    source, sources = _sources(table)
    for at, text in told.items():
        for one in np.unique(core).tolist():
            names.setdefault((int(one), at), signaller(text))
    order = np.lexsort((np.arange(len(time)), time, number, core))
    pair = core[order] * (1 << 32) + number[order]
    histories = {}
    for rows in np.split(order, np.flatnonzero(np.diff(pair)) + 1) if len(order) else ():
        falls = np.diff(value[rows]) < 0
        histories[int(core[rows[0]]), int(number[rows[0]])] = _History(
            time=time[rows],
            value=value[rows],
            source=source[rows],
            epoch=np.concatenate([[0], np.cumsum(falls)]).astype(np.int64),
            undone=np.concatenate([[0], np.cumsum(falls * value[rows][:-1])]).astype(np.int64),
        )
    return Signals(
        histories=histories,
        sources=sources,
        names=names,
        slack_ps=0 if exact else PS_PER_NS,
    )


def _numbers(table: Any, name: str) -> tuple[Int64Array, dict[int, str]]:
    """Return semaphore numbers by row, and the names that stand beside them in the text."""
    import pyarrow as pa

    if pa.types.is_integer(table.schema.field(name).type):
        return integers(table, name), {}
    code, texts = codes(table, name)
    matches = [_SEMAPHORE.fullmatch(text.strip()) for text in texts]
    of = [int(match[2]) + (EVENT if match[1] == "E" else 0) if match else -1 for match in matches]
    numbers: Int64Array = np.array([*of, -1], np.int64)[code]
    named = {number: match[3] for number, match in zip(of, matches, strict=True) if match}
    return numbers, {number: text for number, text in named.items() if text}


def _sources(table: Any) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    if not has(table, "update_source"):
        return np.full(table.num_rows, -1, np.int32), ()
    code, texts = codes(table, "update_source")
    names = []
    for text in texts:
        try:
            names.append(engine_key(text))
        except RooflineError:  # "AXI", "dma ring 3": something that is no engine
            names.append("dma" if text.lower() in ("axi", "dma") else text)
    return code, tuple(names)


def _names(capture: Capture, lines: Timeline, operands: Operands) -> dict[tuple[int, int], str]:
    """Name the signaller of each semaphore from what waits for it and what issues it."""
    names: dict[tuple[int, int], str] = {}
    core = lines.core
    for number, text in (("wait", "wait_name"), ("inner_wait", "inner_name")):
        waited, told = operands.integers(number)[lines.row], operands.names(text)[lines.row]
        named = np.flatnonzero(told.astype(bool))
        for row in named[_first_of_each(core[named], waited[named])].tolist():
            names.setdefault((int(core[row]), int(waited[row])), signaller(told[row]))
    queues: tuple[str, ...] = ()
    if capture.has("dma") and has(capture.dma, "queue_name"):
        queues = tuple(codes(capture.dma, "queue_name")[1])
    issued = operands.integers("dma_semaphore")[lines.row]
    for row in _first_of_each(core, issued).tolist():
        engine = lines.engines[lines.engine[row]]
        word = VENDOR_NAMES.get(engine, engine)
        queue = next((name for name in queues if word in name and "Dynamic" in name), engine)
        names.setdefault((int(core[row]), int(issued[row])), f"dma:{queue}")
    return names


def _first_of_each(core: Int64Array, number: Int64Array) -> Int64Array:
    _, first = np.unique(core * (1 << 32) + number, return_index=True)
    named: Int64Array = first[number[first] >= 0]
    return named
