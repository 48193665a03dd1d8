"""What a report says about the quality of the captures behind it."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.report.blocks import Block, Heading, Paragraph, Table
from roofline.study.evaluate import StudyResult

__all__ = ["data_quality"]


def data_quality(result: StudyResult) -> Iterator[Block]:
    """Yield what is missing, lost, repaired or estimated in each capture; nothing without one."""
    if not result.captures:
        return
    yield Heading(text="Data quality")
    rows = tuple(
        (
            capture.path.name,
            issue.severity,
            issue.what,
            issue.table,
            "" if issue.count is None else f"{issue.count:,}",
        )
        for capture in result.captures
        for issue in capture.quality
    )
    if rows:
        yield Table(
            columns=("capture", "severity", "what", "table", "count"),
            rows=rows,
            numeric=frozenset({4}),
        )
    else:
        yield Paragraph(text="Nothing is known to be missing, lost, repaired or estimated.")
