"""What commands ask of the terminal."""

from __future__ import annotations

from typing import Any, Final

import click

__all__ = ["echo", "width"]

_COMMANDS: Final = {
    code: f"\\u{code:04x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\t\n"
}
"""Characters a terminal obeys instead of showing, and how they are written: as JSON writes them."""


def echo(message: Any, **how: Any) -> None:
    """Print as ``click.echo`` does, with nothing in it that a terminal would obey.

    Names of kernels, files and operators come from files of others.
    """
    click.echo(str(message).translate(_COMMANDS), **how)


def width() -> int:
    """Return the columns to write for: those of the terminal up to 120, else 80."""
    import shutil

    return max(40, min(120, shutil.get_terminal_size((80, 24)).columns))
