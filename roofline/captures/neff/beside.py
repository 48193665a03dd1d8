"""Find the program of a raw trace among the NEFFs in its folder."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from roofline.captures.capture import Capture, Issue, Overview
from roofline.captures.neff.container import HEADER_BYTES, read_header
from roofline.captures.plainfile import open_regular
from roofline.errors import CaptureError

__all__ = ["attach_beside", "neffs_beside"]

_SETTLED_NS: Final = 2_000_000_000
"""A folder that changed less long ago may change again without a new time stamp."""

_MOST: Final = 256
"""Programs looked at in one folder; a session of eager operators can leave thousands."""


def neffs_beside(path: Path) -> tuple[Path, ...]:
    """Return the NEFFs in the folder of a trace, by name."""
    changed = path.parent.stat().st_mtime_ns
    if time.time_ns() - changed < _SETTLED_NS:
        return _listed.__wrapped__(path.parent, changed)
    return _listed(path.parent, changed)


@lru_cache(maxsize=8)
def _listed(folder: Path, changed: int) -> tuple[Path, ...]:  # noqa: ARG001 - part of the key
    """Each of thousands of traces in a folder asks for the same list."""
    return tuple(sorted(one for one in folder.glob("*.neff") if one.is_file()))


def _uuid(path: Path) -> bytes:
    held = path.stat()
    return _uuid_of(path, held.st_mtime_ns, held.st_size)


@lru_cache(maxsize=_MOST * 8)
def _uuid_of(path: Path, changed: int, size: int) -> bytes:  # noqa: ARG001 - part of the key
    with open_regular(path) as file:
        return read_header(file.read(HEADER_BYTES), path).uuid


def attach_beside(capture: Capture) -> Capture:
    """Return the capture with its program, if that stands beside it; ``quality`` tells if not.

    Programs are told by their uuid, of which a trace keeps a prefix, and by their words.
    """
    beside = neffs_beside(capture.path)
    if not beside:
        return capture
    from roofline.captures.neff.attach import attach_neff
    from roofline.captures.neff.join import choose_neff
    from roofline.captures.neff.program import open_neff
    from roofline.captures.ntff.trace import open_trace

    program = open_trace(capture.path, capture.compat).program
    prefix = program.header.uuid
    likely, damaged = [], []
    for path in beside[:_MOST]:
        try:
            if _uuid(path).startswith(prefix):
                likely.append(open_neff(path))
        except CaptureError as error:
            damaged.append(str(error))
    chosen = choose_neff(likely, program)
    issues = [Issue(id="program-damaged", severity="missing", what=text) for text in damaged]
    if chosen is not None:
        return _with_issues(attach_neff(capture, chosen), issues)
    names = ", ".join(path.name for path in beside[:3]) + (" ..." if len(beside) > 3 else "")
    why = (
        "their instruction words differ, or several fit and cannot be told apart"
        if likely
        else f"the trace was made with uuid {prefix.hex()}"
    )
    issues.append(
        Issue(
            id="program-not-found",
            severity="missing",
            what=f"no program beside the trace is its own ({names}): {why}",
            count=len(beside),
        )
    )
    return _with_issues(capture, issues)


def _with_issues(capture: Capture, more: Sequence[Issue]) -> Capture:
    if not more:
        return capture

    def overview() -> Overview | None:
        given = capture.overview_source()
        return None if given is None else dataclasses.replace(given, issues=(*given.issues, *more))

    return dataclasses.replace(
        capture,
        quality_source=lambda: (*capture.quality_source(), *more),
        overview_source=overview,
        _cache={},
    )
