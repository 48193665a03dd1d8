"""Describe the two planes of a study: roofline and engine panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from roofline.analysis.placement import usable_modes
from roofline.clocks import CLOCK_LABELS
from roofline.hardware.model import Hardware, Roof
from roofline.plots.figure import Axis, Figure, Line, Point
from roofline.plots.roofs import limits, roof_lines
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row
from roofline.units import format_count, format_counted, format_percent, format_si, format_time

__all__ = [
    "describe_engines",
    "describe_roofline",
    "detail_of",
    "memory_roofs",
    "series_of",
    "shown_rows",
    "subtitle_of",
]

_MOST_ROWS = 6  # blocks of the ladder that can be read
_WIDE_GAP = 30.0  # times under its roof from which the way up is drawn and named
_MOST_NAMED = 12  # points with a label each; of more, the ends of each series are named


def shown_rows(rows: Sequence[Row], most: int = _MOST_ROWS) -> tuple[Row, ...]:
    """Return rows for a figure with a block each: all, or the largest size of each series."""
    if len(rows) <= most:
        return tuple(rows)
    return tuple(members[-1] for members in series_of(rows))[:most]


def describe_roofline(result: StudyResult) -> Figure:
    """Return the roofline: FLOP/B against FLOP/s, minimal and dispatched bytes joined."""
    hardware = result.hardware
    tensor = [roof for roof in hardware.roofs("theoretical", "tensor") if roof.dtype != "sparse"]
    points, joins = _points(
        [row for row in result.rows if row.placement.flops],
        lambda row, kind: row.placement.intensity(kind),
        lambda row: row.placement.flops_per_s or 0.0,
        "FLOP/s",
    )
    context = _context(
        result,
        lambda row: row.placement.intensity("minimal") or 0.0,
        lambda row: row.placement.flops_per_s or 0.0,
    )
    ridges = [roof.value / hardware.memory_ceiling("theoretical").value for roof in tensor]
    low, high = limits(
        [
            *(point.x for point in points),
            *(x for one in context for x in one.x),
            min(ridges),
            max(ridges) * 4,
        ]
    )
    x = Axis(
        label="arithmetic intensity, all FLOP per HBM byte",
        unit="FLOP/B",
        low=low,
        high=high,
    )
    rates = [*(point.y for point in points), *(y for one in context for y in one.y)]
    y = Axis(
        label="achieved rate",
        unit="FLOP/s",
        low=min(rates, default=min(roof.value for roof in tensor) / 100) / 4,
        high=max(*(roof.value for roof in tensor), *rates) * 3,
    )
    return Figure(
        key="roofline",
        title="Roofline",
        subtitle=subtitle_of(result),
        x=x,
        y=y,
        lines=(
            *roof_lines(tensor, memory_roofs(hardware), x, hardware.memory_ceiling("theoretical")),
            *context,
            *joins,
            *_gap([row for row in result.rows if row.placement.flops], points),
        ),
        points=points,
        notes=_roofline_notes(result),
    )


def describe_engines(result: StudyResult) -> Figure:
    """Return the engine panel: element-passes per byte against element-passes per second."""
    hardware = result.hardware
    engines = [
        roof
        for key in ("vector", "scalar", "gpsimd")
        for roof in hardware.roofs("theoretical", key)
        if roof.mode in usable_modes(hardware, key, result.study.configs[0].dtype)
    ]
    points, joins = _points(
        [row for row in result.rows if row.placement.passes],
        lambda row, kind: row.placement.pass_intensity(kind),
        lambda row: row.placement.passes_per_s or 0.0,
        "pass/s",
    )
    context = _context(
        result,
        lambda row: row.placement.pass_intensity("minimal") or 0.0,
        lambda row: row.placement.passes_per_s or 0.0,
    )
    ceiling = hardware.memory_ceiling("theoretical")
    ridges = [roof.value / ceiling.value for roof in engines]
    low, high = limits(
        [*(point.x for point in points), *(x for one in context for x in one.x), *ridges]
    )
    x = Axis(
        label="element-passes per HBM byte",
        unit="pass/B",
        low=low,
        high=high,
    )
    rates = [*(point.y for point in points), *(y for one in context for y in one.y)]
    top = max(roof.value for roof in engines)
    y = Axis(
        label="achieved rate, element-passes",
        unit="pass/s",
        low=min(rates, default=top) / 4,
        high=max(top, *rates, top) * 3,
    )
    return Figure(
        key="engines",
        title="Element engines",
        subtitle=subtitle_of(result),
        x=x,
        y=y,
        lines=(*roof_lines(engines, memory_roofs(hardware), x, ceiling), *context, *joins),
        points=points,
        notes=("an element-pass: one element through a lane by one instruction, 1x to 4x a cycle",),
    )


def memory_roofs(hardware: Hardware) -> list[Roof]:
    """Return the memory roofs that are drawn: of no direction, and not the vendor's."""
    return [
        roof for roof in hardware.memory_roofs() if not roof.direction and roof.kind != "vendor"
    ]


def _points(
    rows: Sequence[Row],
    x: Callable[[Row, str], float | None],
    y: Callable[[Row], float],
    unit: str,
) -> tuple[tuple[Point, ...], tuple[Line, ...]]:
    """Return a point a row at its headline bytes, hollow ones at other bytes, and their joins."""
    shapes = {name: index for index, name in enumerate(dict.fromkeys(r.variant.name for r in rows))}
    ends = {members[-1].key for members in series_of(rows)}
    points, joins = [], []
    for row in rows:
        rate, placement = y(row), row.placement
        named = len(rows) <= _MOST_NAMED or row.key in ends
        name = row.measurement.key if len(rows) <= _MOST_NAMED else row.key
        at = {kind: value for kind in placement.bytes if (value := x(row, kind))}
        if not at or not rate:
            continue  # nothing computed or nothing moved: no place on two logarithmic axes
        main = placement.byte_kind if placement.byte_kind in at else next(iter(at))
        points.append(
            Point(
                key=row.key,
                label=f"{name}  {format_si(rate, unit)}" if named else "",
                x=at[main],
                y=rate,
                shape=shapes[row.variant.name],
                tone=row.verdict.resource,
                group=row.key,
                basis=main,
                time_s=row.time_s,
                detail=detail_of(row),
            )
        )
        others = {kind: value for kind, value in at.items() if value != at[main]}
        points += [
            Point(
                key=f"{row.key}, {kind} bytes",
                label="",
                x=value,
                y=rate,
                shape=shapes[row.variant.name],
                tone=row.verdict.resource,
                hollow=True,
                group=row.key,
                basis=kind,
                time_s=row.time_s,
                detail=(("at", f"{kind} bytes"), *detail_of(row)),
            )
            for kind, value in others.items()
        ]
        if others:
            span = sorted(at.values())
            joins.append(
                Line(
                    key=f"join:{row.key}",
                    label="",
                    role="join",
                    x=(span[0], span[-1]),
                    y=(rate, rate),
                )
            )
    return tuple(points), tuple(joins)


def _gap(rows: Sequence[Row], points: Sequence[Point]) -> tuple[Line, ...]:
    """Return the way from the point nearest to its memory roof up to it."""
    at = {point.key: point for point in points}
    best = min(rows, key=lambda row: row.placement.headroom or 0.0, default=None)
    if best is None or (best.placement.headroom or 0.0) < _WIDE_GAP or best.key not in at:
        return ()
    point = at[best.key]
    roof = best.placement.hardware.memory_ceiling("theoretical")
    return (
        Line(
            key=f"gap:{best.key}",
            label=f"{roof.value * point.x / point.y:,.0f}x below {roof.name}",
            role="gap",
            x=(point.x, point.x),
            y=(point.y, roof.value * point.x),
        ),
    )


def detail_of(row: Row) -> tuple[tuple[str, str], ...]:
    """Return every number of a point with its unit, source and quality, as (name, text)."""
    placement, measured, verdict = row.placement, row.measurement, row.verdict
    repeats = "" if measured.n is None else f", {measured.n} repeats"
    source = f"measured, {measured.source}; clock {measured.clock_quality}"
    counted = f"counted, mode {row.work.mode}"
    found: list[tuple[str, str]] = [
        (
            "time",
            f"{format_time(row.time_s)}; {CLOCK_LABELS[placement.clock]}{repeats}; {source}",
        ),
        ("verdict", verdict.label + (" (weak)" if verdict.weak else "")),
    ]
    if verdict.margin_words:
        found.append(("margin", verdict.margin_words))
    for kind, moved in placement.bytes.items():
        how = "measured, counters" if kind == "measured" else counted
        found.append((f"{kind} bytes", f"{format_count(moved)} B; {how}"))
        intensity = placement.intensity(kind)
        if intensity is not None:
            found.append((f"intensity, {kind}", f"{intensity:.4g} FLOP/B; derived"))
    found += [
        ("FLOP", f"{format_count(placement.flops)}; {counted}"),
        ("element-passes", f"{format_count(placement.passes)}; {counted}"),
    ]
    if placement.flops_per_s:
        found.append(("achieved", f"{format_si(placement.flops_per_s, 'FLOP/s')}; derived"))
    if placement.passes_per_s:
        found.append(("passes", f"{format_si(placement.passes_per_s, 'pass/s')}; derived"))
    rate = placement.bytes_per_s(placement.byte_kind)
    if rate:
        found.append(
            ("bandwidth", f"{format_si(rate, 'B/s')} of {placement.byte_kind} bytes; derived")
        )
    pair = placement.headline
    if pair is not None:
        roofs = (
            f"{roof.name} {format_si(roof.value, roof.unit)} ({roof.kind}, {roof.quality})"
            for roof in (pair.memory, pair.compute)
        )
        found.append(("roofs", ", ".join(roofs)))
    if placement.bound_s:
        share = f"{format_percent(placement.bound_fraction, digits=3)} of the time"
        found.append(("lower bound", f"{format_time(placement.bound_s)}, {share}; derived"))
    return tuple(found)


def _context(
    result: StudyResult, x: Callable[[Row], float], y: Callable[[Row], float]
) -> tuple[Line, ...]:
    """Return trajectories over size: of the context study, and of the study itself."""
    lines = []
    dtypes = {config.dtype for config in result.study.configs}
    for rows in series_of([r for r in result.context if r.measurement.config.dtype in dtypes]):
        first = rows[0].measurement
        lines.append(
            Line(
                key=f"context:{first.key}:{first.config.dtype}",
                label=f"measured: {first.key}, {_sizes(rows)}",
                role="context",
                x=tuple(x(row) for row in rows),
                y=tuple(y(row) for row in rows),
                source=first.source,
            )
        )
    return tuple(lines)


def series_of(rows: Sequence[Row]) -> list[list[Row]]:
    """Group rows of one variant and dtype, ordered by size."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        measured = row.measurement
        groups.setdefault((measured.key, measured.config.dtype), []).append(row)
    return [sorted(members, key=lambda row: row.work.minimal_bytes) for members in groups.values()]


def _sizes(rows: Sequence[Row]) -> str:
    first, last = rows[0].measurement.config.key, rows[-1].measurement.config.key
    return first if first == last else f"{first.split(' ')[0]} to {last}"


def subtitle_of(result: StudyResult) -> str:
    """Return operator, shape and hardware in a few words."""
    hardware = result.hardware
    configs = result.study.configs
    shape = configs[0].key if len(configs) == 1 else format_counted(len(configs), "config")
    if len(result.captures) > 1:
        shape = format_counted(len(result.captures), "capture")
    cores = "one core" if hardware.lnc == 1 else f"LNC {hardware.lnc}"
    if hardware.working_cores < hardware.lnc:
        cores += f", {hardware.working_cores} core at work"
    what = " ".join(filter(None, (result.study.op or result.study.title, shape)))
    return f"{what} on {hardware.name}, {cores}"


def _roofline_notes(result: StudyResult) -> tuple[str, ...]:
    notes = []
    without = len({row.measurement.key for row in result.rows if not row.placement.flops})
    if without:
        notes.append(f"not drawn: {without} of which no FLOP are known")
    if any(row.placement.tensor_flops == 0 for row in result.rows):
        notes.append(
            "Tensor roofs are for matrix products; elementwise work meets the engine panel's roofs"
        )
    if any(len(row.placement.bytes) > 1 for row in result.rows):
        notes.append(
            "filled: measured bytes, or minimal ones where none were measured; "
            "hollow: the same time with the bytes counted otherwise"
        )
    notes.append(f"vendor's ridge: {format_si(result.hardware.vendor_ridge(), 'FLOP/B')}")
    return tuple(notes)
