"""The Use of a capture's window: busy time by resource, and their union."""

from __future__ import annotations

from roofline.analysis.activity import Activity
from roofline.analysis.observed import Use
from roofline.engines import COMPUTE_ENGINES
from roofline.intervals import EMPTY

__all__ = ["use_of"]

_PS = 1e-12


def use_of(found: Activity, clock: str) -> Use | None:
    """Return how engines and DMA were used in the window of ``found``, cores merged.

    An engine counts while it computes: waits, DMA issue, table loads and control are not work.
    ``None`` where instructions or packets are missing: what is busy is then not known.
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
    )
