"""Shares of time and of roofs in the vendor's summary, from its times and counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from roofline.captures.ntff.device import core_clock_hz, hardware_of, known_value
from roofline.captures.ntff.header import ENGINES, Header
from roofline.hardware.model import Hardware

__all__ = ["ratios"]

_PS_PER_S: Final = 10**12
_BANDWIDTH: Final = "memories.hbm.vendor.bandwidth_bytes_per_s"


def ratios(
    header: Header, total_ps: int | None, fields: Mapping[str, Any], *, transposes_known: bool
) -> dict[str, Any]:
    """Return the fields that divide others by the total time or by a roof, as fractions.

    ``fields`` holds times in s, bytes and FLOP. Without a total time there are none; without a
    hardware model none of the roofs. ``transposes_known`` says whether FLOP of transposes can be
    told from products.
    """
    if not total_ps:
        return {}
    total_s = total_ps / _PS_PER_S
    clock_hz = core_clock_hz(header)
    found = _of_time(fields, total_s)
    if clock_hz is not None:
        found["neuroncore_cycle_count"] = total_ps * clock_hz // _PS_PER_S
    hardware = hardware_of(header)
    peak, bandwidth = _peak(hardware), known_value(hardware, _BANDWIDTH)
    if peak is None or bandwidth is None:
        return found
    cores = len(header.cores)
    found["peak_flops_bandwidth_ratio"] = peak / bandwidth
    flops = fields.get("hardware_flops", 0)
    found["hfu_estimated_percent"] = flops / (peak * cores * total_s)
    told = transposes_known or not flops
    product = flops - fields.get("transpose_flops", 0)
    if told:
        found["mfu_inst_estimated_percent"] = product / (peak * cores * total_s)
    if "hbm_read_bytes" in fields:
        found |= _of_memory(fields, total_s, bandwidth)
        if told:
            moved = fields["hbm_read_bytes"] + fields["hbm_write_bytes"]
            intensity = product / moved if moved else 0.0
            found["mm_arithmetic_intensity"] = intensity
            best = min(1.0, intensity / (peak / bandwidth * cores))
            found["mfu_inst_max_achievable_estimated_percent"] = best
            instead = found["mfu_inst_estimated_percent"]
            found |= _of_model(fields.get("model_flops"), peak * cores * total_s, best, instead)
    return found


def _of_time(fields: Mapping[str, Any], total_s: float) -> dict[str, Any]:
    busy = ("dma", *(f"{key}_engine" for key in ENGINES))
    return {
        "total_time": total_s,
        "total_active_time_percent": fields["total_active_time"] / total_s,
        **{f"{name}_active_time_percent": fields[f"{name}_active_time"] / total_s for name in busy},
    }


def _peak(hardware: Hardware | None) -> float | None:
    """Return FLOP/s of one core's array at one multiply-accumulate a cycle."""
    peak = 2.0
    for name in ("rows_count", "columns_count", "clock_hz"):
        factor = known_value(hardware, f"engines.tensor.{name}")
        if factor is None:
            return None
        peak *= factor
    return peak


def _of_memory(fields: Mapping[str, Any], total_s: float, bandwidth: float) -> dict[str, Any]:
    moved = fields["hbm_read_bytes"] + fields["hbm_write_bytes"]
    found = {"mbu_estimated_percent": moved / total_s / bandwidth}
    if "inputs_and_weights_size_bytes" in fields:
        least = fields["inputs_and_weights_size_bytes"]
        found["mbu_min_read_util_percent"] = least / total_s / bandwidth
    return found


def _of_model(model: int | None, most: float, best: float, instead: float) -> dict[str, Any]:
    """Return the shares of the graph's own FLOP; without them the tool shows the instructions'."""
    if model is None:
        return {}
    share = model / most
    return {
        "mfu_hlo_estimated_percent": share,
        "mfu_hlo_max_achievable_estimated_percent": best if model else 0,
        "mfu_estimated_percent": share if model else instead,
        "mfu_max_achievable_estimated_percent": best,
    }
