"""Check a study beyond its format: what is missing, unused or weak, each with its line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roofline.captures.registry import open_capture
from roofline.clocks import CLOCKS
from roofline.errors import RooflineError, StudyError
from roofline.hardware.load import load_hardware
from roofline.study.callables import code_file
from roofline.study.lines import line_of
from roofline.study.load import find_study, load_study
from roofline.study.study import Study
from roofline.textfile import read_text
from roofline.work.closed_form import families

__all__ = ["SEVERITIES", "Remark", "check_study"]

SEVERITIES: Final = ("error", "warning", "info")
"""``error``: a report cannot be made; ``warning``: it says less; ``info``: worth knowing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One remark about a line (from 1) of a study file."""

    severity: str
    line: int
    what: str


def check_study(path: str | Path) -> tuple[Path, Study, tuple[Remark, ...]]:
    """Return the file, the study and every remark about it, in the order of lines.

    No code of the study is run. Raises ``StudyError`` with file and line for what is no study.
    """
    file = find_study(path)
    study = load_study(path)
    text = read_text(file, StudyError)
    remarks = [
        Remark(severity=severity, line=line_of(text, where), what=what)
        for severity, where, what in (
            *_hardware(study),
            *_variants(study, file.parent),
            *_times(study),
            *_captures(study),
            *_sources(study),
        )
    ]
    return file, study, tuple(sorted(remarks, key=lambda one: one.line))


_Found = Iterator[tuple[str, str, str]]


def _hardware(study: Study) -> _Found:
    for index, name in enumerate(study.hardware):
        try:
            load_hardware(name, lnc=study.lnc, working_cores=study.working_cores)
        except RooflineError as error:
            yield "error", f"$.hardware[{index}]", str(error)


def _variants(study: Study, folder: Path) -> _Found:
    closed = study.op.replace("-", "_") in families()
    used = {m.variant for m in study.measurements} | {c.variant for c in study.captures}
    for index, variant in enumerate(study.variants):
        where = f"$.variant[{index}]"
        if variant.name not in used:
            what = f"variant {variant.name!r} has no time and no capture: its time is modelled"
            yield "info", f"{where}.name", what
        if not closed and not variant.callable:
            what = (
                f"variant {variant.name!r} cannot be counted: {study.op!r} has no closed form "
                f"({', '.join(families())}) and no callable is given"
            )
            yield "error", f"{where}.name", what
        for key in ("callable", "schedule", "reference"):
            name = getattr(variant, key)
            fault = _callable_fault(name, folder) if name else ""
            if fault:
                yield "error", f"{where}.{key}", fault
        if variant.device and not variant.reference:
            what = f"variant {variant.name!r} runs on {variant.device} only and has no reference"
            yield "warning", f"{where}.device", f"{what}: nothing says that its result is right"
    if study.inputs:
        fault = _callable_fault(study.inputs, folder)
        if fault:
            yield "error", "$.inputs.callable", fault


def _callable_fault(name: str, folder: Path) -> str:
    """Return what is wrong with ``file.py:function``, read without running it."""
    where, mark, function = name.partition(":")
    if not mark or not function:
        return f"callable {name!r}: write file.py:function or module:function"
    if not where.endswith(".py"):
        return ""  # a module is found when it is run
    try:
        tree = ast.parse(read_text(code_file(folder, where)[0], StudyError))
    except StudyError as error:
        return f"callable {name!r}: {error}"
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"callable {name!r}: {where}: {error}"
    defined = [
        *(n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))),
        *(
            target.id
            for n in tree.body
            if isinstance(n, ast.Assign)
            for target in n.targets
            if isinstance(target, ast.Name)
        ),
    ]
    if function not in defined:
        return f"callable {name!r}: {where} has no {function!r}; it has {', '.join(defined)}"
    return ""


def _times(study: Study) -> _Found:
    seen: dict[str, int] = {}
    for measured in study.measurements:
        number = next(i for i, v in enumerate(study.variants) if v.name == measured.variant)
        index = seen.get(measured.variant, 0)
        seen[measured.variant] = index + 1
        where = f"$.variant[{number}].time[{index}]"
        name = f"{measured.key}, {measured.config.key}"
        if measured.n is None:
            yield "warning", where, f"{name}: n, the number of repeats, is not stated"
        elif measured.n == 1:
            yield "info", where, f"{name}: one run: no spread is known"
        if measured.clock.profiled is None:
            yield "info", where, f"{name}: whether the run was profiled is not stated"
        if measured.clock_quality == "inferred":
            clock = CLOCKS[measured.clock.key]
            yield "info", f"{where}.clock", f"{name}: the clock is inferred ({clock})"
    clocks = {measured.clock.key for measured in study.measurements}
    if len(clocks) > 1:
        said = ", ".join(sorted(clocks))
        yield "info", "$.variant", f"times are on several clocks, which are not compared: {said}"


def _captures(study: Study) -> _Found:
    seen: dict[str, int] = {}
    for reference in study.captures:
        number = next(i for i, v in enumerate(study.variants) if v.name == reference.variant)
        index = seen.get(reference.variant, 0)
        seen[reference.variant] = index + 1
        try:
            open_capture(reference.path)
        except RooflineError as error:
            yield "error", f"$.variant[{number}].capture[{index}].path", str(error)


def _sources(study: Study) -> _Found:
    used = {m.source for m in study.measurements} | {c.source for c in study.captures}
    for key in study.sources:
        if key not in used:
            yield "warning", f"$.sources.{key}", f"source {key!r} is not used"
