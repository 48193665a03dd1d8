"""What the report of a framework trace says beyond that of a study: operators, steps, gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from roofline.analysis.launches import NO_VALUE
from roofline.analysis.verdict import Verdict
from roofline.report.blocks import Block, Bullets, Heading, Paragraph, Table
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row
from roofline.study.traced import ALL, Operator, TraceView
from roofline.units import (
    format_count,
    format_counted,
    format_number,
    format_percent,
    format_si,
    format_time,
)

__all__ = ["operator_tables", "trace_summary"]

_TOP: Final = 10  # operators of the summary; the whole table holds every one
_SENTENCES: Final = 3
_NS: Final = 1e-9


def trace_summary(result: StudyResult, trace: TraceView) -> list[Block]:
    """Return what a terminal shows of a trace: setting, verdicts, and the longest operators."""
    alone = [row for row in result.rows if row.variant.name != ALL]
    sentences = [row for row in result.rows if row.variant.name == ALL] or alone[:_SENTENCES]
    blocks: list[Block] = [
        Bullets(items=tuple(_setting(result, trace))),
        Heading(text="Verdicts"),
    ]
    if sentences:
        blocks.append(Bullets(items=tuple(map(_sentence, sentences))))
    else:
        blocks.append(Paragraph(text=_nothing_placed(trace)))
    shown = _ordered(trace)[:_TOP]
    more = len(trace.operators) - len(shown)
    blocks += [
        Heading(text="Longest operators"),
        _known_columns(
            ("operator", "calls", "launches", "host", "window", "device", "verdict"),
            [(*_head(one, trace), _verdict(one)) for one in shown],
            words=frozenset({"operator", "verdict"}),
            note=f"{more} more in the table of the written report." if more > 0 else "",
        ),
    ]
    return blocks


def operator_tables(result: StudyResult) -> Iterator[Block]:
    """Yield every operator, those that are not counted, steps and gaps; nothing for no trace."""
    trace = result.trace
    if trace is None:
        return
    rows = {(row.variant.name, row.placement.clock): row for row in result.rows}
    yield Heading(text="Operators")
    placed = (
        " Bytes are minimal: the inputs and outputs of each launch. Bandwidth and share of the "
        "lower bound are over the executions where each launch has one, else over the windows. "
        "The last two columns judge the windows and the executions."
    )
    yield _known_columns(
        ("operator", "calls", "launches", "host", "window", "device", "FLOP", "bytes", "FLOP/B",
         "bandwidth", "of bound", "verdict", "on the device"),
        [_operator(one, trace, rows) for one in _ordered(trace)],
        words=frozenset({"operator", "verdict", "on the device"}),
        note=f"Times are sums over the counted steps, overlaps once.{placed if rows else ''}",
    )  # fmt: skip
    yield from _not_counted(trace)
    yield from _steps(trace)
    yield from _gaps(trace)


def _setting(result: StudyResult, trace: TraceView) -> Iterator[str]:
    attrs, sizes = trace.launches.attrs, trace.launches.sizes
    steps = attrs["steps_used"]
    scope = "the whole trace" if steps == NO_VALUE else f"{steps} of {sizes['step']} steps"
    operators = format_counted(len(trace.operators), "operator")
    if _on_host(trace):
        yield f"{operators} on the host in {scope}; no event of a device"
    else:
        device = attrs["device_union_ns"]
        running = "" if device == NO_VALUE else f", {format_time(device * _NS)} on the device"
        yield (
            f"{format_counted(attrs['launches'], 'launch')} of {operators} in "
            f"{scope}: {format_time(attrs['launch_union_ns'] * _NS)} in flight{running}"
        )
        yield f"a launch is: {attrs['basis_meaning']} (clock {attrs['clock']}, profiled)"
    if steps != NO_VALUE and steps != sizes["step"]:
        yield f"warm-up left out: {attrs['warmup_rule']}"
    if trace.assumed and result.rows:
        yield (
            f"the trace does not say which chip it is from: {result.hardware.name} with LNC "
            f"{result.hardware.lnc} is assumed; --hw names another"
        )
    launched = [one for one in trace.operators if one.launches]
    if launched:
        counted = sum(one.time_s for one in launched if not one.problem)
        total = sum(one.time_s for one in launched)
        share = f", {format_percent(counted / total)} of their time" if total else ""
        partial = "; totals are partial" if trace.uncounted else ""
        yield (
            f"{len(launched) - len(trace.uncounted)} of {len(launched)} launched operators are "
            f"counted{share}{partial}"
        )


def _nothing_placed(trace: TraceView) -> str:
    if _on_host(trace):
        return (
            "Nothing is placed on a roofline: the trace holds no event of a device, and a time "
            "on the host says nothing of a kernel."
        )
    return "Nothing is placed on a roofline: no launched operator could be counted."


def _sentence(row: Row) -> str:
    return f"{row.measurement.key}: {row.verdict.explanation}"


def _ordered(trace: TraceView) -> Sequence[Operator]:
    """Return operators before plain ranges of host time where nothing launched."""
    return sorted(trace.operators, key=lambda one: -one.time_s or (0 if one.is_operator else 1))


def _known_columns(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: frozenset[str], note: str
) -> Table:
    """Return a table of the columns in which anything is known."""
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    return Table(
        columns=tuple(columns[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in rows),
        numeric=frozenset(new for new, at in enumerate(kept) if columns[at] not in words),
        note=note,
    )


def _head(one: Operator, trace: TraceView) -> tuple[str, ...]:
    """Return name, calls, launches and times; without events of a device nothing is a launch."""
    return (
        one.key,
        format_count(one.calls),
        "" if _on_host(trace) else format_count(one.launches),
        _time(one.host_s),
        _time(one.window_s),
        _time(one.device_s),
    )


def _on_host(trace: TraceView) -> bool:
    return str(trace.launches.attrs["basis"]) == "dispatch"


def _operator(one: Operator, trace: TraceView, rows: dict[tuple[str, str], Row]) -> tuple[str, ...]:
    row = rows.get((one.key, "device_execution")) or rows.get((one.key, "framework_window"))
    head = _head(one, trace)
    if row is None:
        return (*head, *[""] * 5, "not counted" if one.problem else "", "")
    placement = row.placement
    intensity, rate = placement.intensity("minimal"), placement.bytes_per_s("minimal")
    return (
        *head,
        format_count(placement.flops),
        format_count(row.work.minimal_bytes),
        "" if intensity is None else format_number(intensity),
        "" if rate is None else format_si(rate, "B/s"),
        format_percent(placement.bound_fraction),
        _label(one.window),
        _label(one.device),
    )


def _not_counted(trace: TraceView) -> Iterator[Block]:
    if not trace.uncounted:
        return
    yield Heading(text="Not counted")
    yield Table(
        columns=("operator", "shapes", "launches", "time", "why"),
        rows=tuple(
            (one.name, one.shapes, format_count(one.launches), _time(one.time_s), one.problem)
            for one in trace.uncounted
        ),
        numeric=frozenset({2, 3}),
        note="They launched, but what they compute is not known: they are not placed, and totals "
        "leave them out.",
    )


def _steps(trace: TraceView) -> Iterator[Block]:
    found = trace.launches
    if not found.sizes["step"]:
        return
    names = ("duration_ns", "launches", "busy_ns", "device_ns", "warmup")
    columns = [found[f"step_{name}"].values.tolist() for name in names]
    yield Heading(text="Steps")
    calls, busy_words = ("calls", "in operators") if _on_host(trace) else ("launches", "in flight")
    yield _known_columns(
        ("step", "duration", calls, busy_words, "on the device", "counted"),
        [
            (
                str(number),
                _ns(duration),
                format_count(launches),
                _ns(busy),
                _ns(device),
                "no, warm-up" if warmup else "yes",
            )
            for number, duration, launches, busy, device, warmup in zip(
                found["step"].values.tolist(), *columns, strict=True
            )
        ],
        words=frozenset({"step", "counted"}),
        note=f"Warm-up: {found.attrs['warmup_rule']}.",
    )


def _gaps(trace: TraceView) -> Iterator[Block]:
    found = trace.launches
    gaps = found["launch_gap_ns"].values[found["launch_counted"].values]
    gaps = gaps[gaps != NO_VALUE]
    if _on_host(trace) or not len(gaps):
        return
    yield Heading(text="Gaps between launches", short="Gaps")
    yield Paragraph(
        text=f"The queues were idle for {_ns(int(gaps.sum()))} in "
        f"{format_counted(len(gaps), 'gap')} between launches, the longest {_ns(int(gaps.max()))}."
    )


def _verdict(one: Operator) -> str:
    return "not counted" if one.problem else _label(one.window) or _label(one.device)


def _label(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    excluded = f", not {' or '.join(verdict.excluded)}" if verdict.excluded else ""
    return f"{verdict.label}{excluded if verdict.resource == 'unknown' else ''}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else format_time(seconds)


def _ns(value: int) -> str:
    return "" if value == NO_VALUE else format_time(value * _NS)
