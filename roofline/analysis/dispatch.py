"""Which host rows of a trace are the operators a program called, and what lies inside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import codes, integers, known
from roofline.intervals import Int64Array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NO_KERNEL", "Axis", "HostOps", "find_units"]

_COMPILED: Final = ("Torch-Compiled Region", "CompiledFunction")

NO_KERNEL: Final = frozenset(
    f"aten::{name}"
    for name in (
        "alias", "as_strided", "chunk", "contiguous", "detach", "detach_", "empty", "empty_like",
        "empty_strided", "expand", "expand_as", "flatten", "item", "_local_scalar_dense",
        "lift_fresh", "movedim", "narrow", "new_empty", "new_empty_strided", "permute",
        "_reshape_alias", "reshape", "resize_", "resolve_conj", "resolve_neg", "result_type",
        "select", "set_", "slice", "split", "split_with_sizes", "squeeze", "swapaxes", "t",
        "to", "type_as", "transpose", "unbind", "unflatten", "unsafe_view", "_unsafe_view",
        "unsqueeze", "view",
        "view_as", "is_nonzero",
    )
)  # fmt: skip
"""Operators that allocate, describe, reshape or pass on without a kernel of their own.

One of them that contains another operator (a conversion that copies) does have work to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """All threads laid end to end on one integer axis, so that nesting is a question of 1-D."""

    base_ns: int
    span_ns: int

    def place(self, threads: Int64Array, times: Int64Array) -> Int64Array:
        """Return the places of times on threads; a time outside the span goes to its edge."""
        return threads * self.span_ns + np.clip(times - self.base_ns, 0, self.span_ns - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOps:
    """Host rows and the units among them.

    ``codes`` are equal where ``names`` are.

    A unit is an outermost operator (``aten::mul``, a compiled region), or a range without
    operators inside it (a guard look-up). ``units`` are their row numbers, sorted along the axis;
    ``unit_of`` gives, for each row, the row number of the unit around it or -1; ``is_operator``
    marks the units that are operators with work to do. Times are int64 ns.
    """

    names: npt.NDArray[np.object_]
    codes: npt.NDArray[np.int32]
    threads: tuple[tuple[str, str], ...]
    starts: Int64Array
    ends: Int64Array
    units: Int64Array
    unit_of: Int64Array
    is_operator: npt.NDArray[np.bool_]
    axis: Axis
    first: Int64Array
    last: Int64Array

    def unit_at(self, thread: tuple[str, str], time_ns: int) -> int:
        """Return the row of the unit around a time on thread (pid, tid), -1 where there is none."""
        if thread not in self.threads:
            return -1
        number = np.array([self.threads.index(thread)], np.int64)
        place = self.axis.place(number, np.array([time_ns], np.int64))
        return int(_enclosing(self.units, self.first, self.last, place)[0])


def find_units(ops: pa.Table) -> HostOps:
    """Return the units of a ``cpu_ops`` table with names, threads, starts and ends.

    Nesting is by containment on one thread. Rows without a readable start are in no unit.
    """
    name, texts = codes(ops, "name")
    pid, pids = codes(ops, "pid")
    tid, tids = codes(ops, "tid")
    pairs, thread = np.unique(
        (pid.astype(np.int64) + 1) * (len(tids) + 1) + tid + 1, return_inverse=True
    )
    starts, ends = integers(ops, "start_ts"), integers(ops, "end_ts")
    timed = known(ops, "start_ts")
    base = int(starts[timed].min()) if timed.any() else 0
    span = int(ends[timed].max()) - base + 2 if timed.any() else 1
    axis = Axis(base_ns=base, span_ns=span)
    first, last = axis.place(thread, starts), axis.place(thread, ends)

    operator = _of_names(name, texts, _is_operator) & timed
    units = _outermost(np.flatnonzero(operator), first, last)
    # a range around units is a wrapper; one without any inside it is host time of its own
    others = _outermost(np.flatnonzero(~operator & timed), first, last)
    wrappers = _enclosing(others, first, last, first[units])
    apart = _enclosing(units, first, last, first[others]) < 0
    units = np.concatenate([units, others[apart & ~np.isin(others, wrappers)]])
    units = units[np.argsort(first[units], kind="stable")]

    unit_of = _enclosing(units, first, last, first)
    unit_of[~timed] = -1
    working = operator & ~_of_names(name, texts, NO_KERNEL.__contains__)
    is_operator = np.zeros(len(starts) + 1, np.bool_)
    is_operator[unit_of[working]] = True
    is_operator = is_operator[:-1] & operator  # the last one is for rows in no unit
    return HostOps(
        names=np.array([*texts, ""], object)[name],
        codes=name,
        threads=tuple(
            ((*pids, "")[code // (len(tids) + 1) - 1], (*tids, "")[code % (len(tids) + 1) - 1])
            for code in pairs.tolist()
        ),
        starts=starts,
        ends=ends,
        units=units,
        unit_of=unit_of,
        is_operator=is_operator,
        axis=axis,
        first=first,
        last=last,
    )


def _is_operator(name: str) -> bool:
    return "::" in name or name.startswith(_COMPILED)


def _of_names(
    name: npt.NDArray[np.int32], texts: list[str], test: Callable[[str], bool]
) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = np.array([*map(test, texts), False], np.bool_)[name]
    return found


def _outermost(rows: Int64Array, first: Int64Array, last: Int64Array) -> Int64Array:
    """Return the rows that no other of ``rows`` encloses, sorted along the axis."""
    if not len(rows):
        return rows
    # the longer one first where two start together, then the earlier row
    order = rows[np.lexsort((rows, -last[rows], first[rows]))]
    reach = np.maximum.accumulate(last[order])
    keep = np.flatnonzero(np.concatenate([[True], first[order][1:] >= reach[:-1]]))
    return order[keep]


def _enclosing(
    rows: Int64Array, first: Int64Array, last: Int64Array, places: Int64Array
) -> Int64Array:
    """Return which of the disjoint, sorted ``rows`` holds each place; -1 where none does."""
    if not len(rows):
        return np.full(len(places), -1, np.int64)
    index = np.searchsorted(first[rows], places, "right") - 1
    found = rows[np.maximum(index, 0)]
    holds = (index >= 0) & ((places < last[found]) | (places == first[found]))
    return np.where(holds, found, -1)
