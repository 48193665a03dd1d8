"""Reader of NEFF files on their own: a program has tensors, but no times."""

from __future__ import annotations

from pathlib import Path

from roofline.captures.capture import Capture
from roofline.captures.registry import Reader

__all__ = ["READER"]


def _sniff(path: Path, head: bytes) -> bool:  # noqa: ARG001 - the content alone decides
    from roofline.captures.neff.container import is_neff

    return is_neff(head)


def _open(path: Path, compat: str | None) -> Capture:
    from roofline.captures.neff.capture import open_program

    return open_program(path, compat)


READER = Reader(
    format="neff",
    what="compiled program: tensors, no times",
    sniff=_sniff,
    open=_open,
)
