"""The boundary between foreign bytes and everything else: only ``CaptureError`` comes out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roofline.errors import CaptureError, RooflineError

__all__ = ["decoding"]


@contextmanager
def decoding(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a decoder raises for data it cannot take into ``CaptureError``.

    A file of others can be wrong in more ways than a decoder can list; what it stumbled over stays
    as the cause. Faults of the machine (memory, disk, a library that is absent) come through.
    """
    try:
        yield
    except (RooflineError, MemoryError, OSError, ImportError):
        raise
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise CaptureError(f"{path}: {what} cannot be decoded: {said}") from error
