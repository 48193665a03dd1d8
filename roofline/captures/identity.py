"""What hardware a capture was taken on, from the names its files give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from roofline.hardware.load import load_hardware

__all__ = ["VERSION_FIELDS", "bf16_cost", "hardware_key", "summary_identity"]

_FAMILIES: Final = ("trn1", "inf2", "trn2", "trn3")

VERSION_FIELDS: Final = {
    "profiler_version": "profiler",
    "explorer_version": "profiler",
    "compiler_version": "compiler",
    "runtime_version": "runtime",
    "driver_version": "driver",
    "collectives_version": "collectives",
}
"""Vendor field -> key in ``metadata["versions"]``."""


def hardware_key(instance_type: str) -> str | None:
    """Return the chip key of an EC2 instance type, or ``None`` if its family is not known.

    >>> hardware_key("trn2u.48xlarge"), hardware_key("inf2.xlarge"), hardware_key("p5.48xlarge")
    ('trn2', 'inf2', None)
    """
    family = instance_type.strip().lower().split(".")[0]
    return next((key for key in _FAMILIES if family.rstrip("nu") == key), None)


def summary_identity(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``instance_type``, ``hardware`` and ``versions`` as far as a summary names them."""
    found: dict[str, Any] = {}
    instance = summary.get("instance_type")
    if isinstance(instance, str) and instance:
        found["instance_type"] = instance
        if key := hardware_key(instance):
            found["hardware"] = key
    versions = {
        key: str(summary[field]) for field, key in VERSION_FIELDS.items() if summary.get(field)
    }
    if versions:
        found["versions"] = versions
    return found


@cache
def bf16_cost(hardware: str | None) -> Mapping[str, float]:
    """Return dtype -> cost of a multiply-accumulate on the Tensor engine against bf16.

    Empty where the chip is not known; dtypes without a documented rate are not in it.
    """
    if hardware is None:
        return {}
    chip = load_hardware(hardware)
    rates = {}
    for path in chip.paths():
        match = re.fullmatch(r"engines\.tensor\.rates\.(\w+)\.macs_per_pe_per_cycle", path)
        if match:
            rates[match[1]] = chip.value(path).value
    base = rates.get("bf16")
    return {dtype: base / rate for dtype, rate in rates.items() if base and rate}
