"""Turn the values of one key over many events into one Arrow column, without a loop per event."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    pass

__all__ = ["build", "nanoseconds"]

_NANO_DIGITS = 3


def build(kind: str, values: Sequence[Any]) -> pa.Array:
    """Return the Arrow array of ``values``; the kinds are those of ``fields.Column``."""
    match kind:
        case "text":
            return _dictionary(_strings(values))
        case "json":
            return _dictionary(_raw(values))
        case "label":
            return _labels(values)
        case "id":
            array = _whole_numbers(values, pa.uint64())
            zero = pc.equal(array, pa.scalar(0, pa.uint64()))
            return pc.if_else(zero, pa.scalar(None, pa.uint64()), array)
        case "count":
            return _whole_numbers(values, pa.int64())
        case "time":
            return nanoseconds(values)
    raise ValueError(f"unknown column kind {kind!r}")


def nanoseconds(values: Sequence[Any]) -> pa.Array:
    """Return int64 ns of decimal microseconds given as raw JSON text; null where there is none.

    The digits are read as an integer, never as a float: with a base 3 months back a float64 of
    microseconds resolves 1 ns and no better. Fractions of a nanosecond are dropped (floor).
    """
    text = b"\n".join(values)
    data = np.frombuffer(text + b"\n", np.uint8)
    dots = np.flatnonzero(data == ord("."))
    if len(dots) == len(values):
        ends = np.flatnonzero(data == ord("\n"))
        if len(ends) == len(values) and bool(np.all(ends - dots == _NANO_DIGITS + 1)):
            lengths = np.diff(ends, prepend=-1).astype(np.int32) - 2  # without dot and newline
            offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
            packed = text.translate(None, b".\n")
            digits = pa.StringArray.from_buffers(
                len(values), pa.py_buffer(offsets), pa.py_buffer(packed)
            )
            try:
                return pc.cast(digits, pa.int64())
            except pa.ArrowInvalid:
                pass  # an exponent, a quoted number or more digits than int64 holds
    return pa.array([_nanoseconds(bytes(value)) for value in values], pa.int64())


def _nanoseconds(text: bytes) -> int | None:
    try:
        ns = Decimal(text.decode("ascii").strip('" ')) * 1000
        whole = int(ns.to_integral_value("ROUND_FLOOR"))
    except (InvalidOperation, UnicodeDecodeError, OverflowError, ValueError):
        return None
    return whole if -(2**63) <= whole < 2**63 else None


def _whole_numbers(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, OverflowError):  # one that the format cannot hold is not known
        limits = np.iinfo(kind.to_pandas_dtype())
        return pa.array(
            [v if v is not None and limits.min <= v <= limits.max else None for v in values], kind
        )


def _strings(values: Sequence[str]) -> pa.Array:
    text = "".join(values)
    if not text.isascii():  # then characters are not bytes
        return pa.array(values, pa.string())
    return _packed(text.encode(), values)


def _raw(values: Sequence[Any]) -> pa.Array:
    return _packed(b"".join(values), values)


def _packed(text: bytes, values: Sequence[Any]) -> pa.Array:
    """Return the string array of ``values``, which lie back to back in ``text``."""
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=offsets[1:])
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(offsets), pa.py_buffer(text))


def _dictionary(array: pa.Array) -> pa.DictionaryArray:
    """Return the dictionary-encoded array with empty strings as nulls."""
    encoded = array.dictionary_encode()
    if pc.index(encoded.dictionary, "").as_py() < 0:
        return encoded
    return pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array).dictionary_encode()


def _labels(values: Sequence[int | str | None]) -> pa.DictionaryArray:
    try:
        encoded = pa.array(values, pa.int64()).dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        return _dictionary(_strings(["" if value is None else str(value) for value in values]))
    return pa.DictionaryArray.from_arrays(encoded.indices, pc.cast(encoded.dictionary, pa.string()))
