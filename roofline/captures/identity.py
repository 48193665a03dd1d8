"""What hardware a capture was taken on, from the names its files give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from roofline.captures.capture import Issue
from roofline.hardware.load import load_hardware, model_of_instance

__all__ = [
    "VERSION_FIELDS",
    "bf16_cost",
    "identity_issues",
    "summary_identity",
    "vendor_warnings",
]

VERSION_FIELDS: Final = {
    "profiler_version": "profiler",
    "explorer_version": "profiler",
    "compiler_version": "compiler",
    "runtime_version": "runtime",
    "driver_version": "driver",
    "collectives_version": "collectives",
}
"""Vendor field -> key in ``metadata["versions"]``."""


def summary_identity(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``instance_type``, ``hardware`` and ``versions`` as far as a summary names them."""
    found: dict[str, Any] = {}
    instance = summary.get("instance_type")
    if isinstance(instance, str) and instance:
        found["instance_type"] = instance
        if key := model_of_instance(instance):
            found["hardware"] = key
    versions = {
        key: str(summary[field]) for field, key in VERSION_FIELDS.items() if summary.get(field)
    }
    if versions:
        found["versions"] = versions
    return found


def vendor_warnings(rows: Iterable[Mapping[str, Any]]) -> list[Issue]:
    """Return what the vendor's tool warns of in its own output, a row of its table each."""
    return [
        Issue(
            id="vendor-warning",
            severity="missing" if "missing" in str(row.get("category", "")).lower() else "info",
            what=str(row.get("message", "")).strip(),
        )
        for row in rows
    ]


def identity_issues(metadata: Mapping[str, Any]) -> list[Issue]:
    """Return what is not known of the hardware, and how cores were merged."""
    issues = []
    if "hardware" not in metadata:
        issues.append(
            Issue(
                id="unknown-hardware",
                severity="missing",
                what=f"instance type {metadata.get('instance_type', 'not given')!r}: chip unknown",
            )
        )
    if metadata.get("lnc") is None:
        issues.append(Issue(id="unknown-lnc", severity="missing", what="cores per logical core"))
    elif metadata["lnc"] > 1:
        issues.append(
            Issue(
                id="summary-union",
                severity="estimated",
                what=f"the summary merges {metadata['lnc']} cores: its busy times are unions",
            )
        )
    if (metadata.get("constants") or {}).get("is_simulation") is True:
        issues.append(
            Issue(id="simulation", severity="contradiction", what="simulated, not measured")
        )
    return issues


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
