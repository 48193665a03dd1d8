"""Device traces of recorded programs by ``neuron-explorer``: one NEFF, one clean execution."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from roofline.analysis.finding import Finding
from roofline.captures.explorer.tool import find_tool, run_explorer
from roofline.errors import CaptureError, OptionalDependencyError, QueryError
from roofline.record.environment import DGE
from roofline.record.manifest import Problem, Run, load_manifest, problem_of, write_manifest

__all__ = ["capture_command", "capture_programs"]

_TOOL: Final = "neuron-explorer"
_TIMEOUT_S: Final = 600.0
_FAILED: Final = "explorer-failed"
_PROFILED: Final = 2
"""The second execution: the first one loads the program."""


def capture_command(program: Path, trace: Path) -> list[str]:
    """Return the command that traces one program; it writes ``<trace>_exec_2.ntff``."""
    return [
        _TOOL, "capture", "-n", str(program), "-s", str(trace),
        "--num-exec", str(_PROFILED), "--profile-nth-exec", str(_PROFILED),
    ]  # fmt: skip


def capture_programs(folder: str | Path, *, dge: bool = True) -> Iterator[Run]:
    """Trace every program of a recorded folder by itself; yield each run with its new traces.

    A second pass in a process of its own: the recording process holds the core while it lives.
    Inputs are filled with zeros by the tool. Programs of the same content are traced once, on the
    core of the recording. Raises ``OptionalDependencyError`` without the tool, ``QueryError`` when
    the folder holds no program.
    """
    root = Path(folder)
    manifest = load_manifest(root)
    if not any(run.programs for run in manifest.run):
        raise QueryError(f"{root}: the recording holds no program (.neff) to trace")
    tool = find_tool(_TOOL)
    if tool is None:
        raise OptionalDependencyError(
            f"{_TOOL} is not on PATH: install aws-neuronx-tools, which puts it into "
            "/opt/aws/neuron/bin"
        )
    settings = {} if manifest.core is None else {"NEURON_RT_VISIBLE_CORES": str(manifest.core)}
    settings |= {DGE: "1"} if dge else {}
    runs = list(manifest.run)
    for index, run in enumerate(runs):
        traces, problems = [], []
        for name in _distinct(root, run.programs):
            try:
                traces.append(_trace(tool, root / name, settings).relative_to(root).as_posix())
            except CaptureError as error:
                problems.append(_failed(name, str(error)))
        runs[index] = msgspec.structs.replace(
            run,
            explorer_traces=traces or run.explorer_traces,
            # what an earlier attempt said is out of date
            problems=[*(one for one in run.problems if one.id != _FAILED), *problems],
        )
        write_manifest(root, msgspec.structs.replace(manifest, run=runs))
        yield runs[index]


def _distinct(root: Path, names: Sequence[str]) -> list[str]:
    """Return the programs without copies: a program lies in the cache and beside its trace."""
    held: dict[str, str] = {}
    for name in names:
        held.setdefault(hashlib.sha256((root / name).read_bytes()).hexdigest(), name)
    return list(held.values())


def _trace(tool: str, program: Path, settings: Mapping[str, str]) -> Path:
    """Return the trace of the profiled execution of a program."""
    target = program.with_suffix(".ntff")
    found = target.with_name(f"{target.stem}_exec_{_PROFILED}.ntff")
    found.unlink(missing_ok=True)  # of an earlier attempt
    run_explorer([tool, *capture_command(program, target)[1:]], _TIMEOUT_S, settings)
    if not found.is_file() or not found.stat().st_size:
        raise CaptureError(f"{_TOOL} ended without an error but wrote no {found.name}")
    return found


def _failed(name: str, why: str) -> Problem:
    return problem_of(
        Finding(
            id=_FAILED,
            what="a program was not traced",
            evidence=f"{name}: {why}",
            remedy="end the processes that hold the core (neuron-ls), then try again",
        )
    )
