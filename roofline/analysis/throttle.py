"""The limit on the Tensor engine's clock in force over time: k of n."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import has, integers
from roofline.analysis.timeline import PS_PER_NS, Timeline, base_ns
from roofline.captures.capture import Capture
from roofline.hardware.model import Hardware
from roofline.intervals import Int64Array

__all__ = ["limit_spans", "limited_share", "mean_limit"]

_START: float = -(2.0**62)


def limit_spans(
    capture: Capture, core: int, hardware: Hardware | None = None
) -> tuple[Int64Array, npt.NDArray[np.float64]]:
    """Return the starts of spans in ps, and the share of the full rate allowed from each on.

    Before the first record a chip that starts limited (``throttle.start_rate_ratio``) is limited;
    on others, and in a capture without the table, nothing is known and 1 is returned.
    """
    start_ratio = 1.0
    if hardware is not None and "throttle.start_rate_ratio" in hardware.values:
        start_ratio = hardware.value("throttle.start_rate_ratio").value
    first = np.array([int(_START)], np.int64)
    if not capture.has("throttle"):
        return first, np.array([1.0])
    table = capture.throttle
    if not table.num_rows or not has(table, "timestamp", "k", "n"):
        return first, np.array([start_ratio])
    rows = np.ones(table.num_rows, np.bool_)
    if has(table, "pcore_idx"):
        rows = integers(table, "pcore_idx") == core
    time = (integers(table, "timestamp")[rows] - base_ns(capture)) * PS_PER_NS
    k, n = integers(table, "k")[rows], integers(table, "n")[rows]
    order = np.argsort(time, kind="stable")
    ratio = np.where(n[order] > 0, k[order] / np.maximum(n[order], 1), 1.0)
    return np.concatenate([first, time[order]]), np.concatenate([[start_ratio], ratio])


def mean_limit(
    capture: Capture, core: int, edges: Int64Array, hardware: Hardware | None = None
) -> npt.NDArray[np.float64]:
    """Return the mean share of the full rate allowed in each bin ``edges[i] .. edges[i + 1]``."""
    starts, ratio = limit_spans(capture, core, hardware)
    at = np.maximum(starts, int(edges[0]))
    done = np.concatenate([[0.0], np.cumsum(np.diff(at) * ratio[:-1])])
    passed = np.diff(_integral(at, done, ratio, edges))
    mean: npt.NDArray[np.float64] = passed / np.diff(edges)
    return mean


def limited_share(
    capture: Capture, lines: Timeline, rows: Int64Array, hardware: Hardware | None = None
) -> npt.NDArray[np.float64]:
    """Return the mean share of the full rate that was allowed while each row ran, ``[rows]``."""
    result = np.ones(len(rows))
    for core in np.unique(lines.core[rows]).tolist():
        mine = np.flatnonzero(lines.core[rows] == core)
        starts, ratio = limit_spans(capture, int(core), hardware)
        begin, end = lines.start[rows[mine]], lines.end[rows[mine]]
        # the integral of the limit up to a time; the first span starts before any row
        zero = int(begin.min()) if len(begin) else 0
        edges = np.maximum(starts, zero)
        lengths = np.diff(edges).astype(np.float64)
        done = np.concatenate([[0.0], np.cumsum(lengths * ratio[:-1])])

        length = (end - begin).astype(np.float64)
        point = ratio[np.searchsorted(edges, begin, "right") - 1]
        passed = _integral(edges, done, ratio, end) - _integral(edges, done, ratio, begin)
        mean = passed / np.where(length > 0, length, 1.0)
        result[mine] = np.where(length > 0, mean, point)
    return np.clip(result, 1e-6, 1.0)


def _integral(
    edges: Int64Array,
    done: npt.NDArray[np.float64],
    ratio: npt.NDArray[np.float64],
    times: Int64Array,
) -> npt.NDArray[np.float64]:
    at = np.searchsorted(edges, times, "right") - 1
    passed: npt.NDArray[np.float64] = done[at] + (times - edges[at]) * ratio[at]
    return passed
