"""Open a file, plain or gzip, for reading at any offset without holding it in memory."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from pathlib import Path
from typing import IO, BinaryIO, Final, cast

from roofline.errors import CaptureError

__all__ = ["growth_fault", "open_plain", "open_regular"]

_CHUNK: Final = 1 << 20
_IN_MEMORY: Final = 64 << 20
_GZIP: Final = b"\x1f\x8b"
_BOMB_BYTES: Final = 256 << 20
_BOMB_RATIO: Final = 200
"""A profile compresses 10 to 40 times; one event repeated, 300, and one byte, 1000 times."""


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; anything that one can wait for or never ends is refused.

    Raises ``CaptureError`` for what is absent, a pipe, a device or a folder.
    """
    if not path.exists():
        raise CaptureError(f"{path}: no such file or directory")
    if not path.is_file():
        raise CaptureError(f"{path}: not a regular file")
    return path.open("rb")


def growth_fault(grown: int, packed: int) -> str:
    """Return why ``packed`` bytes that grew to ``grown`` are no capture; empty if they may be."""
    if grown <= max(_BOMB_BYTES, _BOMB_RATIO * packed):
        return ""
    return f"gzip that grows more than {_BOMB_RATIO} times: not a capture"


def open_plain(path: Path) -> IO[bytes]:
    """Return ``path`` as a seekable binary file, decompressed if it is gzip.

    A gzip file that grows beyond 64 MiB is decompressed to an unnamed temporary file: tables are
    read section by section, some of them more than once, and gzip cannot seek. Raises
    ``CaptureError`` for a damaged or truncated gzip stream, gzip inside gzip, and a stream that
    grows as no capture does.
    """
    file = open_regular(path)
    if file.read(2) != _GZIP:
        file.seek(0)
        return file
    file.seek(0)
    with file:
        return _decompress(path, file)


def _decompress(path: Path, file: IO[bytes]) -> IO[bytes]:
    plain = cast("IO[bytes]", tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115
    fault = ""
    try:
        with gzip.GzipFile(fileobj=file) as members:
            while not fault and (block := members.read(_CHUNK)):
                plain.write(block)
                fault = growth_fault(plain.tell(), file.tell())
    except EOFError:
        fault = "the gzip stream is truncated"
    except (gzip.BadGzipFile, zlib.error) as error:
        fault = f"damaged gzip: {error}"
    except BaseException:
        plain.close()
        raise
    plain.seek(0)
    if not fault and plain.read(2) == _GZIP:
        fault = "gzip inside gzip: decompress it once"
    plain.seek(0)
    if fault:
        plain.close()
        raise CaptureError(f"{path}: {fault}")
    return plain
