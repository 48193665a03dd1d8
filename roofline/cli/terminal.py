"""What commands ask of the terminal."""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from roofline.textfile import show_controls

__all__ = ["echo", "echo_json", "echo_report", "echo_written", "progress", "width"]

_TONES: Final = {
    "overhead": "yellow",
    "hbm": "blue",
    "dma": "blue",
    "tensor": "red",
    "vector": "red",
    "scalar": "red",
    "gpsimd": "red",
    "serialization": "magenta",
}
"""The colour of a verdict: fixed time, memory, engines, waiting."""
_VERDICT: Final = re.compile(
    r"(?<![\w:/.-])(?:(overhead|hbm|dma|tensor|vector|scalar|gpsimd):[a-z]+(?:-[a-z]+)*"
    r"|serialization)(?![\w:/.-])"
)
_PATIENCE_S: Final = 1.0
_EVERY_S: Final = 0.2


def echo(message: Any, **how: Any) -> None:
    """Print as ``click.echo`` does, with nothing in it that a terminal would obey.

    Names of kernels, files and operators come from files of others.
    """
    click.echo(show_controls(str(message)), **how)


def echo_report(text: str, **how: Any) -> None:
    """Print a report, with colour where it goes to a terminal that was not told to do without."""
    shown = show_controls(text)
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    click.echo(_painted(shown) if coloured else shown, **how)


def _painted(text: str) -> str:
    """Return text with headings in bold and verdicts in the colour of what holds back."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if re.fullmatch("=+|-+", line) and at:
            lines[at - 1] = click.style(lines[at - 1], bold=True)
    return _VERDICT.sub(
        lambda found: click.style(found[0], fg=_TONES[found[1] or found[0]]), "\n".join(lines)
    )


def echo_json(data: Any) -> None:
    """Print ``data`` as JSON that every reader takes: no NaN or infinity, which are null."""
    import json

    echo(json.dumps(_finite(data), indent=1, allow_nan=False, default=_plain))


def echo_written(paths: Sequence[Path]) -> None:
    """Print the names of files that were written, by their folder."""
    echo("")
    for folder in dict.fromkeys(path.parent for path in paths):
        names = ", ".join(path.name for path in paths if path.parent == folder)
        echo(f"{folder}: {names}")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(held) for held in value]
    return value


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, anything else as its text."""
    item = getattr(value, "item", None)
    return _finite(item()) if callable(item) else str(value)


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None] | None]:
    """Give ``show(done, total=None)`` for work over a second; ``None`` without a terminal.

    It writes one line to the standard error, which is taken away in the end.
    """
    if not sys.stderr.isatty():
        yield None
        return
    due, line = time.monotonic() + _PATIENCE_S, ""

    def show(done: int, total: int | None = None) -> None:
        nonlocal due, line
        if time.monotonic() >= due:
            due = time.monotonic() + _EVERY_S
            line = f"{done}{'' if total is None else f' of {total}'} {what}"
            click.echo(f"\r{line}", err=True, nl=False)

    try:
        yield show
    finally:
        if line:
            click.echo(f"\r{'':{len(line)}}\r", err=True, nl=False)


def width() -> int:
    """Return the columns to write for: those of the terminal, else 80."""
    import shutil

    return max(40, shutil.get_terminal_size((80, 24)).columns)
