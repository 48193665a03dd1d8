"""Utilization as far as a summary tells it: totals of the whole run, merged over cores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.analysis.dataset import Builder, ratio
from roofline.analysis.totals import active_times, body_time, number, total_time
from roofline.captures.capture import Capture
from roofline.engines import ENGINES
from roofline.errors import CaptureError, QueryError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["summary_use"]

_BYTES: Final = {
    "dma": "dma_transfer_total_bytes",
    "hbm_read": "hbm_read_bytes",
    "hbm_write": "hbm_write_bytes",
    "sbuf_read": "sbuf_read_bytes",
    "sbuf_write": "sbuf_write_bytes",
    "psum_read": "psum_read_bytes",
    "psum_write": "psum_write_bytes",
}
_DMA_CLASSES: Final = {
    "static": "static_dma_size",
    "hardware_dynamic": "hardware_dynamic_dma_size",
    "software_dynamic": "software_dynamic_dma_size",
}


def summary_use(capture: Capture, window: str = "body") -> xr.Dataset:
    """Return what the summary of a capture says of engines, DMA and bytes; unknown is NaN.

    Dims ``engine``, ``memory``, ``dma_class``. Times in s, bytes in B, shares of the window:
    ``total_active_time`` for the body, else ``total_time``. With several cores times are unions
    and counts are sums. Raises ``CaptureError`` without a time, ``QueryError`` for a part of it.
    """
    if window not in ("body", "total"):
        raise QueryError(f"window {window!r}: a summary has only body and total")
    summary = capture.summary
    total, body = total_time(summary), body_time(summary)
    if total is None:
        raise CaptureError(f"{capture.path}: a summary without a positive total_time")
    length = body if window == "body" and body is not None else total
    active = active_times(summary, "sync")
    times = np.array([active.get(name, np.nan) for name in ENGINES])
    out = Builder()
    out.coord("engine", list(ENGINES), "1", "engine of the NeuronCore")
    out.coord("memory", list(_BYTES), "1", "what was moved: over DMA, or to and from a memory")
    out.coord("dma_class", list(_DMA_CLASSES), "1", "how DMA was issued")
    out.add("active_s", ("engine",), times, "s", "time with an instruction, union over cores")
    out.add("active_share", ("engine",), ratio(times, length), "1", "active time over the window")
    fields = [f"{name}_engine_instruction_count" for name in ENGINES]
    out.add("instructions", ("engine",), _values(summary, fields), "1", "instructions")
    dma = active.get("dma", np.nan)
    out.add("dma_active_s", (), dma, "s", "time with a DMA packet in flight, union over cores")
    out.add("dma_active_share", (), dma / length, "1", "DMA active time over the window")
    out.add("bytes", ("memory",), _values(summary, _BYTES.values()), "B", "bytes moved")
    classes = _values(summary, _DMA_CLASSES.values())
    out.add("dma_class_bytes", ("dma_class",), classes, "B", "bytes of DMA by class")
    cores = capture.metadata.get("cores") or capture.metadata.get("lnc")
    note = "no total_active_time: start-up is part of this window"
    return out.build(
        {
            "capture": str(capture.path),
            "format": capture.format,
            "hardware": capture.metadata.get("hardware"),
            "basis": "summary",
            "cores": None if cores is None else int(cores),
            "window": window,
            "window_s": length,
            "total_s": total,
            "body_s": body,
            "window_note": note if window == "body" and body is None else "",
        }
    )


def _values(summary: Mapping[str, Any], fields: Any) -> Any:
    found = (number(summary, field) for field in fields)
    return np.array([np.nan if value is None else value for value in found])
