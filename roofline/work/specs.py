"""Shapes and dtypes of operands, as people write them and as formulas use them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from roofline.dtypes import DTYPES, dtype_key, dtype_of
from roofline.errors import WorkError

__all__ = ["TensorSpec", "broadcast_shapes", "parse_argument", "parse_spec", "promote", "same_size"]

_SPEC: Final = re.compile(r"(scalar|\d+(?:x\d+)*)?:([A-Za-z0-9_.:]+?)(@cpu)?$")
_MOST_ELEMENTS: Final = 2**128
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$")


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and dtype of one operand; ``on_host`` marks a scalar tensor that lives on the CPU.

    A closed form may use numpy int64 arrays as sizes: every figure is then an array. Raises
    ``WorkError`` where products of such counts would be no float.
    """

    shape: tuple[int, ...]
    dtype: str
    on_host: bool = False

    def __post_init__(self) -> None:
        whole = all(isinstance(size, int) for size in self.shape)
        if whole and math.prod(self.shape) > _MOST_ELEMENTS:
            raise WorkError(
                f"an operand of {len(self.shape)} sizes holds more than 2^128 elements: its counts "
                "are no numbers"
            )

    @property
    def numel(self) -> int:
        """Number of elements."""
        total = 1
        for size in self.shape:
            total = total * size
        return total

    @property
    def bytes(self) -> int:
        """Storage in bytes, scales of microscaling formats included."""
        return DTYPES[self.dtype].bytes_for(self.numel)

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "scalar"
        return f"{shape}:{self.dtype}{'@cpu' if self.on_host else ''}"


def parse_spec(text: str) -> TensorSpec:
    """Return the operand written as ``SHAPE:DTYPE``, for example ``4x512:bf16``.

    ``scalar:fp32@cpu`` is a scalar tensor on the host. Raises ``WorkError``.

    >>> parse_spec("4x512:bf16").bytes
    4096
    """
    match = _SPEC.match(text.strip())
    if match is None or match[1] is None:
        raise WorkError(f"not SHAPE:DTYPE: {text!r} (expected for example 4x512:bf16)")
    shape = () if match[1] == "scalar" else tuple(int(size) for size in match[1].split("x"))
    return TensorSpec(shape, dtype_key(match[2]), match[3] is not None)


def parse_argument(text: str) -> TensorSpec | float | int | bool | str | None:
    """Return an argument of a counted function: an operand, or a number, truth value or word.

    >>> parse_argument("1e-6"), parse_argument("true"), parse_argument("512:bf16").shape
    (1e-06, True, (512,))
    """
    word = text.strip()
    if word.lower() in {"true", "false", "none"}:
        return {"true": True, "false": False, "none": None}[word.lower()]
    if _NUMBER.match(word):
        return int(word) if re.fullmatch(r"[+-]?\d+", word) else float(word)
    return parse_spec(word) if ":" in word else word


def same_size(left: int, right: int) -> bool:
    """Return whether two sizes, or two arrays of sizes, are equal."""
    return left is right or bool(np.array_equal(left, right))


def broadcast_shapes(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Return the shape the given shapes broadcast to; raises ``WorkError`` if they do not."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for position, size in enumerate(shape, rank - len(shape)):
            if not same_size(size, 1):
                if not (same_size(result[position], 1) or same_size(result[position], size)):
                    raise WorkError(f"shapes do not broadcast: {' '.join(map(str, shapes))}")
                result[position] = size
    return tuple(result)


def promote(operands: tuple[TensorSpec, ...]) -> str:
    """Return the dtype elementwise arithmetic on ``operands`` produces.

    Operands with dimensions decide before scalar tensors do; floats win over integers, the
    wider over the narrower, and two different 16-bit floats give fp32 (as PyTorch promotes).
    """
    keys = [op.dtype for op in operands if op.shape] or [op.dtype for op in operands]
    if not keys:
        raise WorkError("no operand to take a dtype from")
    floats = [key for key in keys if dtype_of(key).is_float] or [
        op.dtype for op in operands if dtype_of(op.dtype).is_float
    ]
    ranked = sorted(set(floats or keys), key=lambda key: dtype_of(key).bits)
    if len(ranked) > 1 and dtype_of(ranked[-2]).bits == dtype_of(ranked[-1]).bits == 16:
        return "fp32" if floats else ranked[-1]
    return ranked[-1]
