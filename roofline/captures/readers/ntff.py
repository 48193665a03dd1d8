"""Reader of NTFF device traces."""

from __future__ import annotations

from pathlib import Path

from roofline.captures.capture import Capture
from roofline.captures.registry import Reader

__all__ = ["READER"]

_PATH_FIELD = b"\x0a"
_LONGEST_METADATA = 1 << 32


def _sniff(path: Path, head: bytes) -> bool:  # noqa: ARG001
    """Whether the prologue is NTFF's: a control byte that starts no text, archive or table."""
    if head[:1] in (b"\x04", b"\x05", b"\x06"):
        return True
    # another version, or a damaged one: metadata of a sensible length begins with the NEFF's path
    length = int.from_bytes(head[1:9], "little")
    return 0 < length < _LONGEST_METADATA and head[128:129] == _PATH_FIELD


def _open(path: Path, compat: str | None) -> Capture:
    from roofline.captures.neff.beside import attach_beside
    from roofline.captures.ntff.capture import open_ntff

    return attach_beside(open_ntff(path, compat))


READER = Reader(
    format="ntff",
    what="device trace of a NeuronCore, versions 4 to 6",
    sniff=_sniff,
    open=_open,
)
