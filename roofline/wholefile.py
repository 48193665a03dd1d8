"""Files, and the files of a folder, that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from roofline.errors import QueryError

__all__ = ["refuse_inputs", "replace_file", "replace_folder"]


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, of its suffix, that takes its place in the end.

    When the block fails nothing is left behind, and what was there stays. A link keeps pointing to
    its file, which is replaced. Raises ``QueryError`` for what a file must not take the place of:
    a folder, a device, a pipe.
    """
    path = path.resolve()
    if path.is_dir():
        raise QueryError(f"{path}: is a folder; a file is written here")
    if path.exists() and not path.is_file():
        raise QueryError(f"{path}: is a device or a pipe; a file is written here")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside ``folder``, whose files move there in the end.

    Other files of ``folder`` are left alone. When the block fails nothing is left behind. Raises
    ``QueryError`` when ``folder`` is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise QueryError(f"{folder}: is a file; a folder is written here")
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield scratch
        if not folder.exists():
            scratch.chmod(0o755)
            scratch.rename(folder)
        else:
            for path in sorted(scratch.iterdir()):
                path.replace(folder / path.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def refuse_inputs(outputs: Iterable[Path | None], inputs: Iterable[str | Path]) -> None:
    """Raise ``QueryError`` for an output that is one of the inputs, however they are spelled."""
    read = {Path(path).resolve() for path in inputs}
    for path in outputs:
        if path is not None and path.resolve() in read and not path.is_dir():
            raise QueryError(f"{path}: is read here and would be overwritten; name another output")
