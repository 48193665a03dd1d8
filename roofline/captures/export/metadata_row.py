"""The one row of the vendor's Metadata table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.capture import Capture
from roofline.errors import HardwareModelError

if TYPE_CHECKING:
    from roofline.hardware.model import Hardware

__all__ = ["metadata_row"]

_SCHEMA_VERSION: Final = "7.4.0"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_CONSTANTS: Final = {
    "dma_ddr_bandwidth": ("dma.vendor.bandwidth_bytes_per_s", 1.0),
    "hbm_ddr_bandwidth": ("memories.hbm.vendor.bandwidth_bytes_per_s", 1.0),
    "tensor_engine_num_rows": ("engines.tensor.rows_count", 1),
    "tensor_engine_num_cols": ("engines.tensor.columns_count", 1),
    "tensor_engine_clock_freq": ("engines.tensor.clock_hz", 1e-9),
    "vector_engine_clock_freq": ("engines.vector.clock_hz", 1e-9),
    "vector_engine_num_channels": ("engines.vector.lanes_count", 1),
    "scalar_engine_clock_freq": ("engines.scalar.clock_hz", 1e-9),
    "scalar_engine_num_channels": ("engines.scalar.lanes_count", 1),
    "gpsimd_engine_clock_freq": ("engines.gpsimd.clock_hz", 1e-9),
    "gpsimd_engine_num_channels": ("engines.gpsimd.lanes_count", 1),
    "neuroncore_clock_freq": ("chip.clock.clock_hz", 1e-9),
    "num_dma_engines_per_neuroncore": ("dma.engines_count", 1),
}
"""Column -> number of the hardware model and its scale; clocks are GHz in that table."""


def metadata_row(capture: Capture, version: str) -> dict[str, Any]:
    """Return the known columns of the Metadata table; what is not known is left out."""
    held = capture.metadata
    versions: Mapping[str, str] = held.get("versions", {})
    cores = held.get("lnc") or held.get("cores")
    row: dict[str, Any] = {
        "profile_schema_version": _SCHEMA_VERSION,
        "ntff_version": int(versions["ntff"]) if versions.get("ntff", "").isdecimal() else None,
        "num_physical_cores": cores,
        "vnc_enabled": None if cores is None else cores > 1,
        "instance_type": held.get("instance_type"),
        "runtime_version": versions.get("runtime"),
        "driver_version": versions.get("driver"),
        "collectives_version": versions.get("collectives"),
        "compiler_version": versions.get("compiler"),
        "explorer_version": f"roofline {version}",
        "profile_name": held.get("profile_name") or _text(capture.path.name),
        "is_simulation": False,
        "ticks_per_nanosec": 1000,
        **_span(capture),
    }
    hardware = _hardware(held)
    if hardware is not None:
        for name, (path, scale) in _CONSTANTS.items():
            if path in hardware.values:
                value = hardware.value(path).value * scale
                row[name] = round(value) if isinstance(scale, int) else value
    constants: Mapping[str, Any] = held.get("constants", {})
    row.update({name: constants[name] for name in (*_CONSTANTS, *row) if name in constants})
    return {name: value for name, value in row.items() if value is not None}


def _text(name: str) -> str:
    """Return a file name as text that every format holds, whatever its bytes are."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _span(capture: Capture) -> dict[str, Any]:
    total = capture.summary.get("total_time")
    if total is None:
        return {}
    last = round(float(total) * 1e9)
    return {
        "first_hw_timestamp": 0,
        "last_hw_timestamp": last,
        "first_ts": f"{_EPOCH:%Y-%m-%dT%H:%M:%SZ}",
        "last_ts": f"{_EPOCH + timedelta(seconds=last // 10**9):%Y-%m-%dT%H:%M:%S}"
        f".{last % 10**9:09d}Z",
    }


def _hardware(metadata: Mapping[str, Any]) -> Hardware | None:
    from roofline.hardware.load import load_hardware

    name, lnc = metadata.get("hardware"), metadata.get("lnc")
    if not name:
        return None
    try:
        return load_hardware(str(name), lnc=lnc)
    except HardwareModelError:
        return None
