"""What an Explorer Parquet folder lacks, against the schema it was written from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

from roofline.captures.capture import TABLES, Issue, TableSource
from roofline.captures.explorer.schema import KNOWN_MAJOR, TABLE_NAMES, vendor_schema
from roofline.captures.explorer.source import ParquetTable
from roofline.captures.identity import identity_issues, vendor_warnings

__all__ = ["parquet_issues"]

_FEW: Final = 10


def parquet_issues(
    parts: Mapping[str, Sequence[Path]],
    sources: Mapping[str, TableSource],
    rows: Callable[[str], list[dict[str, Any]]],
    metadata: Mapping[str, Any],
    rescaled: str,
) -> tuple[Issue, ...]:
    """Return the issues of one folder, the folder's own warnings first."""
    issues = vendor_warnings(rows("Warning"))
    issues += identity_issues(metadata)
    issues += _version_issues(metadata)
    issues += _part_issues(parts)
    for name in (*TABLES, "transfers"):
        vendor = TABLE_NAMES[name]
        source = sources.get(name)
        if isinstance(source, ParquetTable):
            issues += _column_issues(name, vendor, source)
        else:
            issues.append(
                Issue(
                    id="absent-table",
                    severity="missing",
                    table=name,
                    what=f"no {vendor}.parquet: not recorded or nothing to record, which is not 0",
                )
            )
    held = rows("Summary")
    if not held:
        what = (
            "an empty Summary: the conversion had not ended" if "Summary" in parts else "no Summary"
        )
        issues.append(Issue(id="absent-summary", severity="missing", what=what))
    elif len(held) > 1:
        issues.append(
            Issue(
                id="several-summaries", severity="info", count=len(held), what="first row is used"
            )
        )
    if rescaled:
        issues.append(Issue(id="percent-scale", severity="repaired", what=rescaled))
    if len(metadata.get("executions", ())) > 1:
        issues.append(
            Issue(
                id="several-executions",
                severity="info",
                count=len(metadata["executions"]),
                what="the profile holds several executions: choose a window for a roofline",
            )
        )
    return tuple(issues)


def _version_issues(metadata: Mapping[str, Any]) -> list[Issue]:
    version = str(metadata.get("versions", {}).get("schema", ""))
    major = re.match(r"\d+", version)
    if major is None:
        return [Issue(id="schema-version", severity="missing", what="no profile_schema_version")]
    if int(major[0]) == KNOWN_MAJOR:
        return []
    return [
        Issue(
            id="schema-version",
            severity="info",
            what=(
                f"schema {version}; its columns are looked up by the names of {KNOWN_MAJOR}.4 and "
                "older ones, what is not found is listed"
            ),
        )
    ]


def _part_issues(parts: Mapping[str, Sequence[Path]]) -> list[Issue]:
    issues = []
    for name, files in parts.items():
        numbers = {
            int(match[1]) for path in files if (match := re.search(r"_(\d+)\.parquet$", path.name))
        }
        lacking = max(numbers, default=-1) + 1 - len(numbers)
        if lacking:
            gaps = (number for number in count() if number not in numbers)
            named = ", ".join(map(str, islice(gaps, min(lacking, _FEW))))
            more = " ..." if lacking > _FEW else ""
            issues.append(
                Issue(
                    id="missing-part",
                    severity="lost",
                    table=name,
                    count=lacking,
                    what=f"parts {named}{more} of {name} are not there",
                )
            )
    return issues


def _column_issues(name: str, vendor: str, source: ParquetTable) -> list[Issue]:
    held, schema = set(source.column_names), vendor_schema()[vendor]
    issues = []
    for what, severity, columns in (
        ("promised", "missing", schema.required),
        ("optional", "info", schema.optional),
    ):
        absent = [column for column in columns if column not in held]
        if absent:
            issues.append(
                Issue(
                    id=f"missing-{what}-columns",
                    severity=severity,
                    table=name,
                    count=len(absent),
                    what=f"{what} columns that are not there: {', '.join(absent)}",
                )
            )
    return issues
