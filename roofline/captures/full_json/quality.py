"""What a full-profile JSON file lacks, loses or only estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roofline.captures.capture import Issue
from roofline.captures.identity import identity_issues, vendor_warnings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["full_json_issues"]


def full_json_issues(
    metadata: Mapping[str, Any],
    summary: Mapping[str, Any],
    warnings: Sequence[Mapping[str, Any]],
    tables: Sequence[str],
    table: Callable[[str, Sequence[str] | None], pa.Table],
) -> tuple[Issue, ...]:
    """Return the issues of one file, the file's own warnings first."""
    issues = vendor_warnings(warnings)
    issues += [
        Issue(id="absent-table", severity="missing", what=f"no table {name!r}", table=name)
        for name in ("instructions", "dma", "semaphores", "active", "throttle", "tensors")
        if name not in tables
    ]
    issues += identity_issues(metadata)
    if not summary:
        issues.append(Issue(id="absent-summary", severity="missing", what="no summary record"))
    issues.append(
        Issue(
            id="vendor-rows",
            severity="info",
            what=(
                "rows are the vendor's and cannot be repaired here: packets before time zero and "
                "overwritten rows are not in this file; the raw NTFF has them"
            ),
        )
    )
    for name in ("instructions", "dma"):
        if name in tables:
            issues.append(
                Issue(
                    id="rounded-end",
                    severity="estimated",
                    table=name,
                    what="end_ts is start plus duration, both rounded down: up to 1 ns early",
                )
            )
    if "dma" in tables:
        issues += _dma_issues(summary, table)
    for name in ("instructions", "dma", "active"):
        if name in tables:
            issues += _time_issues(name, table(name, ("start_ts", "duration_ns")))
    return tuple(issues)


def _dma_issues(
    summary: Mapping[str, Any], table: Callable[[str, Sequence[str] | None], pa.Table]
) -> list[Issue]:
    import pyarrow.compute as pc

    issues = []
    rows = table("dma", ("transfer_bytes", "queue_type"))
    parts = ("static_dma_size", "software_dynamic_dma_size", "hardware_dynamic_dma_size")
    if "static_dma_size" in summary and "transfer_bytes" in rows.column_names:
        stated = sum(int(summary.get(part, 0)) for part in parts)
        seen = pc.sum(rows["transfer_bytes"]).as_py() or 0
        if seen != stated:
            issues.append(
                Issue(
                    id="dma-bytes",
                    severity="contradiction",
                    table="dma",
                    count=seen - stated,
                    what=f"packets move {seen} bytes, the summary says {stated}",
                )
            )
    return issues


def _time_issues(name: str, rows: pa.Table) -> list[Issue]:
    import pyarrow.compute as pc

    issues = []
    for column in rows.column_names:
        nulls = rows[column].null_count
        if nulls:
            issues.append(
                Issue(
                    id="no-time",
                    severity="lost",
                    table=name,
                    count=nulls,
                    what=f"rows without {column}",
                )
            )
    if "duration_ns" in rows.column_names:
        negative = pc.sum(pc.less(rows["duration_ns"], 0)).as_py() or 0
        if negative:
            issues.append(
                Issue(
                    id="negative-duration",
                    severity="contradiction",
                    table=name,
                    count=negative,
                    what="rows with a negative duration",
                )
            )
    return issues
