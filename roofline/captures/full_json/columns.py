"""Collect fields of JSON records as Arrow columns, block by block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KINDS", "FieldSink"]

_NO_VALUE: Final = msgspec.Raw()

KINDS: Final = {"int": int, "str": str, "float": float, "raw": msgspec.Raw}
"""How a field is decoded: integer, text, number, or the undecoded JSON text of the value."""


_UNKNOWN: Final = re.compile(r"unknown field `(.*?)`(?: - at|$)")
_FEW: Final = 8
_MOST_FIELDS: Final = 200


class FieldSink:
    """Gathers the wanted fields of one array of records.

    A field that a record lacks, or that is ``null``, is null in its column; a field that no
    record has gives no column. Integers and booleans written as text are accepted.

    Every declared field costs time in every record, there or not. When many are wanted, decoding
    therefore begins with none: a record with a field that is not declared yet stops the decoder,
    the field is declared, and the block is decoded again, once for each field of the file.
    """

    def __init__(self, path: Path, section: str, fields: Mapping[str, str]) -> None:
        self.path, self.section, self.fields = path, section, dict(fields)
        self.rows = 0
        self._chunks: dict[str, list[pa.Array]] = {}
        self._learns = len(self.fields) > _FEW
        self._declared: dict[str, str] = {} if self._learns else dict(self.fields)
        self._strict = self._decoder()
        self._is_loose = False

    def _decoder(self) -> msgspec.json.Decoder[list[Any]]:
        names = {f"f{number}": name for number, name in enumerate(self._declared)}
        record = msgspec.defstruct(
            "Record",
            [
                (key, msgspec.Raw, _NO_VALUE)
                if self._declared[name] in ("raw", "skip")
                else (key, KINDS[self._declared[name]] | None, None)
                for key, name in names.items()
            ],
            rename=names,
            gc=False,
            forbid_unknown_fields=self._learns,
        )
        self._getters = {
            name: attrgetter(key) for key, name in names.items() if name in self.fields
        }
        return msgspec.json.Decoder(list[record])  # type: ignore[valid-type]

    def decode(self, block: memoryview) -> list[Any]:
        """Decode a block; where a value has an unexpected type, decode it without types."""
        self._is_loose = False
        while True:
            try:
                return self._strict.decode(block)
            except msgspec.ValidationError as error:
                unknown = _UNKNOWN.search(str(error))
                if unknown is None or unknown[1] in self._declared:
                    self._is_loose = True
                    return _LOOSE.decode(block)
                self._declared[unknown[1]] = self.fields.get(unknown[1], "skip")
                if len(self._declared) > _MOST_FIELDS:  # names are data here: stop learning
                    self._learns, self._declared = False, dict(self.fields)
                self._strict = self._decoder()

    def add(self, rows: list[Any]) -> None:
        """Append one chunk a field."""
        import pyarrow as pa

        names = list(self.fields) if self._is_loose else list(self._getters)
        for name in names if rows else ():
            kind = self.fields[name]
            values = (
                [self._coerce(name, kind, row.get(name)) for row in rows]
                if self._is_loose
                else map(self._getters[name], rows)
            )
            try:
                chunk = _CHUNKS[kind](values, len(rows))
            except (OverflowError, pa.ArrowInvalid, UnicodeError) as error:
                raise CaptureError(
                    f"{self.path}: field {name!r}: a value does not fit {kind}: {error}",
                    section=self.section,
                ) from error
            self._pad(name, chunk.type).append(chunk)
        self.rows += len(rows)

    def _pad(self, name: str, kind: pa.DataType) -> list[pa.Array]:
        """Return the chunks of a field, with nulls for the blocks that did not have it."""
        import pyarrow as pa

        chunks = self._chunks.setdefault(name, [])
        lacking = self.rows - sum(map(len, chunks))
        if lacking:
            chunks.append(pa.nulls(lacking, kind))
        return chunks

    def _coerce(self, name: str, kind: str, value: Any) -> Any:
        if value is None:
            return None
        if kind == "str":
            return value if isinstance(value, str) else msgspec.json.encode(value).decode()
        if kind == "raw":
            return msgspec.json.encode(value)
        try:
            if kind == "float":
                return float(value)
            number = int(value)
            if isinstance(value, float) and number != value:
                raise ValueError(value)  # noqa: TRY301 - reported below with its place
        except (TypeError, ValueError, OverflowError) as error:
            raise CaptureError(
                f"{self.path}: field {name!r} is not a {kind}: {str(value)[:60]!r}",
                section=self.section,
            ) from error
        return number

    def columns(self) -> dict[str, pa.Array]:
        """Return every field that some record has, as one array each."""
        import pyarrow as pa

        if not self.rows:
            text = pa.dictionary(pa.int32(), pa.string())
            types = {"int": pa.int64(), "float": pa.float64()}
            return {name: pa.array([], types.get(kind, text)) for name, kind in self.fields.items()}
        result: dict[str, pa.Array] = {}
        for name, chunks in self._chunks.items():
            column = pa.chunked_array(self._pad(name, chunks[0].type))
            if column.null_count < self.rows:
                result[name] = column.unify_dictionaries().combine_chunks()
        return result


def _integers(values: Iterable[Any], count: int) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    whole = list(values)
    try:
        return pa.array(np.fromiter(whole, np.int64, count))
    except TypeError:  # nulls among the values
        return pa.array(whole, "int64")


def _floats(values: Iterable[Any], count: int) -> pa.Array:  # noqa: ARG001
    import pyarrow as pa

    return pa.array(list(values), "float64")


def _texts(values: Iterable[Any], count: int) -> pa.Array:  # noqa: ARG001
    import pyarrow as pa

    return pa.array(list(values), "string").dictionary_encode()


def _json_texts(values: Iterable[Any], count: int) -> pa.Array:
    return _texts(
        [None if value is None else str(value, "utf-8") or None for value in values], count
    )


_CHUNKS: Final[Mapping[str, Callable[[Iterable[Any], int], Any]]] = {
    "int": _integers,
    "float": _floats,
    "str": _texts,
    "raw": _json_texts,
}
_LOOSE: Final = msgspec.json.Decoder(list[dict[str, Any]])
