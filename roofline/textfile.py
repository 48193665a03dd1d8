"""Read the small text files that users write: model files, studies, baselines, tables of times.

Whatever else a path may lead to (a device, a pipe, a capture of gigabytes, another encoding) is
refused in one line instead of being waited for or loaded.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

__all__ = ["LARGEST_BYTES", "read_csv", "read_text", "show_controls"]

LARGEST_BYTES: Final = 64 << 20

_CONTROLS: Final = {
    code: f"\\u{code:04x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\t\n"
}
"""Characters that a terminal or a page obeys instead of showing, and how JSON writes them."""

_CONTROL: Final = re.compile(f"[{''.join(map(chr, _CONTROLS))}]")

Fault = Callable[[str], Exception]
"""Makes the error of the caller's kind from a message."""


def read_text(path: str | Path, fault: Fault) -> str:
    """Return the text of a regular file of UTF-8, with or without a byte order mark.

    Raises what ``fault`` makes, naming the path, for a file that is absent, not regular, larger
    than ``LARGEST_BYTES`` or not UTF-8.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise fault(f"{path}: not a regular file")
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise fault(f"{path}: {error.strerror or error}") from error
    if len(data) > LARGEST_BYTES:
        raise fault(f"{path}: larger than {LARGEST_BYTES >> 20} MiB: not a text file of ours")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise fault(f"{path}: not UTF-8 text (byte {error.start})") from error


def read_csv(path: str | Path, fault: Fault) -> tuple[list[str], Iterator[dict[str, str]]]:
    """Return the column names of a CSV file, stripped, and its rows as they are read.

    A short row lacks its last columns; a row with more cells than columns is a fault, as is
    whatever ``read_text`` refuses.
    """
    lines = csv.reader(io.StringIO(read_text(path, fault), newline=""))

    def cells() -> Iterator[list[str]]:
        try:
            yield from lines
        except csv.Error as error:
            raise fault(f"{path}: line {lines.line_num}: {error}") from error

    rows = cells()
    columns = [name.strip() for name in next(rows, [])]
    if twice := sorted({name for name in columns if name and columns.count(name) > 1}):
        raise fault(f"{path}: column {', '.join(map(repr, twice))} is given twice")

    def records() -> Iterator[dict[str, str]]:
        for row in rows:
            if not any(row):
                continue
            if len(row) > len(columns):
                raise fault(
                    f"{path}: line {lines.line_num}: {len(row)} cells under {len(columns)} columns"
                )
            yield dict(zip(columns, row, strict=False))

    return columns, records()


def show_controls(text: str) -> str:
    """Return ``text`` with control characters written out, tabs and line ends kept.

    Names of kernels, files and operators come from files of others, and XML allows none of them.

    >>> show_controls("a\x1b[31mb")
    'a\\\\u001b[31mb'
    """
    return _CONTROL.sub(lambda found: _CONTROLS[ord(found[0])], text)
