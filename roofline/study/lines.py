"""Find the line of a TOML file on which a key stands, so that an error can point at it."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["line_of"]

_HEADER: Final = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY: Final = re.compile(r"^\s*([A-Za-z0-9_-]+)\s*=")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def line_of(text: str, path: str) -> int:
    """Return the line (from 1) of a JSON-like ``path`` such as ``$.variant[1].time[0].clock``.

    Where the exact key has no line of its own (inside an inline table, or missing), the line of
    the nearest enclosing key or table header is returned.
    """
    wanted: list[str | int] = [
        name or (int(index) if index.isdigit() else 0) for name, index in _STEP.findall(path)
    ]
    best, depth = 1, 0
    table: list[str | int] = []
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _table(header[2], array=header[1] == "[[", counts=counts)
            found: list[str | int] = table
        elif key := _KEY.match(line):
            found = [*table, key[1]]
        else:
            continue
        if len(found) > depth and found == wanted[: len(found)]:
            best, depth = number, len(found)
    return best


def _table(name: str, *, array: bool, counts: dict[str, int]) -> list[str | int]:
    """Return the path of a table header; arrays of tables carry the index of their element."""
    path: list[str | int] = []
    parts = [part.strip().strip("\"'") for part in name.split(".")]
    for position, part in enumerate(parts):
        path.append(part)
        key = repr(path)
        if array and position == len(parts) - 1:
            counts[key] = counts.get(key, -1) + 1
        if key in counts:
            path.append(counts[key])
    return path
