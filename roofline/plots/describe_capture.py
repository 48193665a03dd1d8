"""Describe the figures of captures: engines over time, utilization, and where the time went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from roofline.engines import resource_title
from roofline.plots.describe import shown_rows, subtitle_of
from roofline.plots.figure import Axis, Figure, Lane, Span
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row
from roofline.study.views import CaptureView
from roofline.units import format_percent, format_time

__all__ = ["describe_timeline", "describe_utilization", "describe_waterfall", "step_spans"]

_MOST: Final = 6  # captures below each other
_WORDS: Final = {
    "lower_bound": "lower bound",
    "work_beyond_minimum": "work beyond minimum",
    "inefficiency": "inefficiency",
    "waiting_inside": "waiting inside",
    "serialization": "serialization",
    "start_up": "start-up",
    "tail": "tail",
}
_TONES: Final = {
    "lower_bound": "body",
    "work_beyond_minimum": "engines",
    "inefficiency": "vector",
    "waiting_inside": "busy",
    "serialization": "serialization",
    "start_up": "device-start",
    "tail": "device-start",
}


def describe_timeline(result: StudyResult, views: Sequence[CaptureView]) -> Figure | None:
    """Return engines and DMA over time in bins, a block a capture; ``None`` without events."""
    shown = [view for view in views if view.lanes][:_MOST]
    if not shown:
        return None
    lanes: list[Lane] = []
    groups = []
    for view in shown:
        start, end = (format_time(at) for at in view.body_s)
        groups.append((len(lanes), view.name, f"body from {start} to {end}"))
        several = len({lane.core for lane in view.lanes}) > 1
        for lane in view.lanes:
            name = resource_title(lane.resource)
            label = f"{name}, core {lane.core}" if several else name
            lanes.append(
                Lane(
                    key=f"{view.name}: {label}",
                    row=len(lanes),
                    label=label,
                    tone=lane.resource,
                    end=view.total_s,
                    working=lane.working,
                    active=lane.active,
                )
            )
    return Figure(
        key="timeline",
        title="Engines over time",
        subtitle=subtitle_of(result),
        x=Axis(label="time", unit="s", low=0.0, high=max(v.total_s for v in shown), scale="linear"),
        lanes=tuple(lanes),
        groups=tuple(groups),
        notes=(
            "height: share of the bin at work; full colour: compute, or a packet in flight",
            "pale: weight loads, DMA issue, table loads, control; waits are empty",
        ),
    )


def describe_utilization(result: StudyResult) -> Figure | None:
    """Return active and working shares of each resource in the judged window, or ``None``."""
    spans: list[Span] = []
    groups = []
    for row in shown_rows([row for row in result.rows if row.evidence.basis != "time"]):
        own = _shares(row, len(spans))
        if own:
            groups.append((len(spans), row.measurement.key, row.verdict.label))
            spans += own
    if not spans:
        return None
    high = max(115.0, *(span.value * 1.15 for span in spans))  # room for the figure behind a bar
    return Figure(
        key="utilization",
        title="Utilization",
        subtitle=subtitle_of(result),
        x=Axis(label="share of the window", unit="%", low=0.0, high=high, scale="linear"),
        spans=tuple(spans),
        groups=tuple(groups),
        notes=(
            "working: doing useful work; active: weight loads, DMA issue and control too",
            "rate: achieved over what the resource can reach",
        ),
    )


def _shares(row: Row, line: int) -> list[Span]:
    found: list[Span] = []
    for one in row.evidence.resources:
        known = [
            (name, value)
            for name, value in (
                ("working", one.working),
                ("active", one.active),
                ("rate", one.rate),
            )
            if value is not None
        ]
        if not any(value > 0 for _, value in known):
            continue
        for name, value in known:
            if name == "active" and one.working == value:
                continue
            title = resource_title(one.resource)
            found.append(
                Span(
                    key=f"{row.key}: {one.resource} {name}",
                    row=line + len(found),
                    label=f"{title} {name}",
                    low=0.0,
                    value=value * 100,
                    high=value * 100,
                    tone=one.resource,
                    text=format_percent(value, digits=3),
                    source=f"{row.evidence.basis}, {row.placement.clock}; measured",
                )
            )
    return found


def step_spans(
    name: str, steps: Sequence[tuple[str, str, float]], total_s: float, row: int
) -> Iterator[Span]:
    """Yield a bar a step, each from the end of the one before, from row ``row`` on."""
    before = 0.0
    for number, (step, words, seconds) in enumerate(steps):
        yield Span(
            key=f"{name}: {step}",
            row=row + number,
            label=_WORDS.get(step, step),
            low=before,
            value=before + seconds,
            high=before + seconds,
            tone=_TONES.get(step, "unknown"),
            text=format_time(seconds),
            share=format_percent(seconds / total_s),
            source=words,
        )
        before += seconds


def describe_waterfall(result: StudyResult, views: Sequence[CaptureView]) -> Figure | None:
    """Return what the time above the lower bound is, a block a capture, or ``None``."""
    shown = [view for view in views if view.steps][:_MOST]
    spans: list[Span] = []
    groups = []
    for view in shown:
        note = f"{format_time(view.total_s)}; lower bound: {view.lower_bound_source}"
        groups.append((len(spans), view.name, note))
        spans += step_spans(view.name, view.steps, view.total_s, len(spans))
    if not spans:
        return None
    high = max(span.high for span in spans) * 1.3
    return Figure(
        key="waterfall",
        title="Where the time above the bound goes",
        subtitle=subtitle_of(result),
        x=Axis(label="time", unit="s", low=0.0, high=high, scale="linear"),
        spans=tuple(spans),
        groups=tuple(groups),
        notes=("steps add up to the total; a gap is not a saving: ideals are not reachable",),
    )
