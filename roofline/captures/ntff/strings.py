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

    used = np.unique(codes)
    used = used[used >= 0]
    texts = [values[int(code)] for code in used]
    unique = list(dict.fromkeys(texts))
    place = {text: index for index, text in enumerate(unique)}
    kind = np.int8 if len(unique) < 127 else np.int16 if len(unique) < 32767 else np.int32
    new = np.zeros(int(used[-1]) + 1 if len(used) else 1, dtype=kind)
    if len(used):
        new[used] = [place[text] for text in texts]
    absent = codes < 0
    if absent.any():
        indices = pa.array(new[np.where(absent, 0, codes)], mask=absent)
    else:
        indices = pa.array(new[codes])
    return pa.DictionaryArray.from_arrays(indices, pa.array(unique, pa.string()))


def optional(values: npt.NDArray[Any], known: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return an Arrow array that is null where a value is not ``known`` (default: negative)."""
    import pyarrow as pa

    absent = values < 0 if known is None else ~known
    return pa.array(values, mask=absent if absent.any() else None)
