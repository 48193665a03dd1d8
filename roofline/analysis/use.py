"""The Use of a capture's window: busy time by resource, their union, and what was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roofline.analysis.activity import Activity
from roofline.analysis.columns import integers
from roofline.analysis.observed import Use
from roofline.engines import COMPUTE_ENGINES
from roofline.intervals import EMPTY, merge

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["use_of"]

_PS_PER_NS = 1000
_PS = 1e-12


def use_of(found: Activity, clock: str, throttle: pa.Table | None = None) -> Use | None:
    """Return how engines and DMA were used in the window of ``found``, cores merged.

    An engine counts while it computes: waits, DMA issue, table loads and control are not work.
    ``throttle`` is the capture's table of limits. ``None`` where instructions or packets are
    missing: what is busy is then not known.
    """
    if found.instructions is None or found.dma is None:
        return None
    busy = {name: found.busy(name, kind="compute") for name in COMPUTE_ENGINES}
    computing = EMPTY.union(*busy.values())
    moving = found.transfers()
    active = {name: spans.total * _PS for name, spans in busy.items() if len(spans)}
    if len(moving):
        active["dma"] = moving.total * _PS
    return Use(
        clock=clock,
        window_s=found.window.seconds,
        active_s=active,
        any_s=computing.union(moving).total * _PS,
        exposed_dma_s=moving.subtract(computing).total * _PS,
        throttled_s=None if throttle is None else _throttled(found, throttle),
    )


def _throttled(found: Activity, table: pa.Table) -> float:
    """Return the time in s that limits took from the Tensor engine while it computed."""
    if not table.num_rows:
        return 0.0
    start = integers(table, "timestamp") * _PS_PER_NS
    end = start + integers(table, "duration") * _PS_PER_NS
    core, k, n = (integers(table, name) for name in ("pcore_idx", "k", "n"))
    lost = 0.0
    for each, part, whole in {*zip(core.tolist(), k.tolist(), n.tolist(), strict=True)}:
        if part >= whole:
            continue
        rows = np.flatnonzero((core == each) & (k == part) & (n == whole))
        limited = merge(start[rows], end[rows]).intersect(found.busy("tensor", each, "compute"))
        lost += limited.total * _PS * (1 - part / whole)
    return lost
