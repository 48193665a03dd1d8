"""Join what a device did to the operator that asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import codes, integers, known
from roofline.analysis.dispatch import HostOps
from roofline.intervals import Int64Array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LINKS", "ids", "link_by_id", "link_launches"]

LINKS: Final = ("none", "external id", "flow", "name and time")
"""How a launch was joined to its operator, from no link to the weakest one."""

Uint64Array = npt.NDArray[np.uint64]


def ids(table: pa.Table, name: str) -> Uint64Array:
    """Return a column of identifiers; 0 where the event has none."""
    return np.asarray(table.column(name).fill_null(0).to_numpy(), np.uint64)


def link_by_id(wanted: Uint64Array, held: Uint64Array) -> Int64Array:
    """Return for each wanted identifier the first row that holds it, -1 for none; 0 is none."""
    result = np.full(len(wanted), -1, np.int64)
    if not len(held):
        return result
    order = np.argsort(held, kind="stable")
    index = np.minimum(np.searchsorted(held[order], wanted), len(held) - 1)
    hit = (held[order[index]] == wanted) & (wanted != 0)
    result[hit] = order[index[hit]]
    return result


def link_launches(
    launches: pa.Table, ops: pa.Table, host: HostOps, flows: pa.Table
) -> tuple[Int64Array, Int64Array]:
    """Return for each launch the operator's row (-1: none) and how it was found (``LINKS``).

    By ``External id`` first, then by the flow that ends at the launch, then by the latest operator
    of the same name that started before it and has no launch yet.
    """
    row = link_by_id(ids(launches, "external_id"), ids(ops, "external_id"))
    how = np.where(row >= 0, 1, 0)
    if (row < 0).any() and flows.num_rows:
        by_flow = _by_flow(launches, host, flows, np.flatnonzero(row < 0))
        how[by_flow >= 0] = 2
        row = np.where(by_flow >= 0, by_flow, row)
    if (row < 0).any():
        by_name = _by_name(launches, ops, row)
        how[by_name >= 0] = 3
        row = np.where(by_name >= 0, by_name, row)
    return row, how


def _by_flow(launches: pa.Table, host: HostOps, flows: pa.Table, open_: Int64Array) -> Int64Array:
    result = np.full(launches.num_rows, -1, np.int64)
    start: dict[str, tuple[tuple[str, str], int]] = {}
    finish: dict[tuple[str, str, int], str] = {}
    for flow in flows.to_pylist():
        place = (flow["pid"] or "", flow["tid"] or "")
        if flow["start_ts"] is None or flow["flow_id"] is None:
            continue
        if flow["phase"] == "s":
            start[flow["flow_id"]] = (place, flow["start_ts"])
        else:
            finish[*place, flow["start_ts"]] = flow["flow_id"]
    rows = launches.select(["pid", "tid", "start_ts"]).take(open_).to_pylist()
    for index, launch in zip(open_.tolist(), rows, strict=True):
        flow_id = finish.get((launch["pid"] or "", launch["tid"] or "", launch["start_ts"]))
        if flow_id in start:
            result[index] = host.unit_at(*start[flow_id])
    return result


def _by_name(launches: pa.Table, ops: pa.Table, linked: Int64Array) -> Int64Array:
    result = np.full(launches.num_rows, -1, np.int64)
    launch_name, launch_texts = codes(launches, "name")
    op_name, op_texts = codes(ops, "name")
    launch_start, op_start = integers(launches, "start_ts"), integers(ops, "start_ts")
    free = known(ops, "start_ts")
    free[linked[linked >= 0]] = False
    timed = known(launches, "start_ts")
    for code, text in enumerate(launch_texts):
        if text not in op_texts:
            continue
        mine = np.flatnonzero((launch_name == code) & (linked < 0) & timed)
        mine = mine[np.argsort(launch_start[mine], kind="stable")]
        candidates = np.flatnonzero((op_name == op_texts.index(text)) & free)
        candidates = candidates[np.argsort(op_start[candidates], kind="stable")]
        if not len(mine) or not len(candidates):
            continue
        index = np.searchsorted(op_start[candidates], launch_start[mine], "right") - 1
        once = np.concatenate([[True], np.diff(index) != 0]) & (index >= 0)
        result[mine[once]] = candidates[index[once]]
    return result
