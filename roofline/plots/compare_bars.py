"""Describe a comparison as bars: from the base to the new time, engines, and parts of the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from roofline.analysis.comparison import Comparison, Pair
from roofline.analysis.explain import signed_time
from roofline.analysis.observed import Use
from roofline.clocks import clock_label
from roofline.engines import resource_title
from roofline.plots.compare import title_of
from roofline.plots.describe_capture import step_spans
from roofline.plots.figure import Axis, Figure, Span
from roofline.units import format_percent, format_time

__all__ = ["compare_bars", "describe_activity", "describe_change", "describe_parts"]

_MOST: Final = 6  # kernels below each other
_ROOM: Final = 1.35  # of the longest bar, for the text behind it


def compare_bars(comparison: Comparison) -> tuple[Figure, ...]:
    """Return the figures of bars that a comparison has data for, the reasons first."""
    found = (
        describe_change(comparison),
        describe_activity(comparison),
        describe_parts(comparison),
    )
    return tuple(figure for figure in found if figure is not None)


def describe_change(comparison: Comparison) -> Figure | None:
    """Return the base time, each reason that adds up to the difference, and the new time."""
    pairs = [pair for pair in comparison.pairs if pair.change_s]
    shown = _largest(pairs)
    spans: list[Span] = []
    groups = []
    for pair in shown:
        groups.append((len(spans), pair.key, f"{pair.words}; {clock_label(pair.clock)}"))
        spans += _steps(pair, len(spans))
    notes = (
        "left of the bar above: saved; right of it: added; the reasons add up to the difference",
        "kernels without reasons have no engine times or launches on both sides",
    )
    lacking = any(not _reasons(pair) for pair in shown)
    return _figure(
        "change", "From the base to the new time", comparison, spans, groups,
        (*notes[: 1 + lacking], *_cut(shown, pairs)),
    )  # fmt: skip


def _reasons(pair: Pair) -> list[tuple[str, float, str]]:
    return [(t.what, t.seconds, t.evidence) for t in pair.terms if t.seconds and not t.at_most]


def _steps(pair: Pair, row: int) -> Iterator[Span]:
    base_s, new_s = pair.base_s or 0.0, pair.new_s or 0.0
    yield _bar(pair, row, "base", base_s, "base")
    at = base_s
    for number, (what, seconds, evidence) in enumerate(_reasons(pair), 1):
        yield Span(
            key=f"{pair.key}: {what}",
            row=row + number,
            label=what,
            low=min(at, at + seconds),
            value=at + seconds,
            high=max(at, at + seconds),
            tone="saved" if seconds < 0 else "added",
            text=f"{signed_time(seconds)} ({format_percent(seconds / base_s, signed=True)})",
            source=evidence,
        )
        at += seconds
    yield _bar(pair, row + 1 + len(_reasons(pair)), "new", new_s, "measured")


def _bar(pair: Pair, row: int, side: str, seconds: float, tone: str) -> Span:
    one = pair.base if side == "base" else pair.new
    return Span(
        key=f"{pair.key}: {side}",
        row=row,
        label=f"{side} time",
        low=0.0,
        value=seconds,
        high=seconds,
        tone=tone,
        text=format_time(seconds),
        source=f"{one.key if one is not None else side}, {clock_label(pair.clock)}",
    )


def describe_activity(comparison: Comparison) -> Figure | None:
    """Return the busy time of each engine and DMA on both sides, or ``None`` without any."""
    pairs = [pair for pair in comparison.pairs if _uses(pair) is not None]
    shown = _largest(pairs)
    spans: list[Span] = []
    groups = []
    for pair in shown:
        uses = _uses(pair)
        if uses is None:
            continue
        window = " -> ".join(format_time(use.window_s) for use in uses)
        groups.append((len(spans), pair.key, f"of {window}, {clock_label(pair.clock)}"))
        spans += _activity(pair, uses, len(spans))
    return _figure(
        "activity", "Engines before and after", comparison, spans, groups,
        (
            "grey: base; colour: new; percent: of the window of that side",
            ("an engine is busy while it computes (in a summary: active), DMA while a packet is "
            "in flight"),
            *_cut(shown, pairs),
        ),
    )  # fmt: skip


def _uses(pair: Pair) -> tuple[Use, Use] | None:
    if pair.change_s is None or pair.base is None or pair.new is None:
        return None
    base, new = pair.base.use(pair.clock), pair.new.use(pair.clock)
    return None if base is None or new is None else (base, new)


def _activity(pair: Pair, uses: tuple[Use, Use], row: int) -> Iterator[Span]:
    rows: list[tuple[str, str, list[float | None]]] = [
        (name, resource_title(name), [use.active_s.get(name, 0.0) for use in uses])
        for name in dict.fromkeys((*uses[0].active_s, *uses[1].active_s))
    ]
    idle = [None if use.any_s is None else use.window_s - use.any_s for use in uses]
    rows += [
        ("dma", "DMA alone", [use.exposed_dma_s for use in uses]),
        ("unknown", "nothing busy", idle),
        ("tensor", "Tensor throttled", [use.throttled_s for use in uses]),
    ]  # fmt: skip
    for tone, label, values in rows:
        if not any(values):
            continue
        for side, value, use in zip(("base", "new"), values, uses, strict=True):
            if value is None:
                continue
            yield Span(
                key=f"{pair.key}: {label}, {side}",
                row=row,
                label=f"{label}, {side}",
                low=0.0,
                value=value,
                high=value,
                tone="base" if side == "base" else tone,
                text=f"{format_time(value)} ({format_percent(value / use.window_s)})",
                source=f"{side}: {format_time(value)} of {format_time(use.window_s)}",
            )
            row += 1


def describe_parts(comparison: Comparison) -> Figure | None:
    """Return what the whole time of both sides is, from the lower bound up, or ``None``."""
    pairs = [
        pair
        for pair in comparison.pairs
        if pair.base is not None and pair.base.parts
        if pair.new is not None and pair.new.parts
    ]
    shown = _largest(pairs, _MOST // 2)
    spans: list[Span] = []
    groups = []
    seen: set[str] = set()
    for pair in shown:
        for side, one in (("base", pair.base), ("new", pair.new)):
            if one is None:
                continue
            if side == "base":
                if one.key in seen:  # several runs share it
                    continue
                seen.add(one.key)
            total = sum(part.seconds for part in one.parts)
            groups.append((len(spans), f"{side}: {one.key}", f"{format_time(total)} in all"))
            steps = [(part.name, part.what, part.seconds) for part in one.parts]
            spans += step_spans(f"{side}: {one.key}", steps, total, len(spans))
    return _figure(
        "parts", "Where the time goes, before and after", comparison, spans, groups,
        (
            "parts add up to the total with start-up and tail; lower bound: of the useful work",
            *_cut(shown, pairs),
        ),
    )  # fmt: skip


def _largest(pairs: Sequence[Pair], most: int = _MOST) -> list[Pair]:
    return sorted(pairs, key=lambda pair: -abs(pair.change_s or 0.0))[:most]


def _cut(shown: Sequence[Pair], pairs: Sequence[Pair]) -> tuple[str, ...]:
    if len(shown) == len(pairs):
        return ()
    return (f"the {len(shown)} largest changes of {len(pairs)}; the tables hold all",)


def _figure(
    key: str,
    title: str,
    comparison: Comparison,
    spans: Sequence[Span],
    groups: Sequence[tuple[int, str, str]],
    notes: tuple[str, ...],
) -> Figure | None:
    if not spans:
        return None
    high = max(span.high for span in spans) * _ROOM
    return Figure(
        key=key,
        title=title,
        subtitle=title_of(comparison),
        x=Axis(label="time", unit="s", low=0.0, high=high, scale="linear"),
        spans=tuple(spans),
        groups=tuple(groups),
        notes=notes,
    )
