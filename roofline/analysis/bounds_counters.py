"""Bounds of any capture: from its events, else from the counters of its summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from roofline.analysis.bounds import Busy, Times, bounds_of
from roofline.analysis.bounds_inputs import bounds, dma_rate
from roofline.analysis.replay import replay
from roofline.analysis.totals import active_times, body_time, total_time
from roofline.captures.capture import Capture
from roofline.errors import CaptureError, MissingTableError, QueryError
from roofline.hardware.model import Hardware

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["bounds_from_counters", "capture_bounds"]


def capture_bounds(
    capture: Capture,
    hardware: Hardware,
    window: str = "body",
    *,
    roofs: str = "theoretical",
    core: int | None = None,
) -> xr.Dataset:
    """Return the bounds of a capture with events, or those its summary allows.

    Where the capture says who waited for whom, the variables of ``replay`` (dim ``cost``) are
    added; else ``replay_note`` says why not. A summary's body is its ``total_active_time``.
    Raises ``CaptureError`` for a summary that cannot give a window, ``QueryError`` where a
    summary is asked for a part of its time.
    """
    if capture.has("instructions") or capture.has("dma"):
        found = bounds(capture, hardware, window, roofs=roofs, core=core)
        try:
            again = replay(capture, window)
        except (MissingTableError, QueryError) as error:
            return found.assign_attrs(replay_note=str(error))
        attrs = {f"replay_{name}": again.attrs[name] for name in ("waits", "unexplained_waits")}
        return found.assign(again.data_vars).assign_attrs(attrs)
    if window not in ("body", "total"):
        raise QueryError(f"window {window!r}: a summary has only body and total")
    if capture.has("cpu_ops"):
        raise CaptureError(
            f"{capture.path}: a framework's trace has no counters of engines or DMA; "
            "for its operators see roofline launches"
        )
    summary = capture.summary
    total = total_time(summary)
    if total is None:
        raise CaptureError(f"{capture.path}: a summary without a positive total_time")
    body = body_time(summary)
    length = body if window == "body" and body is not None else total
    adjusted = "adjusted_hardware_flops" in summary
    prefix = "adjusted_" if adjusted else ""
    moved = summary.get("dma_transfer_total_bytes") or None
    if moved is None and "hbm_read_bytes" in summary and "hbm_write_bytes" in summary:
        moved = summary["hbm_read_bytes"] + summary["hbm_write_bytes"]
    return bounds_from_counters(
        hardware,
        total_s=length,
        active_s=active_times(summary),
        dma_bytes=moved,
        necessary_bytes=summary.get("inputs_outputs_weights_size_bytes") or None,
        flops=summary.get(f"{prefix}hardware_flops"),
        transpose_flops=summary.get(f"{prefix}transpose_flops", 0.0),
        roofs=roofs,
        start_up_s=total - length,
        attrs={"capture": str(capture.path), "core": "merged", "window": window},
    )


def bounds_from_counters(
    hardware: Hardware,
    *,
    total_s: float,
    active_s: Mapping[str, float],
    dma_bytes: float | None = None,
    necessary_bytes: float | None = None,
    flops: float | None = None,
    transpose_flops: float | None = 0.0,
    dtype: str = "bf16",
    roofs: str = "theoretical",
    start_up_s: float = 0.0,
    attrs: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Return the bounds that counters allow: ``active_s`` by resource, bytes and Tensor FLOP.

    ``flops`` are those executed, counted at ``dtype``; the others default to not known.
    """
    rate, peak = dma_rate(hardware, roofs), _tensor_peak(hardware, dtype, roofs)
    if dma_bytes is not None and necessary_bytes is not None:
        necessary_bytes = min(necessary_bytes, dma_bytes)  # tensors that were touched in part
    busy = {name: Busy(actual=seconds) for name, seconds in active_s.items()}
    busy["dma"] = Busy(
        actual=active_s.get("dma"),
        ideal=None if dma_bytes is None else dma_bytes / rate,
        useful=None if necessary_bytes is None else necessary_bytes / rate,
    )
    useful = None if flops is None or transpose_flops is None else flops - transpose_flops
    busy["tensor"] = Busy(
        actual=active_s.get("tensor"),
        ideal=None if flops is None else flops / peak,
        useful=None if useful is None else useful / peak,
    )
    times = Times(window_s=total_s, start_up_s=start_up_s, window="total")
    return bounds_of(busy, times, hardware, roofs=roofs, attrs=attrs)


def _tensor_peak(hardware: Hardware, dtype: str, roofs: str) -> float:
    return hardware.tensor_peak(dtype, "theoretical" if roofs == "vendor" else roofs).value
