"""Device traces of recorded programs by ``neuron-explorer``: one NEFF, one clean execution."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from roofline.errors import OptionalDependencyError, QueryError
from roofline.record.manifest import Problem, Run, load_manifest, write_manifest

__all__ = ["capture_command", "capture_programs"]

_TOOL: Final = "neuron-explorer"
_TIMEOUT_S: Final = 600
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
    Inputs are filled with zeros by the tool. Raises ``OptionalDependencyError`` without the tool,
    ``QueryError`` when the folder holds no program.
    """
    root = Path(folder)
    manifest = load_manifest(root)
    if not any(run.programs for run in manifest.run):
        raise QueryError(f"{root}: the recording holds no program (.neff) to trace")
    tool = shutil.which(_TOOL)
    if tool is None:
        raise OptionalDependencyError(
            f"{_TOOL} is not on PATH: install aws-neuronx-tools, which puts it into "
            "/opt/aws/neuron/bin"
        )
    runs = list(manifest.run)
    for index, run in enumerate(runs):
        traces, problems = [], []
        for name in run.programs:
            found, problem = _trace(tool, root, root / name, dge=dge)
            traces += [path.relative_to(root).as_posix() for path in found]
            problems += [problem] if problem is not None else []
        runs[index] = msgspec.structs.replace(
            run,
            device_traces=sorted({*run.device_traces, *traces}),
            problems=[*run.problems, *problems],
        )
        write_manifest(root, msgspec.structs.replace(manifest, run=runs))
        yield runs[index]


def _trace(tool: str, root: Path, program: Path, *, dge: bool) -> tuple[list[Path], Problem | None]:
    """Return the traces of one program, and what went wrong."""
    target = program.with_suffix(".ntff")
    begun = time.time()
    command = [tool, *capture_command(program, target)[1:]]
    settings = {"NEURON_RT_ENABLE_DGE_NOTIFICATIONS": "1"} if dge else {}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
            env={**os.environ, **settings},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [], _failed(program, root, f"no end after {_TIMEOUT_S} s")
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        return [], _failed(program, root, f"exit {done.returncode}: {said}")
    found = [
        path
        for path in sorted(program.parent.glob(f"{program.stem}*.ntff"))
        if path.stat().st_mtime >= begun - 1 and path.stat().st_size
    ]
    if not found:
        return [], _failed(program, root, "it wrote no trace")
    return found, None


def _failed(program: Path, root: Path, why: str) -> Problem:
    return Problem(
        id="explorer-failed",
        what=f"{program.relative_to(root)}: {_TOOL} capture: {why}",
        remedy="end the processes that hold the core (neuron-ls), then try again",
    )
