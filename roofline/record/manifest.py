"""``manifest.toml``: who recorded a folder, how, and what is in it."""

from __future__ import annotations

import json
import math
import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from roofline.analysis.finding import Finding
from roofline.clocks import Clock
from roofline.errors import CaptureError
from roofline.textfile import read_text

__all__ = [
    "FAILURES",
    "FILE_NAME",
    "SCHEMA_VERSION",
    "TIMES",
    "Manifest",
    "Problem",
    "ReferenceCheck",
    "Run",
    "Skipped",
    "has_manifest",
    "load_manifest",
    "problem_of",
    "to_toml",
    "write_manifest",
    "write_text",
]

FILE_NAME: Final = "manifest.toml"
SCHEMA_VERSION: Final = 1

TIMES: Final = {
    "host_wall_s": Clock(key="host_wall", profiled=False),
    "window_s": Clock(key="framework_window", profiled=True),
    "device_s": Clock(key="device_execution", profiled=True),
}
"""The clock of each list of times of a run."""


FAILURES: Final = frozenset({"variant-failed", "reference-mismatch", "explorer-failed"})
"""Problems for which a run lacks what was asked for: times, or a trace of its programs."""


class _Entry(msgspec.Struct, kw_only=True, frozen=True):
    """A table; keys of later versions are passed over."""


class Problem(_Entry, frozen=True):
    """One thing that is wrong with a run, and what to do about it."""

    id: str
    what: str
    remedy: str = ""


def problem_of(finding: Finding) -> Problem:
    """Return a finding about a run as its manifest says it."""
    return Problem(id=finding.id, what=f"{finding.what}: {finding.evidence}", remedy=finding.remedy)


class ReferenceCheck(_Entry, frozen=True):
    """How far the result of a variant was from its reference, before it was timed."""

    callable: str
    max_abs_error: float
    max_rel_error: float
    tolerance: float
    passed: bool


class Skipped(_Entry, frozen=True):
    """A variant that this host cannot run, and why."""

    variant: str
    why: str


class Run(_Entry, frozen=True):
    """One variant in one config.

    Paths are relative to the manifest. ``host_wall_s`` are times of single calls without the
    profiler; ``window_s`` and ``device_s`` are per profiled step, empty where they are not known.
    ``launches`` counts launches a step, ``launch_basis`` says what a launch is. ``device_traces``
    are the profiler's, ``explorer_traces`` one clean execution of each program.
    """

    variant: str
    folder: str
    mode: str = ""
    callable: str = ""
    params: dict[str, int] = {}
    dtype: str = ""
    trace: str = ""
    device_traces: list[str] = []
    explorer_traces: list[str] = []
    programs: list[str] = []
    host_wall_s: list[float] = []
    window_s: list[float] = []
    device_s: list[float] = []
    launches: float | None = None
    launch_basis: str = ""
    reference: ReferenceCheck | None = None
    problems: list[Problem] = []


class Manifest(_Entry, frozen=True):
    """A recorded folder. ``device`` is ``neuron`` or ``cpu``; ``missing`` is what was not there.

    ``complete`` is false while it is recorded, and stays so in one that was interrupted. ``core``
    is the logical core, ``lnc`` the physical cores in it where the host says so;
    ``clocks`` maps a list of times of a run to its clock.
    """

    schema_version: int
    created: str
    device: str
    name: str
    complete: bool = True
    title: str = ""
    op: str = ""
    study_sha256: str = ""
    hardware: list[str] = []
    core: int | None = None
    lnc: int | None = None
    instance_type: str = ""
    missing: list[str] = []
    notes: list[str] = []
    versions: dict[str, str] = {}
    host: dict[str, str] = {}
    environment: dict[str, str] = {}
    schedule: dict[str, int] = {}
    clocks: dict[str, str] = {}
    skipped: list[Skipped] = []
    run: list[Run] = []


def has_manifest(path: str | Path) -> bool:
    """Whether a path is a recorded folder, or its manifest."""
    path = Path(path)
    return (path / FILE_NAME).is_file() or (path.name == FILE_NAME and path.is_file())


def load_manifest(path: str | Path) -> Manifest:
    """Return the manifest of a folder; raises ``CaptureError`` for one that cannot be read."""
    file = Path(path)
    file = file / FILE_NAME if file.is_dir() else file
    try:
        data = tomllib.loads(read_text(file, CaptureError))
        found = msgspec.convert(data, Manifest)
    except (tomllib.TOMLDecodeError, RecursionError, msgspec.ValidationError) as error:
        raise CaptureError(f"{file}: {error}") from error
    if found.schema_version != SCHEMA_VERSION:
        raise CaptureError(
            f"{file}: schema version {found.schema_version} is not known; known: {SCHEMA_VERSION}"
        )
    for run in found.run:
        for name in (
            run.folder,
            run.trace,
            *run.device_traces,
            *run.explorer_traces,
            *run.programs,
        ):
            if name and (Path(name).is_absolute() or ".." in Path(name).parts):
                raise CaptureError(f"{file}: {name!r} leads out of the folder")
    return found


def write_manifest(folder: Path, manifest: Manifest) -> Path:
    """Write the manifest into a folder, complete or not at all."""
    return write_text(folder / FILE_NAME, to_toml(msgspec.to_builtins(manifest)))


def write_text(path: Path, text: str) -> Path:
    """Write a file under a temporary name, then rename it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        return Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)  # a full disk keeps no half a file
        raise


def to_toml(data: dict[str, Any]) -> str:
    """Return plain data as TOML: scalars first, then tables, then arrays of tables."""
    lines: list[str] = []
    _table(lines, data, "")
    return "\n".join(lines).strip() + "\n"


def _table(lines: list[str], data: dict[str, Any], prefix: str) -> None:
    tables, arrays = [], []
    for key, value in data.items():
        if value is None or value in ({}, []):
            continue
        if isinstance(value, dict) and not prefix:
            tables.append((key, value))
        elif not prefix and isinstance(value, list) and isinstance(value[0], dict):
            arrays.append((key, value))
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    for key, value in tables:
        lines += ["", f"[{_key(key)}]"]
        _table(lines, value, key)
    for key, rows in arrays:
        for row in rows:
            lines += ["", f"[[{_key(key)}]]"]
            _table(lines, row, key)


def _key(key: str) -> str:
    plain = key and all(char.isascii() and (char.isalnum() or char in "_-") for char in key)
    return key if plain else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value).replace("Infinity", "inf")
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    return _text(str(value))


def _text(text: str) -> str:
    """Return a basic string: JSON's escapes are TOML's, but for DEL and lone surrogates."""
    clean = text.encode("utf-8", "replace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")
