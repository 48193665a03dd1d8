"""Convert text columns by their distinct values: events repeat a few values many times."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from roofline.engines import engine_key
from roofline.errors import RooflineError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["known_engine", "known_updater", "map_distinct", "memory_of"]


def map_distinct(
    column: pa.Array | pa.ChunkedArray, convert: Callable[[Any], Any], kind: str
) -> pa.Array:
    """Return ``convert`` of every value as ``kind``: ``int64``, ``bool`` or ``string``.

    Text comes back dictionary-encoded. ``convert`` sees each distinct value once; null stays null.
    """
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # no chunk at all
            column = column.chunk(0) if column.num_chunks else pa.array([], pa.string())
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values = [convert(value) for value in encoded.dictionary.to_pylist()]
    if kind != "string":
        return pa.array(values, kind).take(encoded.indices)
    distinct = list(dict.fromkeys(value for value in values if value is not None))
    if len(distinct) == len(values):  # other names for the same values: the codes stay
        return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(distinct, pa.string()))
    code = {value: number for number, value in enumerate(distinct)}
    codes = pa.array([None if value is None else code[value] for value in values], pa.int32())
    return pa.DictionaryArray.from_arrays(
        codes.take(encoded.indices), pa.array(distinct, pa.string())
    )


def known_engine(text: str) -> str:
    """Return the canonical key of an engine; one that is not known yet keeps its own name."""
    try:
        return engine_key(text)
    except RooflineError:
        return text


def known_updater(text: str) -> str:
    """Return who updated a semaphore: an engine's key, or ``dma``, which the vendor calls AXI."""
    return "dma" if text.strip().upper() == "AXI" else known_engine(text)


_MEMORY: Final = {"SB": "sbuf", "SBUF": "sbuf", "PSUM": "psum", "PS": "psum"}
_HBM: Final = {"INPUT", "OUTPUT", "WEIGHT", "VIRTUAL", "DRAM", "HBM"}


def memory_of(places: Any) -> str:
    """Return ``hbm``, ``sbuf``, ``psum`` or ``unknown`` for place names, nested lists included.

    Text may be bracketed (``[[SB],[INPUT]]``). The vendor names HBM places by their role: INPUT,
    OUTPUT, WEIGHT, VIRTUAL (spill area). Places in more than one memory are ``unknown``.
    """
    if isinstance(places, list):
        kinds = {memory_of(place) for place in places}
        return kinds.pop() if len(kinds) == 1 else "unknown"
    text = str(places).strip()
    if text.startswith("["):
        return memory_of(re.split(r"[\[\],\s]+", text.strip("[] ")))
    word = text.strip("'\" ").upper()
    return "hbm" if word in _HBM else _MEMORY.get(word, "unknown")
