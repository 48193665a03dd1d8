"""Description of a capture as text and as a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from roofline.captures.info import Info

__all__ = ["info_record", "info_text"]

_SHOWN: Final = ("instance_type", "hardware", "lnc", "cores", "program", "uuid")


def info_record(info: Info) -> dict[str, Any]:
    """Return everything known, for JSON."""
    return {
        "path": str(info.path),
        "format": info.format,
        "what": info.what,
        "size_bytes": info.size_bytes,
        "span_ns": info.span_ns,
        "counted": info.counted,
        "counts": dict(info.counts),
        "metadata": _plain(info.metadata),
        "quality_complete": info.complete,
        "quality": [asdict(issue) for issue in info.quality],
    }


def info_text(info: Info) -> str:
    """Return a few lines: what, where from, how long, how much, and what is wrong."""
    lines = [f"{info.path}: {info.format}" + (f" ({info.what})" if info.what else "")]
    rows = [
        (key.replace("_", " "), str(info.metadata[key])) for key in _SHOWN if key in info.metadata
    ]
    versions = info.metadata.get("versions")
    if isinstance(versions, Mapping) and versions:
        rows.append(("versions", ", ".join(f"{key} {value}" for key, value in versions.items())))
    if info.size_bytes is not None:
        rows.append(("size", f"{info.size_bytes:,} B"))
    if info.span_ns is not None:
        rows.append(("span", f"{info.span_ns:,} ns"))
    counts = ", ".join(f"{name} {count:,}" for name, count in info.counts.items())
    rows.append((info.counted, counts or "none"))
    width = max(len(key) for key, _ in rows)
    lines += [f"  {key:{width}}  {value}" for key, value in rows]
    scope = "" if info.complete else " (from the header; --full decodes everything)"
    lines.append(f"  quality{scope}:" + ("" if info.quality else " nothing to report"))
    for issue in info.quality:
        count = "" if issue.count is None else f" {issue.count:,}"
        table = f" [{issue.table}]" if issue.table else ""
        lines.append(f"    {issue.severity}{table}{count}: {issue.what}")
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
