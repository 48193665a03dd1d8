"""Observe any input as a Run: studies, captures, folders, tables, reports and baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from roofline.analysis.observed import Observed, Run, join_repeats
from roofline.captures.capture import Issue
from roofline.captures.folder import Group, Member, is_folder, one_each, program_name, scan_folder
from roofline.captures.measured.table import load_measured
from roofline.errors import CaptureError, QueryError, RooflineError
from roofline.model.stored import is_sweep
from roofline.study.load import is_study, load_study
from roofline.study.observe_capture import observe_capture
from roofline.study.observe_study import observe_study
from roofline.study.observe_table import observe_table
from roofline.study.options import Options
from roofline.study.run_file import is_run_file, load_run

__all__ = ["observe", "observe_all", "observe_joined"]

SELECT = "::"


def observe_all(paths: Sequence[str], options: Options) -> tuple[Run, ...]:
    """Return a run a path, with labels that tell them apart."""
    sweeps = _sweeps(paths)
    runs = [sweeps.get(path) or observe(path, options) for path in paths]
    return tuple(
        replace(run, label=label)
        for run, label in zip(runs, _labels([run.source for run in runs]), strict=True)
    )


def _sweeps(paths: Sequence[str]) -> dict[str, Run]:
    """Return the runs of stored sweeps, which are read together: large ones by what changes."""
    held = [path for path in dict.fromkeys(paths) if is_sweep(path)]
    if not held:
        return {}
    from roofline.study.observe_sweep import observe_sweeps

    return dict(zip(held, observe_sweeps([Path(path) for path in held]), strict=True))


def observe(path: str, options: Options | None = None) -> Run:
    """Return what ``path`` holds.

    A path is a study (folder, file or shipped name), any capture, a folder of captures, a table
    of measured times, a stored sweep, a ``report.json`` or a baseline. ``PATH::NAME`` takes the
    kernel or variant ``NAME`` of it only. Raises ``RooflineError`` that names the path.
    """
    options = options or Options()
    where, _, name = path.partition(SELECT)
    run = _observe(where, options)
    if not any(one.timings for one in run.observed):
        raise QueryError(f"{where}: nothing in it that has a time")
    if name:
        kept = tuple(one for one in run.observed if one.kernel == name)
        if not kept:
            raise QueryError(f"{where}: no kernel {name!r}; known: {', '.join(run.kernels)}")
        run = replace(run, observed=kept)
    return replace(run, source=path, observed=join_repeats(run.observed))


def observe_joined(paths: Sequence[str], options: Options, *, label: str) -> Run:
    """Return all ``paths`` as one run: what has the same kernel and shape is a repeat.

    With ``options.repeats`` every capture is one of the first one's kernel.
    """
    if not paths:
        raise QueryError("no path to observe")
    runs = [observe(path, options) for path in paths]
    observed = [one for run in runs for one in run.observed]
    if options.repeats:
        observed = [replace(one, kernel=observed[0].kernel) for one in observed]
    return Run(
        label=label,
        source=", ".join(paths),
        format=", ".join(dict.fromkeys(run.format for run in runs)),
        observed=join_repeats(observed),
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        issues=tuple(dict.fromkeys(issue for run in runs for issue in run.issues)),
    )


def _observe(where: str, options: Options) -> Run:
    path = Path(where)
    if is_sweep(path):
        return _sweeps([where])[where]
    if is_study(where):
        return observe_study(load_study(where), options)
    if is_run_file(path):
        return load_run(path)
    if is_folder(path):
        return _folder(path, options)
    try:
        return observe_capture(options.opener(path), options)
    except CaptureError as capture_error:
        if path.suffix.lower() not in (".csv", ".tsv", ".toml", ".txt"):
            raise
        try:
            return observe_table(load_measured(path), options)
        except RooflineError as error:
            raise CaptureError(
                f"{error}; as a capture: {_without_path(capture_error, path)}"
            ) from error


def _folder(path: Path, options: Options) -> Run:
    """Return every program of a folder; its executions are repeats, each taken once."""
    folder = scan_folder(path, opener=options.opener)
    observed: list[Observed] = []
    notes = list(folder.problems)
    issues: list[tuple[str, Issue]] = []
    traces = {program_name(path, capture) for capture in folder.captures if capture.has("cpu_ops")}
    for group in folder.groups:
        kernel = path.name if options.repeats else program_name(path, group.members[0].capture)
        ranks = {member.rank for member in group.members}
        for member in _executions(group):
            name = f"{kernel}, rank {member.rank}" if len(ranks) > 1 else kernel
            run = observe_capture(member.capture, options, kernel=name)
            several = len(traces) > 1 and not options.repeats and member.capture.has("cpu_ops")
            observed += [
                replace(one, kernel=f"{name}: {one.kernel}") if several else one
                for one in run.observed
            ]
            notes += run.notes
            issues += run.issues
    return Run(
        label=path.name,
        source=str(path),
        format="folder",
        observed=tuple(observed),
        notes=tuple(dict.fromkeys(notes)),
        issues=tuple(dict.fromkeys(issues)),
    )


def _executions(group: Group) -> list[Member]:
    """Return one capture an execution: a raw trace before what the vendor's tool made of it."""
    kept = {capture.path for capture in one_each([member.capture for member in group.members])}
    return [member for member in group.members if member.path in kept]


def _labels(sources: Sequence[str]) -> list[str]:
    """Return the shortest ends of paths that differ; suffixes only where they are needed."""
    for shorten in (
        _stem,
        lambda text: text.rsplit("/", 1)[-1],
        lambda text: "/".join(text.rsplit("/", 2)[-2:]),
    ):
        names = [shorten(source.rstrip("/")) for source in sources]
        if len(set(names)) == len(names):
            return names
    return [f"{_stem(source)} ({number})" for number, source in enumerate(sources, 1)]


def _stem(text: str) -> str:
    where, mark, name = text.partition(SELECT)
    if mark:
        return name
    last = where.rsplit("/", 1)[-1]
    return last.split(".")[0] or last


def _without_path(error: Exception, path: Path) -> str:
    return str(error).removeprefix(f"{path}: ")
