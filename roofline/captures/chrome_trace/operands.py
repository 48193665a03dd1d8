"""Read the inputs of an operator out of the ``Input Dims`` and ``Input type`` texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

from roofline.dtypes import dtype_key
from roofline.errors import WorkError

__all__ = ["Operand", "parse_operands"]

_NO_TENSOR: Final = frozenset({"", "Scalar", "ScalarList", "None"})
_PYTHON_NUMBERS: Final = frozenset({"double", "long int", "long", "bool", "complex128"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One tensor that an operator was given.

    ``written`` is the type as the trace has it, ``dtype`` its canonical key (``""``: not known).
    ``wrapped`` says that it may be a Python number: PyTorch hands those over as tensors without
    dimensions, of dtype double, long or bool, that live on the CPU but need no copy of their own.
    """

    index: int
    shape: tuple[int, ...]
    written: str
    dtype: str

    @property
    def is_scalar(self) -> bool:
        """Whether the tensor has no dimensions."""
        return self.shape == ()

    @property
    def wrapped(self) -> bool:
        """Whether it may be a Python number."""
        return self.is_scalar and self.written in _PYTHON_NUMBERS


@lru_cache(maxsize=65536)
def parse_operands(dims: str | None, types: str | None) -> tuple[Operand, ...] | None:
    """Return the tensors among the inputs, lists of tensors flattened; ``None``: not recorded.

    >>> parse_operands('[[4, 1], [], []]', '["c10::BFloat16", "float", "Scalar"]')[1].shape
    ()
    """
    if dims is None or types is None:
        return None
    try:
        shapes = msgspec.json.decode(dims)
        names = msgspec.json.decode(types)
    except msgspec.DecodeError:
        return None
    if not isinstance(shapes, list) or not isinstance(names, list):
        return None
    return tuple(
        operand
        for index, (shape, name) in enumerate(zip(shapes, names, strict=False))
        for operand in _tensors(index, shape, name)
    )


def _tensors(index: int, shape: Any, name: Any) -> Iterator[Operand]:
    if isinstance(name, list):
        if isinstance(shape, list):
            for one_shape, one_name in zip(shape, name, strict=False):
                yield from _tensors(index, one_shape, one_name)
        return
    if not isinstance(name, str) or name in _NO_TENSOR or not isinstance(shape, list):
        return
    if shape and all(isinstance(size, list) for size in shape):  # a list of tensors of one type
        for one_shape in shape:
            yield from _tensors(index, one_shape, name)
        return
    if all(isinstance(size, int) for size in shape):
        yield Operand(index=index, shape=tuple(shape), written=name, dtype=_dtype(name))


def _dtype(name: str) -> str:
    try:
        return dtype_key(name)
    except WorkError:
        return ""
