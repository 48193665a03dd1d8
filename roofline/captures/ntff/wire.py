"""The two protobuf wire types NTFF metadata uses: varints and length-delimited fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from roofline.errors import CaptureError

__all__ = ["Span", "Value", "walk"]

_VARINT: Final = 0
_DELIMITED: Final = 2
_MAX_VARINT_BYTES: Final = 10


@dataclass(frozen=True, slots=True)
class Span:
    """A range of bytes of the file: ``start`` inclusive, ``end`` exclusive."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


Value = int | Span


def walk(buffer: memoryview, span: Span, section: str) -> Iterator[tuple[int, Value]]:
    """Yield ``(field number, value)`` of the message that fills ``span``.

    A varint comes as an int, anything length-delimited as the span of its bytes, so nothing is
    copied. Raises ``CaptureError`` with offset and ``section`` for anything else.
    """
    at, end = span.start, span.end
    while at < end:
        start = at
        tag, at = _varint(buffer, at, end, section)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise CaptureError("field number 0 in metadata", offset=start, section=section)
        if wire_type == _VARINT:
            value, at = _varint(buffer, at, end, section)
            yield number, value
        elif wire_type == _DELIMITED:
            length, at = _varint(buffer, at, end, section)
            if length > end - at:
                raise CaptureError(
                    f"field {number} claims {length} bytes where {end - at} remain",
                    offset=start,
                    section=section,
                )
            yield number, Span(at, at + length)
            at += length
        else:
            raise CaptureError(
                f"field {number} has wire type {wire_type}; NTFF metadata uses 0 and 2",
                offset=start,
                section=section,
            )


def _varint(buffer: memoryview, at: int, end: int, section: str) -> tuple[int, int]:
    value = shift = 0
    start = at
    while at < end:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 64:
                break
            return value, at
        shift += 7
        if at - start == _MAX_VARINT_BYTES:
            break
    raise CaptureError("a varint does not end", offset=start, section=section)
