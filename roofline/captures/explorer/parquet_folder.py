"""An Explorer Parquet folder as a Capture. Written from the documented schema 7.4.0."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from roofline.captures.capture import Capture, Issue, TableSource
from roofline.captures.explorer.schema import ALIASES, TABLE_NAMES, vendor_schema
from roofline.captures.explorer.source import PacketTable, ParquetTable
from roofline.captures.identity import summary_identity
from roofline.captures.lazy import LazyMapping
from roofline.captures.summary.fields import clean_summary, fraction_scale
from roofline.errors import CaptureError

__all__ = ["find_profiles", "open_parquet_folder", "table_parts"]

_PART: Final = re.compile(r"([A-Z][A-Za-z]+?)(?:_(\d{1,9}))?\.parquet")
_OUR_NAMES: Final = {vendor: ours for ours, vendor in TABLE_NAMES.items()}


def table_parts(folder: Path) -> dict[str, list[Path]]:
    """Return vendor table -> its part files in order, for one profile's folder.

    The name is matched whole: ``DmaPacket_0.parquet`` belongs to ``DmaPacket``, but
    ``DmaPacketAggregated.parquet`` does not.
    """
    found: dict[str, list[tuple[int, Path]]] = {}
    try:
        files = sorted(folder.iterdir())
    except OSError as error:
        raise CaptureError(f"{folder}: {error.strerror}") from error
    for path in files:
        match = _PART.fullmatch(path.name)
        if match is not None and path.is_file():
            found.setdefault(match[1], []).append((int(match[2] or -1), path))
    return {name: [path for _, path in sorted(parts)] for name, parts in found.items()}


def find_profiles(path: Path) -> list[Path]:
    """Return the profile folders that ``path`` is or holds, by the vendor's data-path layout.

    ``path`` may be a profile's folder, a data path (``profiles/global/<name>@latest/``), or one
    of the folders between.
    """
    if _holds_tables(path):
        return [path]
    patterns = ("*@latest", "global/*@latest", "profiles/global/*@latest")
    found = (folder for pattern in patterns for folder in sorted(path.glob(pattern)))
    return [folder for folder in found if folder.is_dir() and _holds_tables(folder)]


def _holds_tables(folder: Path) -> bool:
    return any(name in vendor_schema() for name in table_parts(folder))


def open_parquet_folder(path: Path, compat: str | None) -> Capture:
    """Return the Capture of a Parquet folder; a query reads only the columns it asks for.

    Raises ``CaptureError`` when the path holds several profiles, listing them.
    """
    profiles = find_profiles(path)
    if len(profiles) != 1:
        names = ", ".join(folder.name for folder in profiles) or "none"
        raise CaptureError(f"{path}: holds {len(profiles)} profiles, open one of them: {names}")
    folder = profiles[0]
    parts = table_parts(folder)
    units = _units(parts)
    tables: dict[str, ParquetTable] = {}
    for vendor, files in parts.items():
        ours = _OUR_NAMES.get(vendor, vendor)
        tables[ours] = ParquetTable(vendor, files, units.get(vendor), ALIASES.get(ours))
    if "dma" in tables and "transfers" in tables:
        tables["dma"] = PacketTable(tables["dma"], tables["transfers"])
    sources: dict[str, TableSource] = dict(tables)
    rows = cache(lambda name: _rows(sources, name))
    return Capture(
        path=path,
        format="explorer-parquet",
        compat=compat,
        metadata=LazyMapping(path, lambda: _metadata(rows)),
        sources=sources,
        summary_source=lambda: _summary(rows)[0],
        quality_source=lambda: _quality(parts, sources, rows),
    )


def _quality(
    parts: Mapping[str, Sequence[Path]],
    sources: Mapping[str, TableSource],
    rows: Any,
) -> tuple[Issue, ...]:
    from roofline.captures.explorer.quality import parquet_issues

    _, scaled = _summary(rows)
    return parquet_issues(parts, sources, rows, _metadata(rows), scaled)


def _units(parts: Mapping[str, Sequence[Path]]) -> dict[str, dict[str, str]]:
    """Return the units that the profile's own description of its schema gives."""
    if "SchemaFields" not in parts:
        return {}
    table = ParquetTable("SchemaFields", parts["SchemaFields"])
    wanted = ("table_name", "field_name", "field_unit")
    if not set(wanted) <= set(table.column_names):
        return {}
    found: dict[str, dict[str, str]] = {}
    for row in table(wanted).to_pylist():
        if row["table_name"] and row["field_name"] and row["field_unit"]:
            found.setdefault(str(row["table_name"]), {})[str(row["field_name"])] = (
                str(row["field_unit"]).strip().lower()
            )
    return found


def _rows(sources: Mapping[str, TableSource], name: str) -> list[dict[str, Any]]:
    """Return a small table as rows without their nulls; none if it is absent."""
    source = sources.get(name)
    if source is None:
        return []
    return [
        {key: value for key, value in row.items() if value is not None}
        for row in source(None).to_pylist()
    ]


def _summary(rows: Any) -> tuple[dict[str, Any], str]:
    """Return the summary with shares as fractions, and why they were rescaled if they were."""
    held = rows("Summary")
    summary = clean_summary(held[0]) if held else {}
    scale, evidence = fraction_scale(summary)
    if scale != 1.0:
        summary = {
            name: value * scale if name.endswith("_percent") else value
            for name, value in summary.items()
        }
    return summary, evidence


def _metadata(rows: Any) -> dict[str, Any]:
    constants: dict[str, Any] = next(iter(rows("Metadata")), {})
    header: dict[str, Any] = next(iter(rows("NeffHeader")), {})
    found = summary_identity({**_summary(rows)[0], **constants})
    cores = header.get("pcore_count_per_lnc") or constants.get("num_physical_cores")
    if not cores and constants.get("vnc_enabled") is False:
        cores = 1
    if cores:
        found["lnc"] = int(cores)
        found["cores"] = int(constants.get("num_physical_cores") or cores)
    versions = found.setdefault("versions", {})
    for field, key in (("profile_schema_version", "schema"), ("ntff_version", "ntff")):
        if field in constants:
            versions[key] = str(constants[field])
    for key, value in (
        ("uuid", header.get("uuid")),
        ("program", header.get("network_name")),
        ("profile_name", constants.get("profile_name")),
    ):
        if value:
            found[key] = value
    if constants:
        found["constants"] = constants
    if header:
        found["neff_header"] = header
    if executions := rows("ExecutionInfo"):
        found["executions"] = tuple(executions)
    return found
