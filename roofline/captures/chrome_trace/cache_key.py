"""Read shapes and dtypes out of a NEFF cache key.

One key is documented (an operator with two inputs and a scalar part)::

    mse_loss--_[128,1024]:BFloat16:S(C)_[128,1024]:BFloat16:S(C)_i1:<64 hex digits>

so the rest of the grammar is not known: what matches is read, the text is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from roofline.dtypes import dtype_key
from roofline.errors import WorkError

__all__ = ["CacheKey", "parse_cache_key"]

_TENSOR: Final = re.compile(
    r"_\[(?P<dims>[\d,\s]*)\]:(?P<dtype>[A-Za-z0-9]+(?:_[a-z0-9]+)*)(?::S\((?P<storage>[^)]*)\))?"
)
_HASH: Final = re.compile(r":([0-9a-f]{16,})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """What a key says. ``inputs`` holds (shape, dtype); a dtype that is not known is ``""``.

    ``op`` has no namespace (``mul``); ``rest`` is what no rule matched, ``raw`` the whole text.
    """

    op: str
    inputs: tuple[tuple[tuple[int, ...], str], ...]
    digest: str
    rest: str
    raw: str


def parse_cache_key(text: str) -> CacheKey | None:
    """Return the parts of a key, or ``None`` for one that has no operator and no tensor.

    >>> parse_cache_key("mul--_[4,512]:BFloat16:S(C)_[512]:BFloat16:S(C):" + "0" * 64).inputs
    (((4, 512), 'bf16'), ((512,), 'bf16'))
    """
    raw = text
    text = text.strip().strip('"').strip("'")
    op, dashes, rest = text.partition("--")
    if not dashes:
        return None
    digest = ""
    if found := _HASH.search(rest):
        digest, rest = found[1], rest[: found.start()]
    inputs = tuple(
        (
            tuple(int(size) for size in match["dims"].split(",") if size.strip()),
            _dtype(match["dtype"]),
        )
        for match in _TENSOR.finditer(rest)
    )
    return CacheKey(op=op, inputs=inputs, digest=digest, rest=_TENSOR.sub("", rest), raw=raw)


def _dtype(name: str) -> str:
    try:
        return dtype_key(name)
    except WorkError:
        return ""
