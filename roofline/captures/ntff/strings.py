"""Dictionary-encoded Arrow columns from small codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["categories", "optional"]


def categories(codes: npt.NDArray[Any], values: Sequence[str]) -> pa.DictionaryArray:
    """Return ``values[code]`` for each code as a dictionary array; a negative code is null.

    Values that no row uses are dropped, equal values become one.
    """
    import pyarrow as pa

    absent = codes < 0
    any_absent = bool(absent.any())
    if any_absent:
        codes = np.where(absent, 0, codes)
    seen = np.zeros(int(codes.max(initial=0)) + 1, dtype=bool)
    seen[codes if not any_absent else codes[~absent]] = True
    used = np.flatnonzero(seen)
    texts = [values[int(code)] for code in used]
    unique = list(dict.fromkeys(texts))
    place = {text: index for index, text in enumerate(unique)}
    kind = np.int8 if len(unique) < 127 else np.int16 if len(unique) < 32767 else np.int32
    new = np.zeros(len(seen), dtype=kind)
    if len(used):
        new[used] = [place[text] for text in texts]
    indices = pa.array(new[codes], mask=absent if any_absent else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array(unique, pa.string()))


def optional(values: npt.NDArray[Any], known: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return an Arrow array that is null where a value is not ``known`` (default: negative)."""
    import pyarrow as pa

    absent = values < 0 if known is None else ~known
    return pa.array(values, mask=absent if absent.any() else None)
