"""What commands ask of the terminal."""

from __future__ import annotations

from typing import Any

import click

from roofline.textfile import show_controls

__all__ = ["echo", "width"]


def echo(message: Any, **how: Any) -> None:
    """Print as ``click.echo`` does, with nothing in it that a terminal would obey.

    Names of kernels, files and operators come from files of others.
    """
    click.echo(show_controls(str(message)), **how)


def width() -> int:
    """Return the columns to write for: those of the terminal, else 80."""
    import shutil

    return max(40, shutil.get_terminal_size((80, 24)).columns)
