"""The captures of a folder as text and as a record."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec

from roofline.captures.folder import Folder, Group, Member
from roofline.errors import CaptureError
from roofline.record.manifest import Manifest, has_manifest, load_manifest
from roofline.units import format_counted

__all__ = ["folder_record", "folder_text"]


def folder_record(folder: Folder) -> dict[str, Any]:
    """Return everything known, for JSON."""
    manifest, fault = _manifest(folder)
    return {
        "path": str(folder.path),
        "manifest": msgspec.to_builtins(manifest) if manifest is not None else None,
        "groups": [
            {
                "key": group.key,
                "program": str(group.program) if group.program else None,
                "captures": [_member_record(member) for member in group.members],
            }
            for group in folder.groups
        ],
        "programs_without_trace": [str(path) for path in folder.programs],
        "problems": [*fault, *folder.problems],
        "other_files": folder.passed,
    }


def folder_text(folder: Folder) -> str:
    """Return a line for each capture under the program it ran."""
    count = len(folder.captures)
    programs = format_counted(len(folder.groups), "program")
    lines = [f"{folder.path}: {format_counted(count, 'capture')} of {programs}"]
    manifest, fault = _manifest(folder)
    if manifest is not None:
        lines.append(
            f"  recorded {manifest.created} on {manifest.instance_type or manifest.device}: "
            f"{manifest.name}, {format_counted(len(manifest.run), 'run')}"
        )
    for group in folder.groups:
        lines.append(_head(folder, group))
        lines += [f"    {_line(folder, member)}" for member in group.members]
    for path in folder.programs:
        lines.append(f"  {path.relative_to(folder.path)}: a program without a trace")
    lines += [f"  problem: {problem}" for problem in (*fault, *folder.problems)]
    if folder.passed:
        lines.append(f"  {folder.passed} other files are no captures")
    return "\n".join(lines)


def _manifest(folder: Folder) -> tuple[Manifest | None, list[str]]:
    """Return the manifest of a recorded folder, or why it cannot be read."""
    if not has_manifest(folder.path):
        return None, []
    try:
        return load_manifest(folder.path), []
    except CaptureError as error:
        return None, [str(error)]


def _head(folder: Folder, group: Group) -> str:
    program = (
        f"program {group.program.relative_to(folder.path)}"
        if group.program is not None
        else "no program beside it"
    )
    return f"  {group.key}: {program}"


def _line(folder: Folder, member: Member) -> str:
    parts = [f"{member.path.relative_to(folder.path)}: {member.capture.format}"]
    for name, value in (
        ("execution", member.execution),
        ("rank", member.rank),
        ("logical core", member.core),
    ):
        if value is not None:
            parts.append(f"{name} {value}")
    if member.cores:
        parts.append(f"cores {', '.join(map(str, member.cores))}")
    for key in ("hardware", "instance_type"):
        if member.capture.metadata.get(key):
            parts.append(str(member.capture.metadata[key]))
            break
    notes = [issue.what for issue in _quick(member) if issue.id.startswith("program-not")]
    return ", ".join(parts) + "".join(f" [{note}]" for note in notes)


def _quick(member: Member) -> tuple[Any, ...]:
    overview = member.capture.overview_source()
    return tuple(overview.issues) if overview is not None else ()


def _member_record(member: Member) -> dict[str, Any]:
    return {
        "path": str(member.path),
        "format": member.capture.format,
        "execution": member.execution,
        "rank": member.rank,
        "logical_core": member.core,
        "cores": list(member.cores),
        "hardware": member.capture.metadata.get("hardware"),
        "instance_type": member.capture.metadata.get("instance_type"),
        "issues": [asdict(issue) for issue in _quick(member)],
    }
