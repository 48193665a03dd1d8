"""Debug files of a NEFF (``.dbg``): which instruction came from which layer and source line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from roofline.errors import CaptureError

__all__ = ["ENTRY_TYPES", "DebugFile", "Entry", "read_debug"]

ENTRY_TYPES: Final = {1: "REGULAR", 3: "TRANSPOSE"}
"""Instruction types by number; others are not known."""

_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5


@dataclass(slots=True)
class Entry:
    """One instruction of a level. ``parents`` and ``triggers`` are ids of other entries."""

    id: int = 0
    name: str = ""
    parents: tuple[int, ...] = ()
    dependencies: tuple[int, ...] = ()
    triggers: tuple[int, ...] = ()
    type: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugFile:
    """A level: entries in file order, and by id (the first of each), with its name tables."""

    entries: tuple[Entry, ...]
    by_id: Mapping[int, Entry]
    sources: tuple[str, ...]
    kernels: tuple[str, ...]

    def attribute(self, entry: Entry, key: str) -> str:
        """Return an attribute; file and kernel attributes are indices into the name tables."""
        value = entry.attributes.get(key, "")
        table = {"kernel_file": self.sources, "kernel_name": self.kernels}.get(key)
        if table is not None and value.isdecimal() and int(value) < len(table):
            return table[int(value)]
        return value


def read_debug(data: bytes, where: str) -> DebugFile:
    """Return the entries of one ``.dbg`` member; raises ``CaptureError`` for damaged data."""
    entries: list[Entry] = []
    sources: list[str] = []
    kernels: list[str] = []
    for number, value in _fields(data, where):
        if not isinstance(value, bytes):
            continue
        if number == 3:
            entries.append(_entry(value, where))
        elif number == 5:
            sources.append(value.decode("utf-8", "replace"))
        elif number == 7:
            kernels.append(value.decode("utf-8", "replace"))
    by_id: dict[int, Entry] = {}
    for entry in entries:
        by_id.setdefault(entry.id, entry)
    return DebugFile(
        entries=tuple(entries), by_id=by_id, sources=tuple(sources), kernels=tuple(kernels)
    )


def _entry(data: bytes, where: str) -> Entry:
    entry = Entry()
    attributes: dict[str, str] = {}
    for number, value in _fields(data, where):
        if number == 1 and isinstance(value, int):
            entry.id = value
        elif number == 2 and isinstance(value, bytes):
            entry.name = value.decode("utf-8", "replace")
        elif number == 3:
            entry.parents += _numbers(value, where)
        elif number == 4:
            entry.dependencies += _numbers(value, where)
        elif number == 5:
            entry.triggers += _numbers(value, where)
        elif number == 6 and isinstance(value, int):
            entry.type = value
        elif number == 7 and isinstance(value, bytes):
            parts = dict(_fields(value, where))
            key, text = parts.get(1, b""), parts.get(2, b"")
            if isinstance(key, bytes) and isinstance(text, bytes):
                attributes[key.decode("utf-8", "replace")] = text.decode("utf-8", "replace")
    if attributes:
        entry.attributes = attributes
    return entry


def _numbers(value: int | bytes, where: str) -> tuple[int, ...]:
    """Return a repeated integer, packed or one at a time."""
    if isinstance(value, int):
        return (value,)
    found = []
    at = 0
    while at < len(value):
        number, at = _varint(value, at, where)
        found.append(number)
    return tuple(found)


def _fields(data: bytes, where: str) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a protobuf message: varints as int, delimited fields as bytes."""
    at, end = 0, len(data)
    while at < end:
        start = at
        tag, at = _varint(data, at, where)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at, where)
            yield tag >> 3, value
            continue
        if kind == _DELIMITED:
            size, at = _varint(data, at, where)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise CaptureError(f"{where}: wire type {kind} is not known", offset=start)
        if size > end - at:
            raise CaptureError(f"{where}: {size} bytes where {end - at} remain", offset=start)
        if kind == _DELIMITED:
            yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int, where: str) -> tuple[int, int]:
    value = shift = 0
    try:
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7
            if shift > 63:
                break
    except IndexError:
        pass
    raise CaptureError(f"{where}: a varint does not end", offset=at)
