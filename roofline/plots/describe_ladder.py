"""Describe the time ladder of a study."""

from __future__ import annotations

from roofline.clocks import CLOCK_LABELS
from roofline.plots.describe import shown_rows, subtitle_of
from roofline.plots.figure import Axis, Figure, Span
from roofline.plots.roofs import limits
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row
from roofline.units import format_percent, format_time

__all__ = ["describe_ladder"]


def describe_ladder(result: StudyResult) -> Figure:
    """Return the time ladder: for each variant what each microsecond is, on one log axis."""
    rows = shown_rows(result.rows)
    spans, groups = [], []
    line = 0
    for row in rows:
        groups.append((line, row.measurement.key, f"{_config(row, result)}{row.verdict.label}"))
        for rung in row.rungs:
            ranged = rung.low_s < rung.high_s
            text = (
                f"{format_time(rung.low_s)} to {format_time(rung.high_s)}"
                if ranged
                else format_time(rung.value_s)
            )
            measured = rung.key == "measured"
            spans.append(
                Span(
                    key=f"{row.key}: {rung.key}",
                    row=line,
                    label=CLOCK_LABELS[row.placement.clock] if measured else rung.label,
                    low=rung.low_s,
                    value=rung.value_s,
                    high=rung.high_s,
                    tone=rung.key,
                    text=text,
                    share="" if measured else _share(rung.low_s, rung.high_s, row.time_s),
                    source=f"{rung.what} ({rung.source}; {rung.quality})",
                )
            )
            line += 1
    low, high = limits([value for span in spans for value in (span.low, span.high)])
    return Figure(
        key="ladder",
        title="Where the time goes",
        subtitle=subtitle_of(result),
        x=Axis(label="time", unit="s", low=low, high=high * 8),
        spans=tuple(spans),
        groups=tuple(groups),
        notes=("each rung is a time of its own, not a sum; bars are published or derived ranges",),
    )


def _config(row: Row, result: StudyResult) -> str:
    return "" if len(result.study.configs) == 1 else f"{row.measurement.config.key}, "


def _share(low_s: float, high_s: float, total_s: float) -> str:
    low, high = (format_percent(value / total_s) for value in (low_s, high_s))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"
