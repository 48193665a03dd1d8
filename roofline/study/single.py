"""A result without a study file: of captures, or of one counted function and its time."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from roofline.analysis.finding import Finding, rank
from roofline.analysis.from_time import evidence_from_time
from roofline.analysis.ladder import ladder
from roofline.analysis.placement import place
from roofline.analysis.verdict import decide
from roofline.captures.capture import Capture
from roofline.captures.folder import executions
from roofline.captures.opening import Opener
from roofline.clocks import Clock
from roofline.errors import CaptureError, QueryError, StudyError
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.study.captured import capture_findings, capture_hardware, capture_row
from roofline.study.evaluate import StudyResult
from roofline.study.load import list_studies
from roofline.study.rows import Row
from roofline.study.study import Config, Measurement, Source, Study, Variant
from roofline.study.traced import evaluate_trace, is_trace
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

    Captures of a folder must be of one chip. ``work`` joins them with what they had to do;
    ``time_s`` on ``clock`` adds an unprofiled time of the same work; ``opener`` opens captures.
    Raises ``CaptureError`` for a path that holds no capture.
    """
    groups = _open(path, opener or Opener())
    captures = [group[0] for group in groups]
    if len(captures) == 1 and is_trace(captures[0]):
        if work is not None or time_s is not None:
            raise QueryError(
                f"{path}: work and a time are joined with the capture of one kernel; a trace of "
                "operators has its own"
            )
        return evaluate_trace(captures[0], hardware=hardware, lnc=lnc, preset=preset)
    machines = [capture_hardware(capture, hardware, lnc=lnc) for capture in captures]
    machine = machines[0]
    others = {f"{one.name}, LNC {one.lnc}" for one in machines}
    if len(others) > 1:
        raise StudyError(
            f"{path}: captures of {', '.join(sorted(others))}; report on each by its own path"
        )
    rows, findings, notes = [], list[Finding](), list[str]()
    for capture in captures:
        name = capture.path.name
        variant = Variant(name=name, title=name, mode=work.mode if work else "executed")
        row = capture_row(
            capture,
            machine,
            variant=variant,
            source=name,
            window=window,
            preset=preset,
            work=work,
        )
        rows.append(row)
        findings += capture_findings(capture, machine, name if len(captures) > 1 else "", window)
        notes += [
            f"{name}: {issue.severity}: {issue.what}"
            + (f" ({issue.count:,})" if issue.count is not None else "")
            for issue in capture.quality
        ]
    if time_s is not None and clock is not None:
        measured = rows[0].work
        rows.append(_timed(measured, machine, time_s, clock, preset, label="unprofiled"))
    sources = {
        capture.path.name: Source(
            key=capture.path.name, title=capture.path.name, note=f"{capture.format} capture"
        )
        for capture in captures
    }
    result = _result(path.stem, path.name, machine, preset, rows, rank(findings), sources, notes)
    return replace(
        result,
        captures=tuple(captures),
        same_execution={
            group[0].path.name: tuple(capture.path.name for capture in group[1:])
            for group in groups
            if len(group) > 1
        },
    )


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
    return _result(work.name, work.name, machine, preset, [row], (), {}, [])


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


def _open(path: Path, opener: Opener) -> tuple[tuple[Capture, ...], ...]:
    """Return the capture at a path; of a folder that is none itself, all in it by execution.

    The first of each execution is the one to report on.
    """
    if not path.exists():
        known = ", ".join(list_studies())
        raise StudyError(f"{path}: no such file or folder; shipped studies: {known}")
    try:
        return ((opener(path),),)
    except CaptureError:
        if not path.is_dir():
            raise
        found = []
        for file in sorted(path.iterdir(), key=_by_number):
            try:
                found.append(opener(file))
            except CaptureError:
                continue
        if not found:
            raise
        return executions(found)


def _by_number(path: Path) -> tuple[tuple[int, str], ...]:
    """Order names as people do: 136 before 1024."""
    parts = re.split(r"(\d+)", path.name)
    return tuple((int(part), "") if part.isdecimal() else (0, part) for part in parts)
