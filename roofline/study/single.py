"""A result without a study file: of captures, or of one counted function and its time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from roofline.analysis.finding import Finding, rank
from roofline.analysis.from_time import evidence_from_time
from roofline.analysis.ladder import ladder
from roofline.analysis.placement import place
from roofline.analysis.verdict import decide
from roofline.captures.capture import Capture, Issue
from roofline.captures.folder import executions, is_folder, scan_folder
from roofline.captures.hardware import named_hardware
from roofline.captures.opening import Opener
from roofline.clocks import Clock
from roofline.errors import QueryError, StudyError
from roofline.hardware.assumed import ASSUMED
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.model.estimate import Estimate
from roofline.study.captured import capture_findings, capture_hardware, capture_row
from roofline.study.evaluate import StudyResult
from roofline.study.findings import impossible_times
from roofline.study.load import list_studies
from roofline.study.rows import Row
from roofline.study.study import Config, Measurement, Source, Study, Variant
from roofline.study.traced import evaluate_trace, is_trace
from roofline.study.untimed import estimated
from roofline.work.work import Work

__all__ = ["evaluate_captures", "evaluate_time"]


def evaluate_captures(
    path: Path,
    *,
    hardware: str | None = None,
    lnc: int | None = None,
    window: str = "body",
    preset: str = "vendor",
    opener: Opener | None = None,
    work: Work | None = None,
    time_s: float | None = None,
    clock: str | None = None,
) -> StudyResult:
    """Return the result of one capture, or of every capture in a folder, a row each.

    A framework's trace in a folder has a row an operator. All must be of one chip; ``work`` joins
    captures with what they had to do, ``time_s`` on ``clock`` adds an unprofiled time of the same
    work, ``opener`` opens them. Raises ``CaptureError`` for a path that holds no capture.
    """
    groups, problems = _open(path, opener or Opener())
    captures = [group[0] for group in groups]
    if len(captures) == 1 and is_trace(captures[0]):
        if work is not None or time_s is not None:
            raise QueryError(
                f"{path}: work and a time are joined with the capture of one kernel; a trace of "
                "operators has its own"
            )
        return evaluate_trace(captures[0], hardware=hardware, lnc=lnc, preset=preset)
    traces = [capture for capture in captures if is_trace(capture)]
    captures = [capture for capture in captures if not is_trace(capture)]
    machine = _machine(path, captures, traces, hardware, lnc)
    names = _names(path, [*captures, *traces])
    rows, findings, notes = [], list[Finding](), list(problems)
    for capture in captures:
        name = names[capture.path]
        rows.append(
            capture_row(
                capture,
                machine,
                variant=Variant(name=name, title=name, mode=work.mode if work else "executed"),
                source=name,
                window=window,
                preset=preset,
                work=work,
            )
        )
        findings += capture_findings(capture, machine, name if len(names) > 1 else "", window)
        notes += [f"{name}: {_issue_words(issue)}" for issue in capture.quality]
    for capture in traces:
        own = evaluate_trace(capture, hardware=machine.name, lnc=machine.lnc, preset=preset)
        rows += [_named(row, names[capture.path]) for row in own.rows]
        findings += [_of(one, names[capture.path]) for one in own.findings]
        notes += _trace_notes(own, names[capture.path])
    if time_s is not None and clock is not None:
        measured = rows[0].work
        rows.append(_timed(measured, machine, time_s, clock, preset, label="unprofiled"))
    sources = [_source(names[capture.path], capture) for capture in (*captures, *traces)]
    result = _result(
        path.stem,
        path.name,
        machine,
        preset,
        rows,
        rank([*findings, *impossible_times(rows)]),
        {source.key: source for source in sources},
        notes,
    )
    return replace(
        result,
        captures=tuple(captures),
        same_execution={
            names[first.path]: tuple(capture.path.name for capture in others)
            for first, *others in groups
            if others
        },
        # of work that was counted: what a capture executed says nothing of how it would be timed
        estimates=_estimates(rows[-1], machine) if work is not None and time_s is not None else {},
    )


def _issue_words(issue: Issue) -> str:
    count = "" if issue.count is None else f" ({issue.count:,})"
    return f"{issue.severity}: {issue.what}{count}"


def _source(name: str, capture: Capture) -> Source:
    note = "framework trace" if is_trace(capture) else f"{capture.format} capture"
    return Source(key=name, title=name, note=note)


def evaluate_time(
    work: Work,
    time_s: float,
    clock: str,
    hardware: str,
    *,
    lnc: int | None = None,
    preset: str = "vendor",
) -> StudyResult:
    """Return the result of a counted work and one time of it."""
    machine = load_hardware(hardware, lnc=lnc)
    row = _timed(work, machine, time_s, clock, preset)
    result = _result(work.name, work.name, machine, preset, [row], (), {}, [])
    return replace(result, estimates=_estimates(row, machine))


def _estimates(row: Row, machine: Hardware) -> dict[str, Estimate]:
    found = estimated(row.work, machine, row.placement.clock)
    return {} if found is None else {row.key: found}


def _timed(
    work: Work, machine: Hardware, time_s: float, clock: str, preset: str, label: str = ""
) -> Row:
    placement = place(work, machine, time_s=time_s, clock=clock)
    evidence = evidence_from_time(placement)
    variant = Variant(name=work.name, title=work.name, mode=work.mode)
    return Row(
        variant=variant,
        measurement=Measurement(
            variant=variant.name,
            config=Config(params=(), dtype=work.dtype),
            time_s=time_s,
            clock=Clock(key=clock),
            source="given",
            label=label,
        ),
        work=work,
        placement=placement,
        rungs=ladder(placement),
        evidence=evidence,
        verdict=decide(evidence, preset),
    )


def _result(
    name: str,
    title: str,
    machine: Hardware,
    preset: str,
    rows: list[Row],
    findings: tuple[Finding, ...],
    sources: dict[str, Source],
    notes: list[str],
) -> StudyResult:
    given = Source(key="given", title="given on the command line")
    study = Study(
        name=name,
        title=title,
        op="",
        hardware=(machine.name,),
        lnc=machine.lnc,
        working_cores=machine.working_cores,
        configs=tuple(dict.fromkeys(row.measurement.config for row in rows)),
        variants=tuple(row.variant for row in rows),
        measurements=tuple(row.measurement for row in rows),
        sources={**sources, "given": given}
        if any(row.measurement.source == "given" for row in rows)
        else sources,
        notes=tuple(notes),
    )
    return StudyResult(
        kind="capture",
        study=study,
        hardware=machine,
        preset=preset,
        rows=tuple(rows),
        others={},
        findings=findings,
        onset=(),
    )


def _machine(
    path: Path,
    captures: Sequence[Capture],
    traces: Sequence[Capture],
    hardware: str | None,
    lnc: int | None,
) -> Hardware:
    """Return the one hardware of captures; a trace that names no chip is taken to be of it."""
    machines = [capture_hardware(capture, hardware, lnc=lnc) for capture in captures]
    machines += [
        load_hardware(name, lnc=lnc or (machines[0].lnc if machines else None))
        for trace in traces
        if (name := hardware or named_hardware(trace) or (None if machines else ASSUMED))
    ]
    others = {f"{one.name}, LNC {one.lnc}" for one in machines}
    if len(others) > 1:
        raise StudyError(
            f"{path}: captures of {', '.join(sorted(others))}; report on each by its own path"
        )
    return machines[0]


def _names(path: Path, captures: Sequence[Capture]) -> dict[Path, str]:
    """Return a name a capture: its file's, with its folder where two have the same."""
    held = Counter(capture.path.name for capture in captures)
    return {
        one.path: one.path.name if held[one.path.name] == 1 else str(one.path.relative_to(path))
        for one in captures
    }


def _named(row: Row, name: str) -> Row:
    """Return a row of an operator of a trace under the name of the trace."""
    own = f"{name}: {row.variant.name}"
    return replace(
        row,
        variant=replace(row.variant, name=own, title=own),
        measurement=replace(row.measurement, variant=own, source=name),
    )


def _of(one: Finding, name: str) -> Finding:
    return replace(one, subject=f"{name}: {one.subject}" if one.subject else name)


def _trace_notes(result: StudyResult, name: str) -> list[str]:
    """Return what of a trace is not among the rows, and what was assumed of it."""
    notes = [f"{name}: {note}" for note in result.study.notes]
    if result.trace is None:
        return notes
    notes += [f"{name}: {one.key} is not placed: {one.problem}" for one in result.trace.uncounted]
    cores = f"LNC {result.hardware.lnc}, {result.hardware.working_cores} cores work"
    return [*notes, f"{name}: its operators are judged on {result.hardware.name}, {cores}"]


def _open(path: Path, opener: Opener) -> tuple[tuple[tuple[Capture, ...], ...], tuple[str, ...]]:
    """Return the capture at a path; of a folder that is none itself, all in it by execution.

    The first of each execution is the one to report on. What could not be opened is told beside.
    """
    if not path.exists():
        known = ", ".join(list_studies())
        raise StudyError(f"{path}: no such file or folder; shipped studies: {known}")
    if not is_folder(path):
        return ((opener(path),),), ()
    folder = scan_folder(path, opener=opener)
    told = [f"{neff.name}: a program without a trace" for neff in folder.programs]
    ordered = sorted(folder.captures, key=lambda capture: _by_number(capture.path))
    return executions(ordered), (*folder.problems, *told)


def _by_number(path: Path) -> tuple[tuple[int, str], ...]:
    """Order names as people do: 136 before 1024."""
    parts = re.split(r"(\d+)", str(path))
    return tuple((int(part), "") if part.isdecimal() else (0, part) for part in parts)
