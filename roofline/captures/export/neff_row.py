"""The one row of the vendor's NeffHeader table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from roofline.captures.capture import Capture
from roofline.captures.explorer.schema import vendor_schema

__all__ = ["neff_row"]

_RENAMED: Final = {
    "number_of_neuroncores": "neuroncore_count",
    "number_of_logical_neuroncores": "logical_neuroncore_count",
    "number_of_neuroncores_per_lnc": "pcore_count_per_lnc",
}
"""Fields of a full-profile JSON that the Parquet schema names otherwise."""

_UUID_DIGITS: Final = 32


def neff_row(capture: Capture) -> dict[str, Any]:
    """Return what is known of the program's header; old traces keep a part of its uuid only."""
    held = capture.metadata
    joined: Mapping[str, Any] = held.get("neff") or {}
    given: Mapping[str, Any] = held.get("neff_header") or {}
    major, _, minor = str(joined.get("version", "")).partition(".")
    uuid = str(joined.get("uuid") or held.get("uuid") or "")
    row = {
        "network_name": held.get("program"),
        "uuid": uuid if len(uuid) == _UUID_DIGITS else None,
        "hash": joined.get("hash"),
        "enabled_features": joined.get("features"),
        "major_version": major or None,
        "minor_version": minor or None,
        "pcore_count_per_lnc": joined.get("cores_per_lnc") or held.get("lnc"),
        **{_RENAMED.get(name, name): value for name, value in given.items()},
    }
    allowed = vendor_schema()["NeffHeader"].optional
    found = {name: row[name] for name in allowed if row.get(name) not in (None, "")}
    told = found.keys() - {"pcore_count_per_lnc"}
    return found if told else {}
