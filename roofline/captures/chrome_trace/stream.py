"""Decode the events of a trace file block by block, in bounded memory."""

from __future__ import annotations

import gc
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from roofline.captures.chrome_trace.fields import Document
from roofline.captures.plainfile import growth_fault, open_regular
from roofline.errors import CaptureError

__all__ = ["decode_array", "decode_events", "read_document", "read_whole"]

BLOCK_BYTES: Final = 4 << 20
_EVENTS_AT_ONCE: Final = 1 << 17
_GZIP: Final = b"\x1f\x8b"
_CONTROL: Final = bytes(max(code, 32) for code in range(256))
_BOM: Final = b"\xef\xbb\xbf"

T = TypeVar("T")
Extract = Callable[[list[Any]], T]


def decode_events(
    path: Path, event: type[msgspec.Struct], extract: Extract[T]
) -> tuple[Document, list[T]]:
    """Decode every event as ``event``; return what surrounds them and ``extract`` of each block.

    The array is cut between two events; a cut that turns out to lie inside one makes the block
    invalid JSON, and the file is then decoded whole. Raises ``CaptureError`` for content that is
    not a complete trace.
    """
    enabled = gc.isenabled()
    gc.disable()  # the collector would walk the decoded containers again and again
    try:
        try:
            return _by_blocks(_chunks(path), event, extract)
        except msgspec.DecodeError:
            return _whole(path, event, extract)
    except RecursionError as error:
        raise CaptureError(f"{path}: JSON that nests too deep for a trace") from error
    finally:
        if enabled:
            gc.enable()


def read_whole(path: Path) -> bytes:
    """Return the content of a plain or gzip file, without a byte-order mark."""
    return b"".join(_chunks(path))


def decode_array(rows: list[dict[str, Any]], event: type[msgspec.Struct]) -> list[Any]:
    """Return rows that have the form of trace events as ``event``."""
    decoder = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]
    return _events(decoder, msgspec.json.encode(rows), event)


def read_document(path: Path) -> Document | None:
    """Return what stands before the events, or ``None`` if the head of the file does not tell."""
    head = next(_chunks(path), b"")
    start = _array_start(head)
    if start is None:
        return None
    try:
        return msgspec.json.decode(head[:start] + b"]}", type=Document)
    except (msgspec.DecodeError, RecursionError):
        return None


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a plain or gzip file, without a byte-order mark."""
    with open_regular(path) as file:
        first = file.read(max(BLOCK_BYTES, len(_BOM)))
        if first[:2] != _GZIP:
            yield first.removeprefix(_BOM)
            while chunk := file.read(BLOCK_BYTES):
                yield chunk
            return
        inflate = zlib.decompressobj(wbits=31)
        chunk, begin, grown = first, True, 0
        try:
            while chunk:
                data = inflate.decompress(chunk, BLOCK_BYTES)
                yield data.removeprefix(_BOM) if begin else data
                begin, grown = False, grown + len(data)
                if fault := growth_fault(grown, file.tell()):
                    raise CaptureError(f"{path}: {fault}")
                chunk = inflate.unconsumed_tail or (
                    inflate.unused_data if inflate.eof else file.read(BLOCK_BYTES)
                )
                if inflate.eof:  # members may follow each other
                    if not chunk.startswith(_GZIP):
                        return
                    inflate = zlib.decompressobj(wbits=31)
        except zlib.error as error:
            raise CaptureError(f"{path}: damaged gzip: {error}") from error
        raise CaptureError(f"{path}: the gzip stream is cut short")


def _array_start(head: bytes) -> int | None:
    """Return the offset behind the bracket that opens the events."""
    if head.lstrip()[:1] == b"[":
        return head.index(b"[") + 1
    key = head.find(b'"traceEvents"')
    bracket = head.find(b"[", key)
    if key < 0 or bracket < 0 or head[key + 13 : bracket].strip() != b":":
        return None
    return bracket + 1


def _last_cut(buffer: bytes) -> tuple[int, int] | None:
    """Return where the last complete event ends and where the next one starts."""
    stop = len(buffer)
    while (brace := buffer.rfind(b"{", 0, stop)) > 0:
        before = buffer[max(0, brace - 64) : brace].rstrip()
        if before.endswith(b","):
            before = before[:-1].rstrip()
            if before.endswith(b"}"):
                return max(0, brace - 64) + len(before), brace
        stop = brace
    return None


def _by_blocks(
    chunks: Iterator[bytes], event: type[msgspec.Struct], extract: Extract[T]
) -> tuple[Document, list[T]]:
    decoder = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]
    blocks: list[T] = []
    buffer = next(chunks, b"")
    start = _array_start(buffer)
    if start is None:
        raise msgspec.DecodeError("no events in the head of the file")
    bare = buffer.lstrip()[:1] == b"["
    document = None if bare else msgspec.json.decode(buffer[:start] + b"]}", type=Document)
    pending = buffer[start:]
    for chunk in chunks:
        cut = _last_cut(chunk)
        if cut is None:
            pending += chunk
        else:
            block = b"".join((b"[", pending, memoryview(chunk)[: cut[0]], b"]"))
            blocks.append(extract(_events(decoder, block, event)))
            pending = chunk[cut[1] :]
    tail = b'{"traceEvents":[' + _close(pending, bare=bare)
    rest = msgspec.json.decode(tail, type=Document)
    blocks.append(extract(_events(decoder, rest.traceEvents, event)))
    return (rest if document is None else _join(document, rest)), blocks


def _whole(
    path: Path, event: type[msgspec.Struct], extract: Extract[T]
) -> tuple[Document, list[T]]:
    data = read_whole(path)
    bare = data.lstrip()[:1] == b"["
    if bare:
        data = b'{"traceEvents":' + _close(data.lstrip(), bare=True)
    decoder = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]
    problem: Exception | None = None
    for repaired in (False, True):
        if repaired:  # control characters in names, bytes that are no UTF-8: torch writes both
            data = data.translate(_CONTROL).decode(errors="replace").encode()
        try:
            document = msgspec.json.decode(data, type=Document)
            if not document.traceEvents:
                raise CaptureError(f"{path}: JSON without traceEvents: not a trace")
            events = _events(decoder, document.traceEvents, event)
        except msgspec.DecodeError as error:
            problem = problem or error
        else:
            document.repaired = repaired
            parts = range(0, max(len(events), 1), _EVENTS_AT_ONCE)
            return document, [extract(events[at : at + _EVENTS_AT_ONCE]) for at in parts]
    raise CaptureError(f"{path}: not a complete trace: {problem}") from problem


def _close(text: bytes, *, bare: bool) -> bytes:
    """Return ``text`` with the end of the document; a bare array may lack its bracket."""
    if not bare:
        return text
    text = text.rstrip()
    return text + b"}" if text.endswith(b"]") else text.removesuffix(b",") + b"]}"


def _join(head: Document, tail: Document) -> Document:
    for name in Document.__struct_fields__:
        if name != "traceEvents" and not getattr(head, name):
            setattr(head, name, getattr(tail, name))
    head.traceEvents = tail.traceEvents
    return head


def _events(
    decoder: msgspec.json.Decoder[Any], text: bytes | msgspec.Raw, event: type[Any]
) -> list[Any]:
    """Decode one array of events; one whose values have unexpected types is coerced."""
    try:
        events: list[Any] = decoder.decode(text)
    except msgspec.ValidationError:
        rows = msgspec.json.decode(text, type=list[dict[str, msgspec.Raw] | None])
        return [_coerce(event, row or {}) for row in rows]
    return events


def _coerce(kind: type[Any], row: dict[str, msgspec.Raw]) -> Any:
    """Build a Struct from raw values: what does not fit a field is given its default."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        raw = row.get(field.encode_name)
        if raw is None:
            continue
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            nested = _decode(raw, dict[str, msgspec.Raw])
            values[field.name] = _coerce(field.type, nested or {})
        elif field.type is msgspec.Raw:
            values[field.name] = raw
        else:
            value = _decode(raw, field.type)
            if value is None:
                loose = json.loads(bytes(raw))
                value = _convert(loose, field.type)
            if value is not None:
                values[field.name] = value
    return kind(**values)


def _decode(raw: msgspec.Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        return None


def _convert(value: Any, kind: Any) -> Any:
    """Return ``value`` as ``kind`` where that loses nothing, else ``None``."""
    if kind is str:
        return json.dumps(value) if value is not None else None
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return str(value) if kind == int | str | None and value is not None else None
