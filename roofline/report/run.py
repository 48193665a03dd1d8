"""Report on paths: the one function behind ``roofline report``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.captures.opening import Opener
from roofline.errors import QueryError, RooflineError
from roofline.record.manifest import has_manifest, write_text
from roofline.record.measured import measured_study
from roofline.report.data import study_json, to_json
from roofline.report.study_blocks import summary_blocks
from roofline.report.terminal import to_text
from roofline.study.evaluate import StudyResult, evaluate
from roofline.study.load import is_study, list_studies, load_study
from roofline.study.study import Study
from roofline.units import parse_time

if TYPE_CHECKING:
    from roofline.work.work import Work

__all__ = ["Settings", "report", "result_of", "study_result"]

_SWEEPS = (".nc", ".zarr")  # how results of sweeps are stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How paths are reported on.

    ``hardware`` and ``lnc`` replace what a path says, ``window`` (``body``, ``total``) is judged
    with the marks of ``preset``. ``opener`` opens captures.
    ``target`` (``MODULE:FUNCTION``, or a closed form such as ``rmsnorm:fused``) with ``arguments``
    is counted and joined with a capture or with ``time`` (such as ``33us``) on ``clock``.
    """

    hardware: str | None = None
    lnc: int | None = None
    window: str = "body"
    preset: str = "vendor"
    trust: bool = False
    opener: Opener = field(default_factory=Opener)
    target: str | None = None
    arguments: tuple[str, ...] = ()
    mode: str = "fused"
    time: str | None = None
    clock: str | None = None


def report(
    paths: Sequence[str],
    settings: Settings | None = None,
    *,
    output: Path | None = None,
    as_json: bool = False,
    width: int = 80,
) -> Iterator[str]:
    """Yield the text to print for each path, writing its files first where ``output`` is given.

    With several paths each report goes to a folder of ``output`` named after it. Raises
    ``QueryError`` without anything to report on.
    """
    settings = settings or Settings()
    if not paths and settings.target is None:
        raise QueryError("nothing to report on: give a PATH, or --work with --time and --clock")
    results = []
    for path in paths or (None,):
        if path is not None and Path(path).suffix in _SWEEPS:
            yield from _sweep(path, output, as_json=as_json, width=width, alone=len(paths) == 1)
            continue
        if path is None or not has_manifest(path):
            results.append(result_of(path, settings))
            continue
        result, left_out = _of_recording(path, settings)
        yield from _recording(path, output, result, left_out, as_json=as_json)
        # the JSON of a recording holds the report on its times
        if result is not None and not as_json:
            results.append(result)
    settings.opener.check()
    if as_json and len(results) > 1:
        yield to_json({"reports": [study_json(result) for result in results]})
    for result in results:
        written: tuple[Path, ...] = ()
        if output is not None:
            from roofline.report.study_report import write_study_report

            folder = output if len(paths) <= 1 else output / result.study.name
            written = write_study_report(result, folder)
        if as_json:
            if len(results) == 1:
                yield to_json(study_json(result))
            continue
        yield to_text(summary_blocks(result), width=width)
        if written:
            names = ", ".join(path.name for path in written)
            yield f"\n{written[0].parent}: {names}\n"


def _sweep(
    path: str, output: Path | None, *, as_json: bool, width: int, alone: bool
) -> Iterator[str]:
    from roofline.report.sweep_report import (
        sweep_blocks,
        sweep_json,
        sweep_report,
        write_sweep_report,
    )

    found = sweep_report(path)
    written: tuple[Path, ...] = ()
    if output is not None:
        written = write_sweep_report(found, output if alone else output / found.name)
    if as_json:
        yield to_json(sweep_json(found))
        return
    yield to_text(sweep_blocks(found), width=width)
    if written:
        yield f"\n{written[0].parent}: {', '.join(path.name for path in written)}\n"


def _of_recording(path: str, settings: Settings) -> tuple[StudyResult | None, str]:
    """Return the result of the recorded times, and why device traces had to be left out of it."""
    study = measured_study(path)
    if study is None:
        return None, ""
    try:
        return _of_study(study, settings), ""
    except RooflineError as error:
        if not study.captures:
            raise
        # a trace that cannot be placed takes no recorded time with it
        return _of_study(replace(study, captures=()), settings), str(error)


def _recording(
    path: str, output: Path | None, result: StudyResult | None, left_out: str, *, as_json: bool
) -> Iterator[str]:
    """Yield the text of a recorded folder; with ``output`` also write it there, with its data."""
    from roofline.report.recording import recording_record, recording_text

    record = {**recording_record(path), "left_out": left_out}
    if result is not None:
        record["report"] = study_json(result)
    text, data = recording_text(path) + "\n", to_json(record)
    if left_out:
        text += f"  device traces are left out of what follows: {left_out}\n"
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write_text(output / "recording.txt", text)
        write_text(output / "recording.json", data)
    yield data if as_json else text


def result_of(path: str | None, settings: Settings) -> StudyResult:
    """Return the result of one path, or of a counted function and its time alone."""
    if path is not None and is_study(path):
        return _of_study(load_study(path), settings)
    from roofline.study.single import evaluate_captures, evaluate_time

    work, seconds = _work(settings), _seconds(settings)
    if path is None:
        if work is None or seconds is None or settings.clock is None:
            raise QueryError("--work without a PATH needs --time and --clock")
        if settings.hardware is None:
            raise QueryError("--work without a PATH needs --hw: nothing says which chip it was")
        return evaluate_time(
            work,
            seconds,
            settings.clock,
            settings.hardware,
            lnc=settings.lnc,
            preset=settings.preset,
        )
    return evaluate_captures(
        Path(path),
        hardware=settings.hardware,
        lnc=settings.lnc,
        window=settings.window,
        preset=settings.preset,
        opener=settings.opener,
        work=work,
        time_s=seconds,
        clock=settings.clock,
    )


def study_result(path: str, settings: Settings | None = None) -> StudyResult:
    """Return the result of the study at a path, with measured curves of its operator behind it."""
    return _of_study(load_study(path), settings or Settings())


def _of_study(study: Study, settings: Settings) -> StudyResult:
    return evaluate(
        study,
        hardware=settings.hardware,
        lnc=settings.lnc,
        preset=settings.preset,
        window=settings.window,
        trust=settings.trust,
        context=_context(study),
    )


def _context(study: Study) -> Study | None:
    """Return a shipped study of the same operator over many sizes, drawn behind this one."""
    for name in list_studies():
        other = load_study(name)
        if other.op == study.op and other.name != study.name and len(other.configs) > 1:
            return other
    return None


def _work(settings: Settings) -> Work | None:
    if settings.target is None:
        return None
    from roofline.work.named import is_named, named_work

    if is_named(settings.target):
        return named_work(settings.target, settings.arguments, variant=settings.mode)
    from roofline.work.callables import count_callable

    return count_callable(settings.target, settings.arguments, mode=settings.mode)


def _seconds(settings: Settings) -> float | None:
    if settings.time is None:
        return None
    if settings.clock is None:
        raise QueryError("--time needs --clock: a time without its clock cannot be placed")
    seconds = parse_time(settings.time)
    if seconds <= 0:
        raise QueryError(f"a time is more than 0, not {settings.time!r}")
    return seconds
