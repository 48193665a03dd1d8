"""Which tensor is read more often than once, from packets that name what they carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roofline.analysis.columns import codes, has, integers
from roofline.captures.capture import Capture

__all__ = ["Reread", "rereads"]

_SOURCES = ("in", "weight")
"""Roles of tensors that a program reads; what it writes and reads back is a round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """A tensor of ``size_bytes`` of which ``read_bytes`` were moved over the whole run."""

    name: str
    size_bytes: int
    read_bytes: int

    @property
    def times(self) -> float:
        """How often it was read."""
        return self.read_bytes / self.size_bytes


def rereads(capture: Capture) -> tuple[Reread, ...]:
    """Return inputs and weights that were read more than once, the most surplus bytes first.

    Empty where packets name no tensor or the capture lists none: what is not named is not told.
    """
    if not (capture.has("dma") and capture.has("tensors")):
        return ()
    dma, tensors = capture.dma, capture.tensors
    moved = "read_bytes" if has(dma, "read_bytes") else "transfer_bytes"
    if not (has(dma, "variable", moved) and has(tensors, "variable_name", "type", "size")):
        return ()
    code, names = codes(dma, "variable")
    named = code >= 0
    read = np.zeros(len(names), np.int64)
    np.add.at(read, code[named], integers(dma, moved)[named])
    by_name = dict(zip(names, read.tolist(), strict=True))
    found = {
        name: Reread(name=name, size_bytes=size, read_bytes=by_name[name])
        for name, role, size in zip(
            tensors["variable_name"].to_pylist(),
            tensors["type"].to_pylist(),
            tensors["size"].to_pylist(),
            strict=True,
        )
        if size and str(role).lower() in _SOURCES and by_name.get(name, 0) > size
    }
    return tuple(sorted(found.values(), key=lambda one: one.size_bytes - one.read_bytes))
