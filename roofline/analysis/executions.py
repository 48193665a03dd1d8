"""Executions on the device: the rows of its cores merged, and the launch each belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from roofline.analysis.columns import codes, integers, known
from roofline.analysis.launch_links import ids, link_by_id
from roofline.intervals import Int64Array, Intervals, merge

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Executions", "merge_cores", "own", "running_rows"]

_RUNNING: Final = "nc_exec_running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Executions:
    """Executions with times in int64 ns; ``owner`` is the launch of each, -1 for none."""

    starts: Int64Array
    ends: Int64Array
    owner: Int64Array

    @property
    def running(self) -> Intervals:
        """Return the times with an execution on the device."""
        return merge(self.starts, self.ends)


def running_rows(device: pa.Table) -> pa.Table:
    """Return the rows of a ``device`` table that are executions with a readable start."""
    import pyarrow as pa
    import pyarrow.compute as pc

    running = pc.equal(device["name"].cast(pa.string()), _RUNNING)
    return device.filter(pc.and_(running, pa.array(known(device, "start_ts"))))


def merge_cores(device: pa.Table) -> pa.Table:
    """Return one row per execution: earliest start to latest end of the cores that took part."""
    import pyarrow as pa

    if not device.num_rows:
        return device
    group = _groups(device)
    count = int(group.max()) + 1
    start = np.full(count, np.iinfo(np.int64).max)
    end = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(start, group, integers(device, "start_ts"))
    np.maximum.at(end, group, integers(device, "end_ts"))
    merged = device.take(np.unique(group, return_index=True)[1])
    for name, values in (("start_ts", start), ("end_ts", end), ("duration_ns", end - start)):
        merged = merged.set_column(merged.column_names.index(name), name, pa.array(values))
    return merged.sort_by([("start_ts", "ascending")])


def own(merged: pa.Table, rows: pa.Table, starts: Int64Array, ends: Int64Array) -> Executions:
    """Return the executions with the launch of each.

    The launch with the same sequence number, else the latest launch whose window holds the start;
    ``rows`` are the launches, sorted by ``starts``.
    """
    begin, stop = integers(merged, "start_ts"), integers(merged, "end_ts")
    if not len(starts) or not len(begin):
        return Executions(starts=begin, ends=stop, owner=np.full(len(begin), -1, np.int64))
    owner = link_by_id(ids(merged, "nrt_sequence_id"), ids(rows, "nrt_sequence_id"))
    held = np.searchsorted(starts, begin, "right") - 1
    inside = (held >= 0) & (begin < ends[np.maximum(held, 0)])
    owner = np.where(owner >= 0, owner, np.where(inside, held, -1))
    return Executions(starts=begin, ends=stop, owner=owner)


def _groups(device: pa.Table) -> Int64Array:
    """Return a group number per row: the rows that the cores report of one execution.

    By the runtime's sequence number; where it is missing, by execution and model identifier; where
    those are missing too, rows that overlap in time.
    """
    sequence = ids(device, "nrt_sequence_id")
    exec_id, _ = codes(device, "exec_id")
    model_id, models = codes(device, "model_id")
    order = np.argsort(integers(device, "start_ts"), kind="stable")
    reach = np.maximum.accumulate(integers(device, "end_ts")[order])
    apart = np.concatenate([[True], integers(device, "start_ts")[order][1:] >= reach[:-1]])
    cluster = np.zeros(len(order), np.int64)
    cluster[order] = np.cumsum(apart)
    by_exec = (exec_id.astype(np.int64) + 1) * (len(models) + 1) + model_id + 1
    kind = np.where(sequence != 0, 0, np.where(exec_id >= 0, 1, 2))
    value = np.where(kind == 0, sequence.view(np.int64), np.where(kind == 1, by_exec, cluster))
    _, group = np.unique(np.stack([kind, value], axis=1), axis=0, return_inverse=True)
    return np.asarray(group, np.int64).reshape(-1)
