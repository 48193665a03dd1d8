"""The bridge to the vendor's own tool: let ``neuron-explorer`` convert a raw profile to Parquet."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from roofline.captures.capture import Capture
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError

__all__ = [
    "TIMEOUT_S",
    "explorer_command",
    "find_tool",
    "open_via_explorer",
    "run_explorer",
]

TOOL: Final = "neuron-explorer"
TIMEOUT_S: Final = 3600.0
"""The vendor documents more than 30 minutes for traces over 2 GB."""

_INSTALLED: Final = Path("/opt/aws/neuron/bin")
_HOST: Final = (
    "on a Linux host with AWS's package aws-neuronx-tools (a Neuron device is not needed)"
)


def open_via_explorer(
    path: Path,
    neff: Path | None = None,
    *,
    compat: str | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Capture:
    """Convert a raw profile with ``neuron-explorer`` and return the Capture of the result.

    ``path`` is an NTFF file, with its NEFF in ``neff`` or recognisable beside it, or the folder of
    a session. The converted Parquet folder lives as long as the Capture. Raises ``CaptureError``
    when the tool is not installed (saying what to run where), fails, or takes too long.
    """
    if not path.exists():
        raise CaptureError(f"{path}: no such file or directory")
    tool = find_tool(TOOL)
    if tool is None:
        command = explorer_command(path, neff, Path("converted"))
        raise CaptureError(
            f"{TOOL} is not on PATH; {_HOST} run: {shlex.join(command)} "
            f"and open converted/profiles/global/{_profile_name(path)}@latest"
        )
    if neff is None and path.is_file():
        neff = _neff_beside(path)
    folder = Path(tempfile.mkdtemp(prefix="roofline-explorer-"))
    try:
        run_explorer([tool, *explorer_command(path, neff, folder)[1:]], timeout_s)
        capture = open_capture(_converted(folder, path), compat)
        capture = dataclasses.replace(
            capture, path=path, metadata={**capture.metadata, "via": str(tool)}
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(capture, shutil.rmtree, folder, ignore_errors=True)
    return capture


def find_tool(name: str) -> str | None:
    """Return the path of one of the vendor's tools: on ``PATH``, or where its package puts it."""
    return shutil.which(name) or shutil.which(name, path=str(_INSTALLED))


def explorer_command(path: Path, neff: Path | None, folder: Path) -> list[str]:
    """Return the documented command that converts ``path`` into Parquet files under ``folder``."""
    source = ["-d", str(path)] if path.is_dir() else ["-n", str(neff or "NEFF"), "-s", str(path)]
    return [
        TOOL,
        "view",
        *source,
        "--ingest-only",
        "--display-name",
        _profile_name(path),
        "--data-path",
        str(folder),
        "--disable-ui",
    ]


def _profile_name(path: Path) -> str:
    name = "".join(c if c.isalnum() or c in "-_." else "_" for c in path.resolve().stem)
    return name.strip(".-") or "profile"


def _neff_beside(ntff: Path) -> Path:
    """Return the NEFF that belongs to an NTFF by the vendor's rules for names."""
    stem = ntff.stem
    base = stem.split("_exec_")[0].split("_rank_")[0]
    number = stem.split("_")[0]
    names = {stem, base, f"neff_{number}", f"neff_{number}_vnc_{stem.split('_vnc_')[-1]}"}
    held = sorted(ntff.parent.glob("*.neff"))
    fitting = [path for path in held if path.stem in names] or held
    if len(fitting) == 1:
        return fitting[0]
    found = ", ".join(path.name for path in fitting) or "none"
    raise CaptureError(
        f"{ntff}: {TOOL} needs the NEFF this trace was captured from; beside it: {found}; "
        "say which (--neff FILE)"
    )


def run_explorer(
    command: list[str], timeout_s: float, environment: Mapping[str, str] | None = None
) -> None:
    """Run ``neuron-explorer`` without a shell, with more variables in its environment.

    Raises ``CaptureError`` with its standard error when it fails, and when it takes too long: it
    is then stopped with its children.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        _, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise CaptureError(
            f"{TOOL} did not finish within {timeout_s:g} s and was stopped: {shlex.join(command)}"
        ) from error
    finally:
        if process.poll() is None:  # timed out or interrupted: with its children, if it has any
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        said = " ".join(stderr.decode("utf-8", "replace").split())[-600:] or "(nothing)"
        raise CaptureError(
            f"{TOOL} failed with exit code {process.returncode}: {said} "
            f"(command: {shlex.join(command)})"
        )


def _converted(folder: Path, path: Path) -> Path:
    named = folder / "profiles" / "global" / f"{_profile_name(path)}@latest"
    if named.is_dir() and any(named.glob("*.parquet")):
        return named
    if any(folder.rglob("*.parquet")):
        return folder
    raise CaptureError(f"{path}: {TOOL} ended without an error but wrote no Parquet file")
