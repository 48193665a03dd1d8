"""Walk a JSON object of large arrays section by section, holding a few MiB of it at a time.

The vendor's full-profile JSON is one object whose members are arrays of flat records. Arrays are
cut in blocks at ``},{`` and each block is decoded with a typed decoder, so that only wanted fields
become Python objects. A cut that falls into a nested array or into a string leaves its block
unbalanced, and decoding fails as *truncated*: decoding is the proof that a cut was right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final, Protocol, cast

import msgspec

from roofline.errors import CaptureError

__all__ = ["BLOCK_BYTES", "RowSink", "Section", "walk_sections"]

BLOCK_BYTES: Final = 4 << 20
_TAIL: Final = 64 << 10
_KEY: Final = re.compile(rb'\s*"((?:[^"\\]|\\.)*)"\s*:\s*')
_BETWEEN: Final = re.compile(rb"\s*(,|\})\s*")
_CUT: Final = re.compile(rb"\}\s*,\s*(?=\{)")
# the byte that msgspec names is one after the first byte that does not belong to the value
_TRAILING: Final = re.compile(r"trailing characters \(byte (\d+)\)")
_BYTE: Final = re.compile(r"\(byte (\d+)\)")


class RowSink(Protocol):
    """Takes the records of one array, a block at a time."""

    def decode(self, block: memoryview) -> list[Any]:
        """Decode a JSON array; raises ``msgspec.DecodeError``."""

    def add(self, rows: list[Any]) -> None:
        """Keep what is wanted of the rows."""


class Section(msgspec.Struct, frozen=True):
    """Where the value of one member lies, in bytes from the start of the decompressed file."""

    name: str
    start: int
    end: int


class _Skip:
    """A sink that checks the syntax and keeps nothing."""

    _decoder: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])

    def decode(self, block: memoryview) -> list[Any]:
        return self._decoder.decode(block)

    def add(self, rows: list[Any]) -> None:
        """Keep nothing."""


_RAW: Final = msgspec.json.Decoder(msgspec.Raw)


class _Window:
    """A movable view of the file in one reused buffer: memory new to the process is slow."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path, self.file = path, file
        self.size = file.seek(0, 2)
        self._buffer = bytearray(2 * BLOCK_BYTES)
        self._base = 0
        self._low = self._high = 1  # one byte is kept before the view, for a bracket

    @property
    def at_end(self) -> bool:
        """Whether the view reaches the end of the file."""
        return self._base + self._high - self._low == self.size

    def load(self, base: int, size: int) -> memoryview:
        """Return a view from ``base`` on, of ``size`` bytes or more unless the file ends before.

        It is valid until the next call.
        """
        if self._base <= base <= self._base + self._high - self._low:
            self._low += base - self._base
        else:
            self._low = self._high = 1
        self._base = base
        if self._low + size + 1 > len(self._buffer):
            kept = self._buffer[self._low : self._high]
            if size + 2 > len(self._buffer):
                self._buffer = bytearray(2 * size)
            self._low, self._high = 1, 1 + len(kept)
            self._buffer[1 : self._high] = kept
        self.file.seek(base + self._high - self._low)
        while self._high - self._low < size:
            count = self.file.readinto(memoryview(self._buffer)[self._high : -1])  # type: ignore[attr-defined]
            if not count:
                break
            self._high += count
        return memoryview(self._buffer)[self._low : self._high]

    def peek(self, base: int) -> bytes:
        """Return the next bytes from ``base`` on as a copy."""
        return bytes(self.load(base, _TAIL)[:_TAIL])

    def decode(self, sink: RowSink, length: int, *, close: bool) -> list[Any]:
        """Decode the first ``length`` bytes of the view as the rest of an array.

        The brackets are written around them in place; ``close`` adds the one behind.
        """
        end = self._low + length
        before, behind = self._buffer[self._low - 1], self._buffer[end]
        self._buffer[self._low - 1] = ord("[")
        if close:
            self._buffer[end] = ord("]")
        try:
            return sink.decode(memoryview(self._buffer)[self._low - 1 : end + close])
        finally:
            self._buffer[self._low - 1], self._buffer[end] = before, behind


def walk_sections(
    path: Path,
    file: IO[bytes],
    sink_of: Callable[[str], RowSink | None],
    value_of: Callable[[str, Any], None],
    *,
    wanted_values: frozenset[str],
) -> Iterator[Section]:
    """Yield every top-level member of a JSON object after its value went to its sink.

    ``sink_of(name)`` returns the sink of an array, or ``None`` to skip it; members named in
    ``wanted_values`` are decoded whole and passed to ``value_of``. Raises ``CaptureError`` with
    the offset for malformed or truncated JSON and for a member that is there twice.
    """
    window = _Window(path, file)
    head = window.peek(0)
    at = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    at = len(head) - len(head[at:].lstrip())
    if head[at : at + 1] != b"{":
        raise CaptureError(f"{path}: not a JSON object", offset=at)
    at += 1
    seen: set[str] = set()
    empty = re.match(rb"\s*\}\s*$", window.peek(at))
    if empty and window.at_end:
        return
    while True:
        data = window.peek(at)
        key = _KEY.match(data)
        if key is None:
            raise CaptureError(f"{path}: expected a member name in quotes", offset=at)
        name = key[1].decode("utf-8", "replace")
        if name in seen:
            raise CaptureError(f"{path}: member {name!r} is there twice", offset=at)
        seen.add(name)
        start = at + key.end()
        sink = sink_of(name)
        if name in wanted_values:
            end, value = _whole_value(window, start, name)
            value_of(name, value)
        elif sink is None and (short := _short_value(window, start)) is not None:
            end = short
        else:
            end = feed_array(window, start, sink or _Skip(), name)
        yield Section(name=name, start=start, end=end)
        data = window.peek(end)
        after = _BETWEEN.match(data)
        if after is None:
            what = "the file ends" if not data.strip() else "expected ',' or '}'"
            raise CaptureError(f"{path}: {what} after member {name!r}", offset=end)
        at = end + after.end()
        if after[1] == b"}":
            if window.peek(at).strip():
                raise CaptureError(f"{path}: something follows the JSON object", offset=at)
            return


def read_section(path: Path, file: IO[bytes], section: Section, sink: RowSink) -> None:
    """Feed the array of a section that ``walk_sections`` found to a sink."""
    feed_array(_Window(path, file), section.start, sink, section.name)


def feed_array(window: _Window, start: int, sink: RowSink, name: str) -> int:
    """Feed the array at ``start`` to ``sink`` in blocks; return the offset after its end."""
    if not window.peek(start).startswith(b"["):
        raise CaptureError(f"{window.path}: expected an array", offset=start, section=name)
    at, size = start + 1, BLOCK_BYTES
    while True:
        data = window.load(at, size)
        last = window.at_end and len(data) <= size
        # without a cut the block is truncated, unless the array ends within it
        cuts = [] if last else list(_cuts(data[:size]))
        for cut in (*cuts, len(data)):
            whole = cut == len(data)
            try:
                sink.add(window.decode(sink, cut, close=not whole))
            except msgspec.DecodeError as error:
                if trailing := _TRAILING.search(str(error)):
                    length = int(trailing[1]) - 2
                    sink.add(_last_block(window, sink, length, at, name))
                    return at + length
                if "truncated" not in str(error):
                    raise _malformed(window.path, error, at - 1, name) from error
                continue
            if whole:  # the array ends with the block
                return at + cut
            between = cast("re.Match[bytes]", _CUT.match(data, cut - 1))
            at, size = at + int(between.end()), BLOCK_BYTES
            break
        else:
            if last:
                raise CaptureError(
                    f"{window.path}: the file ends inside an array: truncated",
                    offset=at + len(data),
                    section=name,
                )
            size *= 4


def _last_block(window: _Window, sink: RowSink, length: int, at: int, name: str) -> list[Any]:
    try:
        return window.decode(sink, length, close=False)
    except msgspec.DecodeError as error:
        raise _malformed(window.path, error, at - 1, name) from error


def _cuts(data: memoryview) -> Iterator[int]:
    """Yield where ``data``, which starts at a record, may be cut, the most promising first.

    A record after the cut should look like the first one, which tells it from a nested object.
    """
    first = _record_keys(data, 0)
    tried = 0
    for match in reversed(list(_CUT.finditer(data, max(0, len(data) - _TAIL)))):
        keys = _record_keys(data, match.end())
        if len(keys & first) * 2 > len(first):
            yield match.start() + 1
            tried += 1
            if tried == 3:
                return


_DECODER: Final = json.JSONDecoder(parse_constant=lambda _: None)


def _record_keys(data: memoryview, at: int) -> frozenset[str]:
    try:
        record, _ = _DECODER.raw_decode(str(data[at : at + _TAIL], "utf-8", "replace"))
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(record) if isinstance(record, dict) else frozenset()


def _short_value(window: _Window, start: int) -> int | None:
    """Return the end of the value at ``start`` if it lies within one block."""
    data = window.load(start, BLOCK_BYTES)
    try:
        _RAW.decode(data)
    except msgspec.DecodeError as error:
        trailing = _TRAILING.search(str(error))
        return None if trailing is None else start + int(trailing[1]) - 1
    return start + len(data)


def _whole_value(window: _Window, start: int, name: str) -> tuple[int, Any]:
    """Decode the value at ``start`` whole; NaN and infinities read ``None``: not known."""
    size = _TAIL
    while True:
        data = window.load(start, size)
        text = str(data, "utf-8", "ignore")
        try:
            value, length = _DECODER.raw_decode(text)
        except (ValueError, RecursionError) as error:
            if window.at_end and len(data) <= size:
                raise CaptureError(
                    f"{window.path}: malformed JSON or the file is truncated: {error}",
                    offset=start,
                    section=name,
                ) from error
            size *= 4
        else:
            return start + len(text[:length].encode()), value


def _malformed(path: Path, error: msgspec.DecodeError, base: int, name: str) -> CaptureError:
    where = _BYTE.search(str(error))
    what = _BYTE.sub("", str(error)).strip()
    offset = base + int(where[1]) if where else base
    return CaptureError(f"{path}: {what}", offset=offset, section=name)
