"""Turn physical tables of the Explorer (Parquet or CSV) into tables with our names and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from roofline.captures.distinct import known_engine, known_updater, map_distinct, memory_of
from roofline.captures.explorer.schema import TIMES
from roofline.captures.operand_text import FACTS, operand_columns
from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Layout", "logical_names", "normalise", "physical_names"]

_TO_NS: Final = {
    "nanoseconds": (1, 1),
    "ns": (1, 1),
    "microseconds": (1000, 1),
    "us": (1000, 1),
    "milliseconds": (1_000_000, 1),
    "ms": (1_000_000, 1),
    "seconds": (1_000_000_000, 1),
    "picoseconds": (1, 1000),
    "ps": (1, 1000),
}
"""Unit -> factor and divisor that make it nanoseconds."""

_SUM: Final = {"end_ts": ("start_ts", "duration_ns")}
_DIFFERENCE: Final = {"duration_ns": ("end_ts", "start_ts")}
_NAMED: Final = {"engine": known_engine, "update_source": known_updater}
_TOLD: Final = dict.fromkeys(FACTS, ("opcode", "operands", "bir_id"))
_PLACES: Final = {"source_memory": "source", "dest_memory": "dest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The columns a physical table has, and the units its own schema gives them."""

    names: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def find(self, name: str) -> str | None:
        """Return the physical column of a logical one: by name, by alias, whatever its case."""
        lower = {held.lower(): held for held in reversed(self.names)}
        for candidate in (name, *self.aliases.get(name, ())):
            if candidate.lower() in lower:
                return lower[candidate.lower()]
        return None


def logical_names(layout: Layout) -> tuple[str, ...]:
    """Return every column the table can give; columns that are not known keep their names."""
    claimed = {layout.find(name): name for name in layout.aliases}
    names = dict.fromkeys(claimed.get(held, held) for held in layout.names)
    for derived, parts in (*_SUM.items(), *_DIFFERENCE.items()):
        if derived not in names and all(part in names for part in parts):
            names[derived] = None
    for derived, place in _PLACES.items():
        if derived not in names and place in names:
            names[derived] = None
    if {"opcode", "operands"} <= set(names):
        names.update(dict.fromkeys(FACTS))
    return tuple(names)


def physical_names(layout: Layout, wanted: Sequence[str]) -> list[str]:
    """Return the physical columns that are needed for the wanted logical ones."""
    needed: dict[str, None] = {}
    for name in wanted:
        held = layout.find(name)
        if held is not None:
            needed[held] = None
            continue
        parts = _SUM.get(name) or _DIFFERENCE.get(name) or _TOLD.get(name) or ()
        for part in (*parts, *((_PLACES[name],) if name in _PLACES else ())):
            if (physical := layout.find(part)) is not None:
                needed[physical] = None
    return list(needed)


def normalise(table: pa.Table, layout: Layout, wanted: Sequence[str], where: str) -> pa.Table:
    """Return the wanted columns, as far as they can be had, with our names and types.

    Times become int64 ns, whole numbers int64, text dictionary-encoded, engines canonical keys.
    Raises ``CaptureError`` for a column of times, engines or bytes that is of another kind.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    raw: dict[str, pa.ChunkedArray] = {name: table[name] for name in table.column_names}
    held: dict[str, pa.ChunkedArray] = {}
    facts: dict[str, pa.Array] = {}

    def stored(name: str) -> pa.ChunkedArray | None:
        return column(name) if layout.find(name) is not None else None

    def column(name: str) -> pa.ChunkedArray | None:
        if name in held:
            return held[name]
        physical = layout.find(name)
        if physical is not None and physical in raw:
            try:
                held[name] = _typed(raw[physical], name, layout.units.get(physical, ""))
            except (pa.ArrowException, ValueError, TypeError) as error:
                what = " ".join(str(error).split())
                raise CaptureError(f"{where}: column {physical!r}: {what}") from error
            return held[name]
        for parts, operation in ((_SUM, pc.add_checked), (_DIFFERENCE, pc.subtract_checked)):
            if name in parts:
                first, second = (stored(part) for part in parts[name])
                if first is not None and second is not None:
                    return operation(first, second)
        if name in _PLACES and (places := column(_PLACES[name])) is not None:
            return pa.chunked_array([map_distinct(places, memory_of, "string")])
        if name in FACTS and not facts:
            opcode, operands, compiled = (stored(part) for part in _TOLD[name])
            if opcode is not None and operands is not None:
                facts.update(operand_columns(opcode, operands, compiled))
        return pa.chunked_array([facts[name]]) if name in facts else None

    columns = {name: array for name in wanted if (array := column(name)) is not None}
    # the two functions hold each other, and with them all columns until the collector comes by
    for kept in (raw, held, facts):
        kept.clear()
    return pa.table(columns)


def _typed(column: pa.ChunkedArray, name: str, unit: str) -> pa.ChunkedArray:
    import pyarrow as pa

    types = pa.types
    kind = column.type
    text = types.is_string(kind) or types.is_large_string(kind)
    if name in TIMES:
        return _nanoseconds(_whole(column), unit)
    if name in _NAMED:
        return pa.chunked_array([map_distinct(column, _NAMED[name], "string")])
    if types.is_dictionary(kind) or text:
        if name.endswith(_NUMBERS):
            return _whole(column)
        return column if types.is_dictionary(kind) else column.dictionary_encode()
    if types.is_integer(kind):
        return _whole(column)
    if types.is_floating(kind) and name.endswith(_NUMBERS):
        return _whole(column)
    return column


_NUMBERS: Final = ("_bytes", "_idx", "_ps", "_ns", "_flops", "crc", "pc")


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return int64; NaN is null, and a fraction is an error, not something to round."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type == pa.int64():
        return column
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_finite(column), column, None)
    return column.cast(pa.int64(), safe=True)


def _nanoseconds(column: pa.ChunkedArray, unit: str) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    if not unit:
        return column
    if unit.lower() not in _TO_NS:
        raise ValueError(f"unit {unit!r} is not a unit of time")
    factor, divisor = _TO_NS[unit.lower()]
    if factor != 1:
        column = pc.multiply_checked(column, factor)
    return pc.divide(column, divisor) if divisor != 1 else column
