"""Describe the figures of a framework trace: operators by time, and the planes of the longest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from roofline.plots.describe import describe_engines, describe_roofline, subtitle_of
from roofline.plots.describe_ladder import describe_ladder
from roofline.plots.figure import Axis, Figure, Point, Span
from roofline.plots.labels import shorten
from roofline.plots.roofs import limits
from roofline.study.evaluate import StudyResult
from roofline.study.traced import ALL, Operator, TraceView
from roofline.units import format_percent, format_si, format_time

__all__ = ["describe_operators", "trace_figures"]

_MOST: Final = 10  # operators that are drawn as bars and named on the planes
_LADDERS: Final = 4
_LONGEST: Final = 30  # characters of an operator's name on a plane
_ROWS: Final = (
    ("host_s", "on the host", "host", "time of its calls on the host"),
    ("window_s", "dispatch window", "measured", "submit to completion"),
    ("device_s", "on the device", "body", "its executions"),
)


def trace_figures(result: StudyResult, trace: TraceView) -> tuple[Figure, ...]:
    """Return operators by time; where any is placed also their ladder and planes."""
    figures = [one] if (one := describe_operators(result, trace)) is not None else []
    if not result.rows:
        return tuple(figures)
    windows = {row.placement.clock for row in result.rows} >= {"framework_window"}
    clock = "framework_window" if windows else "device_execution"
    longest = [row for row in result.rows if row.placement.clock == clock][:_LADDERS]
    figures.append(describe_ladder(replace(result, rows=tuple(longest))))
    drawn = _one_each(result)
    figures.append(_named(describe_roofline(drawn), drawn))
    if any(row.placement.passes for row in drawn.rows):
        figures.append(_named(describe_engines(drawn), drawn))
    return tuple(figures)


def describe_operators(result: StudyResult, trace: TraceView) -> Figure | None:
    """Return the longest operators: host time, dispatch windows and executions; ``None`` without.

    Shares are of the time of all launches, or of the host time of all where nothing launched.
    """
    shown = [one for one in trace.operators if one.time_s] or [
        one for one in trace.operators if one.is_operator and one.host_s
    ]
    launched = any(one.time_s for one in shown)
    total = (
        max(trace.launches.attrs["launch_union_ns"], 0) * 1e-9
        if launched
        else sum(one.host_s or 0.0 for one in shown)
    )
    spans: list[Span] = []
    groups = []
    for one in shown[:_MOST]:
        groups.append((len(spans), one.key, _note(one)))
        spans += list(_spans(one, len(spans), total, launched=launched))
    if not spans:
        return None
    low, high = limits([span.value for span in spans])
    rest = len(shown) - _MOST
    notes = [f"{rest} more operators are in the table"] if rest > 0 else []
    return Figure(
        key="operators",
        title="Operators by time",
        subtitle=subtitle_of(result) if result.rows else result.study.title,
        x=Axis(label="time over the counted steps", unit="s", low=low, high=high * 8),
        spans=tuple(spans),
        groups=tuple(groups),
        notes=tuple(notes),
    )


def _note(one: Operator) -> str:
    if not one.launches:
        return f"{one.calls} calls"
    count = f"{one.launches} launch{'' if one.launches == 1 else 'es'}"
    verdict = one.window or one.device
    return f"{count}, {verdict.label if verdict is not None else 'not placed'}"


def _spans(one: Operator, row: int, total: float, *, launched: bool) -> Iterator[Span]:
    for key, label, tone, what in _ROWS:
        value = getattr(one, key)
        if not value:
            continue
        share = value / total if total and launched == (key != "host_s") else None
        yield Span(
            key=f"{one.key}: {label}",
            row=row,
            label=label,
            low=value,
            value=value,
            high=value,
            tone=tone,
            text=format_time(value),
            share="" if share is None else format_percent(share),
            source=f"{what}, overlaps once (trace; measured)",
        )
        row += 1


def _one_each(result: StudyResult) -> StudyResult:
    """Return the result with one row an operator, on the device's clock where it is known."""
    best = {}
    for row in result.rows:
        if row.variant.name != ALL:
            best[row.variant.name] = row  # the row on the device follows the one on the window
    return replace(result, rows=tuple(best.values()))


def _named(figure: Figure, drawn: StudyResult) -> Figure:
    """Return a plane with the longest operators named, and a shape by the operator's name."""
    rows = {row.key: row for row in drawn.rows}
    top = set(list(rows)[:_MOST])
    names = [row.work.name for row in drawn.rows]
    shapes = {name: at for at, name in enumerate(dict.fromkeys(names))}
    unit = figure.y.unit if figure.y else ""

    def point(one: Point) -> Point:
        row = rows[one.group]
        name = shorten(row.variant.name, _LONGEST)
        label = f"{name}  {format_si(one.y, unit)}" if one.group in top else ""
        return replace(one, label="" if one.hollow else label, shape=shapes[row.work.name])

    clocks = {row.placement.clock for row in drawn.rows}
    note = {
        frozenset({"device_execution"}): "rates are over the executions on the device",
        frozenset({"framework_window"}): "rates are over the dispatch windows: no device time is "
        "known, and a kernel lies higher",
    }.get(
        frozenset(clocks),
        "rates are over executions where each launch has one, else over dispatch windows",
    )
    return replace(figure, points=tuple(map(point, figure.points)), notes=(*figure.notes, note))
