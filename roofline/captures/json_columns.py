"""Collect fields of JSON records as Arrow columns, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KINDS", "FieldSink"]

KINDS: Final = {"int": int, "str": str, "float": float, "raw": msgspec.Raw}
"""How a field is decoded: integer, text, number, or the undecoded JSON text of the value."""


class FieldSink:
    """Gathers the wanted fields of one array of records.

    A field that a record lacks, or that is ``null``, is null in its column; a field that no
    record has gives no column. Integers and booleans written as text are accepted.
    """

    def __init__(self, path: Path, section: str, fields: Mapping[str, str]) -> None:
        self.path, self.section, self.fields = path, section, dict(fields)
        self.rows = 0
        self._chunks: dict[str, list[pa.Array]] = {name: [] for name in self.fields}
        self._getters = {name: attrgetter(name) for name in self.fields}
        self._strict = self._decoder({name: KINDS[kind] for name, kind in self.fields.items()})
        self._loose = self._decoder(dict.fromkeys(self.fields, Any))
        self._is_loose = False

    @staticmethod
    def _decoder(fields: Mapping[str, Any]) -> msgspec.json.Decoder[list[Any]]:
        members = [
            (name, kind | None if kind is not Any else Any, None) for name, kind in fields.items()
        ]
        return msgspec.json.Decoder(list[msgspec.defstruct("Record", members, gc=False)])  # type: ignore[misc]

    def decode(self, block: bytes) -> list[Any]:
        """Decode a block; where a value has an unexpected type, decode it without types."""
        self._is_loose = False
        try:
            return self._strict.decode(block)
        except msgspec.ValidationError:
            self._is_loose = True
            return self._loose.decode(block)

    def add(self, rows: list[Any]) -> None:
        """Append one chunk a field."""
        import numpy as np
        import pyarrow as pa

        count = len(rows)
        for name, kind in self.fields.items():
            values: Iterable[Any] = map(self._getters[name], rows)
            if self._is_loose:
                values = (self._coerce(name, kind, value) for value in values)
            chunk: pa.Array
            try:
                if kind == "int":
                    whole = list(values)
                    try:
                        chunk = pa.array(np.fromiter(whole, np.int64, count))
                    except TypeError:  # nulls among the values
                        chunk = pa.array(whole, pa.int64())
                elif kind == "float":
                    chunk = pa.array(list(values), pa.float64())
                elif kind == "raw":
                    texts = [None if value is None else str(value, "utf-8") for value in values]
                    chunk = pa.array(texts, pa.string()).dictionary_encode()
                else:
                    chunk = pa.array(list(values), pa.string()).dictionary_encode()
            except (OverflowError, pa.ArrowInvalid, UnicodeError) as error:
                raise CaptureError(
                    f"{self.path}: field {name!r}: a value does not fit {kind}: {error}",
                    section=self.section,
                ) from error
            self._chunks[name].append(chunk)
        self.rows += count

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

        result: dict[str, pa.Array] = {}
        for name, chunks in self._chunks.items():
            column = pa.chunked_array(chunks) if chunks else None
            if column is None:
                empty = pa.int64() if self.fields[name] == "int" else pa.string()
                result[name] = pa.array([], empty)
            elif column.null_count < self.rows or not self.rows:
                result[name] = column.unify_dictionaries().combine_chunks()
        return result
