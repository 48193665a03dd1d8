"""What a figure of a capture shows: its engines over time, and where its time went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from roofline.analysis.bounds_counters import capture_bounds
from roofline.analysis.utilization import utilization
from roofline.captures.capture import Capture
from roofline.errors import CaptureError, QueryError
from roofline.hardware.model import Hardware

__all__ = ["CaptureView", "LaneView", "capture_steps", "capture_view"]

_BINS: Final = 2048
_SHARE: Final = 1000  # shares are in thousandths


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneView:
    """One engine of one core, or its DMA, in equal bins: thousandths of each bin at work.

    ``working`` is compute (for ``dma``: a packet in flight), ``active`` adds weight loads, DMA
    issue, table loads and control. Waits are in neither.
    """

    resource: str
    core: int
    working: tuple[int, ...]
    active: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureView:
    """A capture to look at. ``steps`` are (name, words, s) down from its total to the lower bound.

    ``body_s`` is (start, end) of the body in ``total_s``. A capture without events has no lanes.
    """

    name: str
    total_s: float
    body_s: tuple[float, float]
    lanes: tuple[LaneView, ...]
    steps: tuple[tuple[str, str, float], ...]
    lower_bound_source: str


def capture_view(capture: Capture, hardware: Hardware) -> CaptureView:
    """Return the view of a capture; parts it has no data for are empty."""
    total = float(capture.summary.get("total_time") or 0.0)
    steps, counted, source = capture_steps(capture, hardware)
    total = counted or total
    body = (0.0, total)
    lanes: tuple[LaneView, ...] = ()
    if capture.has("instructions") or capture.has("dma"):
        use = utilization(capture, window="total", bins=_bins(capture))
        at = use.attrs
        total = at["window_ps"] / 1e12
        body = (at["start_up_ps"] / 1e12, (at["start_up_ps"] + at["body_ps"]) / 1e12)
        lanes = tuple(_lanes(use))
    return CaptureView(
        name=capture.path.name,
        total_s=total,
        body_s=body,
        lanes=lanes,
        steps=steps,
        lower_bound_source=source,
    )


def capture_steps(
    capture: Capture, hardware: Hardware
) -> tuple[tuple[tuple[str, str, float], ...], float, str]:
    """Return (name, words, s) from the lower bound up, the total in s, and what the bound is of.

    Without data for bounds there are no steps, and the total is 0.
    """
    try:
        found = capture_bounds(capture, hardware)
    except (CaptureError, QueryError):
        return (), 0.0, ""
    steps = tuple(
        (str(name), str(found.attrs[f"step_{name}"]), float(seconds))
        for name, seconds in zip(found.step.values, found.step_s.values, strict=True)
        if seconds > 0
    )
    return steps, float(found.attrs["total_s"]), str(found.attrs["lower_bound_source"])


def _bins(capture: Capture) -> int:
    whole = utilization(capture, window="total").attrs["window_ps"]
    return max(1, min(_BINS, int(whole)))


def _lanes(use: Any) -> list[LaneView]:
    lengths = use.bin_ps.values
    found = []

    def add(resource: str, core: int, working: Any, active: Any) -> None:
        if active.any():
            shares = (
                tuple(int(v) for v in np.rint(part * float(_SHARE) / lengths))
                for part in (working, active)
            )
            found.append(LaneView(resource=resource, core=core, working=next(shares),
                                  active=next(shares)))  # fmt: skip

    for place, core in enumerate(use.core.values.tolist()):
        if "active_ps" in use:
            for at, engine in enumerate(use.engine.values.tolist()):
                active = use.active_ps.values[at, place]
                working = use.compute_ps.values[at, place] if "compute_ps" in use else active
                add(str(engine), core, working, active)
        if "dma_active_ps" in use:
            moving = use.dma_active_ps.values[place]
            add("dma", core, moving, moving)
    return found
