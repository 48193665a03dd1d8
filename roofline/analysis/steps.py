"""The profiler steps of a trace, and which of them are warm-up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import codes, integers, known
from roofline.errors import QueryError
from roofline.intervals import Int64Array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["WARMUP_RULE", "Steps", "find_steps"]

_STEP: Final = re.compile(r"ProfilerStep#(\d+)$")
_SLOW: Final = 2
_FOLLOWERS: Final = 2
_LOADING: Final = ("nrt_load", "nrta_load", "kmgr_load", "kbl_load")

WARMUP_RULE: Final = (
    "a leading step is warm-up while it loads a model or takes more than "
    f"{_SLOW} x the median of the steps after it (of which there must be {_FOLLOWERS})"
)
"""Which steps are left out unless the number of warm-up steps is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps sorted by start: numbers, times in int64 ns, and which are warm-up."""

    numbers: Int64Array
    starts: Int64Array
    ends: Int64Array
    warmup: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts)

    def of(self, times: Int64Array) -> Int64Array:
        """Return the step each time lies in, -1 outside all of them."""
        if not len(self):
            return np.full(len(times), -1, np.int64)
        index = np.searchsorted(self.starts, times, "right") - 1
        inside = (index >= 0) & (times < self.ends[np.maximum(index, 0)])
        return np.where(inside, index, -1)


def find_steps(annotations: pa.Table, runtime: pa.Table, warmup: int | None = None) -> Steps:
    """Return the ``ProfilerStep#`` ranges of a trace.

    ``warmup`` is the number of leading steps to leave out; ``None`` applies ``WARMUP_RULE``.
    Raises ``QueryError`` if it would leave no step.
    """
    name, texts = codes(annotations, "name")
    number_of = [int(match[1]) if (match := _STEP.match(text)) else -1 for text in texts]
    numbers = np.array([*number_of, -1], np.int64)[name]
    rows = np.flatnonzero((numbers >= 0) & known(annotations, "start_ts"))
    starts, ends = integers(annotations, "start_ts"), integers(annotations, "end_ts")
    rows = rows[np.argsort(starts[rows], kind="stable")]
    # a device may repeat the range on its own track: the first one of a number is the host's
    _, first = np.unique(numbers[rows], return_index=True)
    rows = rows[np.sort(first)]
    count = len(rows)
    if warmup is not None and (warmup < 0 or (warmup >= count and warmup > 0)):
        raise QueryError(f"{warmup} warm-up steps of {count}: at least one step has to remain")
    leading = warmup if warmup is not None else _leading(starts[rows], ends[rows], runtime)
    return Steps(
        numbers=numbers[rows],
        starts=starts[rows],
        ends=ends[rows],
        warmup=np.arange(count) < leading,
    )


def _leading(starts: Int64Array, ends: Int64Array, runtime: pa.Table) -> int:
    name, texts = codes(runtime, "name")
    loads = np.array([*(text.startswith(_LOADING) for text in texts), False], np.bool_)[name]
    times = integers(runtime, "start_ts")[loads]
    durations = ends - starts
    leading = 0
    while leading < len(starts) - 1:
        after = durations[leading + 1 :]
        loading = bool(((times >= starts[leading]) & (times < ends[leading])).any())
        slow = len(after) >= _FOLLOWERS and durations[leading] > _SLOW * np.median(after)
        if not loading and not slow:
            break
        leading += 1
    return leading
