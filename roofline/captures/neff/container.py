"""The NEFF container: a fixed header, then a gzip (or plain) tar archive.

A NEFF is untrusted input. Members are read from memory by exact name; nothing is written to disk,
links are ignored, and every size is bounded before memory is spent on it. The layout is described
in ``docs/captures-neff.md``.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from roofline.captures.plainfile import open_regular
from roofline.errors import CaptureError

__all__ = ["HEADER_BYTES", "Header", "is_neff", "read_header", "read_members"]

HEADER_BYTES: Final = 1024
PACKAGE_VERSION: Final = 2

MAX_INFLATED_BYTES: Final = 8 << 30
MAX_KEPT_BYTES: Final = 1 << 30
MAX_MEMBER_BYTES: Final = 256 << 20
MAX_MEMBERS: Final = 1 << 16
MAX_RATIO: Final = 256
"""Inflated bytes per packed byte (beyond a free 64 MiB): seen up to 11, deflate allows 1,032."""

_FREE_BYTES: Final = 64 << 20
_BLOCK: Final = 512
_CHUNK: Final = 1 << 20
_FIXED: Final = struct.Struct("<5Q128sI32s16s256sI64sQI")
_REGULAR: Final = (b"0", b"\0")
_NOT_NEEDED: Final = (".npy",)

FEATURES: Final = {10: "virtual-core", 11: "v3-2x-4x-dve-perf-mode"}
"""Names of feature bits, as far as they are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of a NEFF. ``name`` may be a path of its author's machine: do not show it."""

    package_version: int
    header_size: int
    data_size: int
    version: tuple[int, int]
    build: str
    logical_cores: int
    hash: str
    uuid: bytes
    name: str
    features: tuple[str, ...]
    cores_per_lnc: int


def is_neff(head: bytes) -> bool:
    """Whether ``head`` (the first bytes of a file) looks like a NEFF header."""
    if len(head) < HEADER_BYTES:
        return False
    package, size = struct.unpack_from("<QQ", head)
    return bool(package == PACKAGE_VERSION and size == HEADER_BYTES)


def read_header(head: bytes, path: Path) -> Header:
    """Return the header; raises ``CaptureError`` for anything that is no NEFF."""
    if len(head) < HEADER_BYTES:
        raise CaptureError(f"{path}: {len(head)} bytes are no NEFF header", section="header")
    (
        package, size, data, major, minor, build, logical, digest, uuid, name, _, _, bits, cores,
    ) = _FIXED.unpack_from(head)  # fmt: skip
    if package != PACKAGE_VERSION or size != HEADER_BYTES:
        raise CaptureError(
            f"{path}: not a NEFF: package version {package}, header of {size} bytes; "
            f"known: version {PACKAGE_VERSION}, {HEADER_BYTES} bytes",
            offset=0,
            section="header",
        )
    return Header(
        package_version=package,
        header_size=size,
        data_size=data,
        version=(major, minor),
        build=_text(build),
        logical_cores=logical,
        hash=digest[:16].hex() if not any(digest[16:]) else digest.hex(),
        uuid=uuid,
        name=_text(name),
        features=tuple(FEATURES.get(bit, f"bit {bit}") for bit in range(64) if bits >> bit & 1),
        cores_per_lnc=cores,
    )


def read_members(path: Path, header: Header) -> Mapping[str, bytes]:
    """Return the members a reader needs, by name: all but constants, which are the model's data.

    Raises ``CaptureError`` for damaged archives, hostile names and sizes beyond the limits.
    """
    with open_regular(path) as file:
        file.seek(0, 2)
        held = file.tell() - header.header_size
        if held < header.data_size:
            raise CaptureError(
                f"{path}: cut short: {held} of {header.data_size} bytes of data",
                offset=file.tell(),
                section="data",
            )
        file.seek(header.header_size)
        source = _Source(file, header.data_size, path)
        return dict(_members(source, path))


class _Source:
    """The bytes of the archive, inflated as they are read, within the limits."""

    def __init__(self, file: BinaryIO, size: int, path: Path) -> None:
        self._file, self._left, self._path = file, size, path
        self._limit = min(MAX_INFLATED_BYTES, size * MAX_RATIO + _FREE_BYTES)
        first = file.read(min(2, size))
        self._left -= len(first)
        self._inflate = zlib.decompressobj(wbits=31) if first == b"\x1f\x8b" else None
        self._packed = first
        self._ready = bytearray()
        self.position = 0

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer at the end."""
        while len(self._ready) < size and self._more(size - len(self._ready)):
            pass
        data = bytes(self._ready[:size])
        del self._ready[:size]
        self.position += len(data)
        if self.position > self._limit:
            raise CaptureError(
                f"{self._path}: inflates to more than {self._limit} bytes from "
                f"{self._path.stat().st_size}: refused",
                section="data",
            )
        return data

    def skip(self, size: int) -> bool:
        """Pass over ``size`` bytes; whether they were there."""
        while size:
            part = len(self.read(min(size, _CHUNK)))
            if not part:
                return False
            size -= part
        return True

    def _more(self, wanted: int) -> bool:
        if not self._packed and self._left:
            self._packed = self._file.read(min(_CHUNK, self._left))
            self._left -= len(self._packed)
        if self._inflate is None:
            self._ready += self._packed
            more, self._packed = bool(self._packed), b""
            return more
        if self._inflate.eof:  # what follows the gzip stream is padding
            return False
        try:
            data = self._inflate.decompress(self._packed, max(wanted, _BLOCK))
        except zlib.error as error:
            raise CaptureError(f"{self._path}: damaged gzip: {error}", section="data") from error
        self._packed = self._inflate.unconsumed_tail
        self._ready += data
        if not data and not self._packed and not self._left and not self._inflate.eof:
            raise CaptureError(f"{self._path}: the gzip stream is cut short", section="data")
        return bool(data) or not self._inflate.eof


def _members(source: _Source, path: Path) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    kept = count = 0
    long_name = ""
    while True:
        at = source.position
        block = source.read(_BLOCK)
        if len(block) < _BLOCK or not any(block):
            if not seen:
                raise CaptureError(f"{path}: an archive without files", offset=at, section="tar")
            return
        count += 1
        if count > MAX_MEMBERS:
            raise CaptureError(f"{path}: more than {MAX_MEMBERS} members", section="tar")
        name, size, kind = _tar_header(block, path, at)
        padded = -(-size // _BLOCK) * _BLOCK
        if kind == b"L" and size < _CHUNK:  # GNU: the name of the next member
            long_name = _text(source.read(padded))
            continue
        name, long_name = long_name or name, ""
        wanted = kind in _REGULAR and name not in seen and not name.endswith(_NOT_NEEDED)
        if not wanted:
            if not source.skip(padded):
                raise CaptureError(f"{path}: {name!r} is cut short", offset=at, section="tar")
            continue
        _check_name(name, path, at)
        kept += size
        if size > MAX_MEMBER_BYTES or kept > MAX_KEPT_BYTES:
            raise CaptureError(
                f"{path}: {name!r} of {size} bytes exceeds the limit of {MAX_MEMBER_BYTES} a "
                f"member and {MAX_KEPT_BYTES} in all",
                offset=at,
                section="tar",
            )
        data = source.read(padded)
        if len(data) < size:
            raise CaptureError(f"{path}: {name!r} is cut short", offset=at, section="tar")
        seen.add(name)
        yield name, data[:size]


def _tar_header(block: bytes, path: Path, at: int) -> tuple[str, int, bytes]:
    try:
        size = _number(block[124:136])
        stored = _number(block[148:156])
    except ValueError:
        stored, size = -1, 0
    total = sum(block) - sum(block[148:156]) + 8 * ord(" ")
    if total != stored:
        raise CaptureError(f"{path}: a damaged tar header", offset=at, section="tar")
    name = _text(block[:100])
    if block[257:262] == b"ustar" and (prefix := _text(block[345:500])):
        name = f"{prefix}/{name}"
    return name.removeprefix("./"), size, block[156:157]


def _number(field: bytes) -> int:
    if field[0] & 0x80:  # GNU: binary, for sizes that octal cannot hold
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    return int(field.strip(b" \0") or b"0", 8)


def _check_name(name: str, path: Path, at: int) -> None:
    parts = name.split("/")
    if not name or name.startswith("/") or "\\" in name or ".." in parts or ":" in parts[0]:
        raise CaptureError(f"{path}: refused member name {name!r}", offset=at, section="tar")


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")
