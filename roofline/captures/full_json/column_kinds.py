"""How one column of a table is made from fields of the vendor's full-profile JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofline.captures.distinct import map_distinct, memory_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Arrays",
    "Column",
    "Context",
    "EventTable",
    "as_is",
    "core_number",
    "end_time",
    "flag",
    "int_texts",
    "ints",
    "mapped",
    "memory_kind",
    "texts",
]

Arrays = Mapping[str, "pa.Array"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a column needs to know about the rest of the file."""

    cores: int | None
    """Physical cores of the logical core; ``None`` when the file does not say."""
    vendor: bool = False
    """Whether columns follow the vendor's rules where they differ from the truth."""
    bf16_cost: Mapping[str, float] = field(default_factory=dict)
    """What a multiply-accumulate of an element type costs on this chip, against bf16."""
    queues: Mapping[int, str] = field(default_factory=dict)
    """Name of the DMA queue with a number (core * 1000 + index), where only one has it."""
    memo: dict[str, Arrays] = field(default_factory=dict)
    """Columns that are made together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column, the fields it is made of (the first is required), and how."""

    name: str
    fields: Mapping[str, str]
    build: Callable[[Arrays, Context], pa.Array | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTable:
    """One table: its section in the file, its columns, and which rows belong to it.

    ``keep`` names a text field and the value that rows must (or must not) have.
    """

    section: str
    columns: tuple[Column, ...]
    keep: tuple[str, str, bool] | None = None


def as_is(name: str, field: str, kind: str) -> Column:
    """Return a column that is one field, of a kind ``int``, ``float``, ``str`` or ``raw``."""
    return Column(name=name, fields={field: kind}, build=lambda arrays, _: arrays.get(field))


def ints(*names: str, **renamed: str) -> tuple[Column, ...]:
    """Return columns of int64 fields, by their names or renamed."""
    pairs = {**{name: name for name in names}, **renamed}
    return tuple(as_is(name, field, "int") for name, field in pairs.items())


def int_texts(**renamed: str) -> tuple[Column, ...]:
    """Return int64 columns of fields that this format writes as text."""

    def number(text: str) -> int | None:
        return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None

    return tuple(
        Column(name=name, fields={field: "str"}, build=mapped(field, number, "int64"))
        for name, field in renamed.items()
    )


def texts(*names: str, **renamed: str) -> tuple[Column, ...]:
    """Return text columns; the empty text is how this format writes *none*."""
    pairs = {**{name: name for name in names}, **renamed}
    return tuple(
        Column(name=name, fields={field: "str"}, build=mapped(field, lambda text: text or None))
        for name, field in pairs.items()
    )


def mapped(
    field: str, convert: Callable[[str], Any], kind: str = "string"
) -> Callable[[Arrays, Context], pa.Array | None]:
    """Return how a column is made by converting each distinct text once: events repeat them."""

    def build(arrays: Arrays, _: Context) -> pa.Array | None:
        column = arrays.get(field)
        return None if column is None else map_distinct(column, convert, kind)

    return build


def end_time(start: str, duration: str) -> Column:
    """Return the column ``end_ts`` in ns: start plus duration; a sum that wraps is an error."""

    def build(arrays: Arrays, _: Context) -> pa.Array | None:
        import pyarrow.compute as pc

        if start not in arrays or duration not in arrays:
            return None
        return pc.add_checked(arrays[start], arrays[duration])

    return Column(name="end_ts", fields={start: "int", duration: "int"}, build=build)


def core_number(field: str) -> Column:
    """Return the physical core of a subgraph ``sg01``, a name that files of one core leave out."""

    def number(text: str) -> int | None:
        return int(text[2:]) if re.fullmatch(r"sg\d{1,3}", text) else None

    def build(arrays: Arrays, context: Context) -> pa.Array | None:
        import numpy as np
        import pyarrow as pa

        if field in arrays:
            return map_distinct(arrays[field], number, "int64")
        if context.cores == 1 and arrays:
            return pa.array(np.zeros(len(next(iter(arrays.values()))), np.int64))
        return None

    return Column(name="pcore_idx", fields={field: "str"}, build=build)


def memory_kind(name: str, field: str) -> Column:
    """Return the kind of memory (``hbm``, ``sbuf`` ...) that a list of accesses names."""
    return Column(
        name=name,
        fields={field: "raw"},
        build=mapped(field, lambda text: memory_of(json.loads(text))),
    )


def flag(name: str) -> Column:
    """Return a column of booleans from *yes* and *no*; other words are null."""
    words = {"yes": True, "true": True, "no": False, "false": False}
    return Column(
        name=name, fields={name: "str"}, build=mapped(name, lambda t: words.get(t.lower()), "bool")
    )
