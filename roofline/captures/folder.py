"""All captures of a folder: opened, paired with their programs, grouped by what they ran."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roofline.captures.capture import Capture
from roofline.captures.opening import Opener
from roofline.captures.registry import list_readers
from roofline.errors import CaptureError

__all__ = [
    "Folder",
    "Group",
    "Member",
    "executions",
    "is_folder",
    "one_each",
    "open_captures",
    "program_name",
    "scan_folder",
]

MAX_FILES: Final = 100_000

_WHOLE: Final = 32

_EXPECTED: Final = (".ntff", ".neff", ".parquet", ".pb")
"""Files of these kinds that cannot be read are reported; others that are no capture are passed."""

_SUFFIXES: Final = (".gz", ".json", ".ntff", ".neff", ".txt", ".csv", ".summary")
_EXECUTION: Final = re.compile(r"(?:^|_)exec_(\d+)(?=_|$)")
_RANK: Final = re.compile(r"(?:^|_)rank_(\d+)(?=_|$)")
_CORE: Final = re.compile(r"(?:^|_)(?:vnc|nc)_(\d+)(?=_|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One capture of a folder, with what its name and metadata tell: numbers, ``None`` unknown.

    ``cores`` are the device's numbers of the physical cores; ``core`` is the logical core that the
    file name gives.
    """

    capture: Capture
    execution: int | None
    rank: int | None
    core: int | None
    cores: tuple[int, ...]

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.capture.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Captures of one program: raw traces, and what the vendor's tools made of them.

    ``key`` is the program's uuid where it is known, else folder and name. ``program`` is its NEFF.
    """

    key: str
    program: Path | None
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """What a folder holds. ``programs`` are NEFFs without a trace; ``problems`` one line each."""

    path: Path
    groups: tuple[Group, ...]
    programs: tuple[Path, ...]
    problems: tuple[str, ...]
    passed: int

    @property
    def captures(self) -> tuple[Capture, ...]:
        """Every capture, group by group."""
        return tuple(member.capture for group in self.groups for member in group.members)


def is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder that is no capture by itself (as a Parquet folder is)."""
    return path.is_dir() and not any(reader.sniff(path, b"") for reader in list_readers())


def open_captures(path: str | Path, compat: str | None = None) -> tuple[Capture, ...]:
    """Return every capture under a folder, paired with programs; see ``scan_folder``."""
    return scan_folder(path, compat).captures


def scan_folder(
    path: str | Path,
    compat: str | None = None,
    *,
    opener: Opener | None = None,
    progress: Callable[[int], None] | None = None,
) -> Folder:
    """Open everything under a folder; links to folders are not followed.

    ``opener`` opens each, as ``compat`` says if not given; ``progress`` is told how many files
    were looked at. Raises ``CaptureError`` when there is no
    such folder, or nothing in it is a capture.
    """
    root = Path(path)
    if not root.is_dir():
        raise CaptureError(f"{root}: no such folder")
    opener = opener or Opener(compat=compat)
    captures: list[Capture] = []
    problems: list[str] = []
    passed = 0
    for seen, one in enumerate(_candidates(root, problems), 1):
        if progress is not None:
            progress(seen)
        try:
            captures.append(opener(one))
        except CaptureError as error:
            if one.name.endswith(_EXPECTED):
                problems.append(_explained(one, str(error)))
            else:
                passed += 1
        except OSError as error:
            problems.append(f"{one}: {error.strerror or error}")
    if not captures:
        said = f": {problems[0]}" if problems else ""
        if (root / "study.toml").is_file():
            said += "; it is a study: see roofline report and roofline study check"
        raise CaptureError(f"{root}: no capture in this folder{said}")
    neffs = [capture for capture in captures if capture.format == "neff"]
    groups = _grouped(root, [capture for capture in captures if capture.format != "neff"], neffs)
    used = {group.program for group in groups}
    return Folder(
        path=root,
        groups=groups,
        programs=tuple(neff.path for neff in neffs if neff.path not in used),
        problems=tuple(problems),
        passed=passed,
    )


def _candidates(root: Path, problems: list[str]) -> Iterator[Path]:
    """Yield files, and folders that are captures themselves, in order of their names."""
    seen = 0
    for place, folders, files in os.walk(root, followlinks=False):
        here = Path(place)
        folders.sort()
        if here != root and not is_folder(here):
            folders.clear()
            yield here
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in sorted(files):
            if name.startswith("."):
                continue
            seen += 1
            if seen > MAX_FILES:
                problems.append(f"{root}: more than {MAX_FILES} files; the rest is left out")
                return
            yield here / name


def _explained(path: Path, error: str) -> str:
    if path.suffix == ".ntff" and not path.stat().st_size:
        return f"{path}: the file is empty: nothing ran on this core while it was profiled"
    return error


def _grouped(root: Path, captures: list[Capture], neffs: list[Capture]) -> tuple[Group, ...]:
    """Group captures by program: by uuid, of which old traces keep a prefix, else by name."""
    uuids = {id(one): _uuid(one) for one in (*captures, *neffs)}
    whole = sorted({uuid for uuid in uuids.values() if len(uuid) == _WHOLE})
    named: dict[str, str] = {}
    for capture in captures:
        if len(uuids[id(capture)]) == _WHOLE:
            named.setdefault(program_name(root, capture), uuids[id(capture)])
    held: dict[str, list[Capture]] = {}
    for capture in captures:
        uuid, name = uuids[id(capture)], program_name(root, capture)
        if fitting := _only_with_prefix(whole, uuid):
            key = fitting
        elif named.get(name, "").startswith(uuid):  # the same name beside one whose uuid is whole
            key = named.get(name) or name
        else:
            key = uuid or name
        held.setdefault(key, []).append(capture)
    of_uuid = {str(neff.metadata["uuid"]): neff.path for neff in reversed(neffs)}
    places = {neff.path for neff in neffs}
    groups = []
    for key, found in held.items():
        joined = [
            found[0].path.parent / str(capture.metadata["neff"]["file"])
            for capture in found
            if "neff" in capture.metadata
        ]
        program = of_uuid.get(key) or next((one for one in joined if one in places), None)
        members = sorted(map(_member, found), key=lambda m: (m.execution or 0, str(m.path)))
        groups.append(Group(key=key, program=program, members=tuple(members)))
    return tuple(groups)


def _only_with_prefix(ordered: Sequence[str], prefix: str) -> str:
    """Return the one text that starts with ``prefix``; empty if none or several do."""
    at = bisect_left(ordered, prefix)
    fitting = [one for one in ordered[at : at + 2] if one.startswith(prefix)]
    return fitting[0] if prefix and len(fitting) == 1 else ""


def _uuid(capture: Capture) -> str:
    joined = capture.metadata.get("neff") or {}
    return str(joined.get("uuid") or capture.metadata.get("uuid") or "")


def executions(captures: Sequence[Capture]) -> tuple[tuple[Capture, ...], ...]:
    """Return captures by execution: a raw trace before what the vendor's tool made of it.

    Files of one name in one folder are of one execution.
    """
    found: dict[Path, list[Capture]] = {}
    for capture in captures:
        found.setdefault(capture.path.parent / _stem(capture.path), []).append(capture)
    return tuple(
        tuple(sorted(group, key=lambda capture: capture.format != "ntff"))
        for group in found.values()
    )


def one_each(captures: Sequence[Capture]) -> tuple[Capture, ...]:
    """Return one capture an execution: the raw trace where there is one."""
    return tuple(group[0] for group in executions(captures))


def program_name(root: Path, capture: Capture) -> str:
    """Return folder below ``root`` and name, without what numbers executions and ranks."""
    folder = capture.path.parent.relative_to(root)
    return str(folder / _EXECUTION.sub("", _RANK.sub("", _stem(capture.path))))


def _stem(path: Path) -> str:
    name = path.name
    while name.endswith(_SUFFIXES):
        name = name[: name.rindex(".")]
    return name


def _member(capture: Capture) -> Member:
    stem = _stem(capture.path)
    numbers = {
        name: int(found[1]) if (found := pattern.search(stem)) else None
        for name, pattern in (("execution", _EXECUTION), ("rank", _RANK), ("core", _CORE))
    }
    cores = capture.metadata.get("core_numbers", ())
    return Member(capture=capture, cores=tuple(cores), **numbers)
