"""Write files whole or not at all, and the files of a report all together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from roofline.textfile import show_controls
from roofline.wholefile import replace_file, replace_folder

__all__ = ["write_file", "write_folder"]

_TEXTS: Final = (".csv", ".html", ".md", ".svg")
"""Files of names that others gave; JSON writes control characters out by itself."""


def _show_controls_of(path: Path) -> None:
    text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    shown = show_controls(text)
    if shown != text:
        path.write_text(shown, "utf-8", "backslashreplace", "")


def write_folder(folder: Path, fill: Callable[[Path], None]) -> tuple[Path, ...]:
    """Call ``fill`` with an empty temporary folder, then move its files to ``folder``.

    Other files of ``folder`` are left alone. When ``fill`` fails nothing is left behind. Returns
    the files written. Raises ``QueryError`` when ``folder`` is a file.
    """
    with replace_folder(folder) as scratch:
        fill(scratch)
        for path in scratch.iterdir():
            if path.suffix in _TEXTS:
                _show_controls_of(path)
        names = sorted(path.name for path in scratch.iterdir())
    return tuple(folder / name for name in names)


def write_file(path: Path, fill: Callable[[Path], object]) -> Path:
    """Call ``fill`` with a temporary path of the same suffix, then rename it to ``path``.

    When ``fill`` fails nothing is left behind. Raises ``QueryError``; see ``replace_file``.
    """
    with replace_file(path) as scratch:
        fill(scratch)
    return path
