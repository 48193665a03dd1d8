"""Recognise a capture by its content and open it with the reader that knows the format."""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from roofline.captures import readers as builtin
from roofline.captures.capture import Capture
from roofline.captures.diagnosis import diagnose
from roofline.errors import CaptureError

__all__ = ["COMPAT", "Reader", "list_readers", "open_capture"]

COMPAT: Final = (None, "vendor")

HEAD_BYTES: Final = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How one format is recognised and opened.

    ``sniff(path, head)`` sees the path and the first 64 KiB (empty for a directory), decompressed
    if the file is gzip, and answers whether the content is of this format; it must not raise.
    ``open(path, compat)`` returns the Capture and raises ``CaptureError`` for bad content.
    """

    format: str
    what: str
    sniff: Callable[[Path, bytes], bool]
    open: Callable[[Path, str | None], Capture]


@cache
def list_readers() -> tuple[Reader, ...]:
    """Return every reader, built-in ones first; a plugin that fails warns and is skipped."""
    readers: list[Reader] = [
        import_module(f"{builtin.__name__}.{module.name}").READER
        for module in pkgutil.iter_modules(builtin.__path__)
    ]
    for entry in entry_points(group="roofline.readers"):
        try:
            plugin = entry.load()
            if not isinstance(plugin, Reader):
                raise TypeError(f"not a Reader: {plugin!r}")  # noqa: TRY301 - one path for all faults
            if plugin.format in {reader.format for reader in readers}:
                raise ValueError(f"format {plugin.format!r} is taken")  # noqa: TRY301
        except Exception as error:  # a plugin may fail in any way
            warnings.warn(
                f"reader plugin {entry.name!r} is skipped: {error}", RuntimeWarning, stacklevel=2
            )
        else:
            readers.append(plugin)
    return tuple(readers)


def open_capture(path: str | Path, compat: str | None = None) -> Capture:
    """Open a capture of any known format, recognised by content and not by name.

    ``compat="vendor"`` reproduces the vendor's rows with their defects; the default repairs them
    and lists in ``quality`` what differs. Raises ``CaptureError`` when the path is no capture.
    """
    if compat not in COMPAT:
        raise CaptureError(f"unknown compat {compat!r}; known: None, 'vendor'")
    path = Path(path)
    head = _head(path)
    for reader in list_readers():
        if reader.sniff(path, head):
            return reader.open(path, compat)
    what = diagnose(path, head)
    known = ", ".join(reader.format for reader in list_readers())
    raise CaptureError(
        f"{path}: {what or 'not a capture of a known format'}; formats that can be read: {known}"
    )


def _head(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed once if it is gzip."""
    import zlib

    if path.is_dir():
        return b""
    if not path.exists():
        raise CaptureError(f"{path}: no such file or directory")
    if not path.is_file():
        raise CaptureError(f"{path}: not a regular file or directory")
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise CaptureError(f"{path}: the file is empty")
    if head[:2] == b"\x1f\x8b":
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
        except zlib.error as error:
            raise CaptureError(f"{path}: damaged gzip: {error}") from error
    return head
