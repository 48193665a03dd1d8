"""The engines of a NeuronCore, and the one table of the names others give them."""

from __future__ import annotations

from typing import Final

from roofline.errors import RooflineError

__all__ = [
    "COMPUTE_ENGINES",
    "ELEMENT_ENGINES",
    "ENGINES",
    "VENDOR_NAMES",
    "engine_key",
    "resource_title",
]

ENGINES: Final = ("tensor", "vector", "scalar", "gpsimd", "sync")
"""Canonical keys, in the order tables and figures show them. DMA is not an engine: key ``dma``."""

COMPUTE_ENGINES: Final = ("tensor", "vector", "scalar", "gpsimd")
"""Engines with a data path; Sync only issues semaphores and DMA."""

ELEMENT_ENGINES: Final = ("vector", "scalar", "gpsimd")
"""Engines whose work is counted in element-passes."""

VENDOR_NAMES: Final = {
    "tensor": "Tensor",
    "vector": "Vector",
    "scalar": "Scalar",
    "gpsimd": "GpSimd",
    "sync": "Sync",
    "dma": "DMA",
}
"""Spelling used in files that are written for the vendor's users."""

_ALIASES: Final = {
    "pe": "tensor",
    "tensormatrix": "tensor",
    "tensorengine": "tensor",
    "dve": "vector",
    "vectorengine": "vector",
    "act": "scalar",
    "activation": "scalar",
    "scalarengine": "scalar",
    "pool": "gpsimd",
    "gpsimdengine": "gpsimd",
    "sp": "sync",
    "syncengine": "sync",
    **{key: key for key in (*ENGINES, "dma")},
}


def resource_title(key: str) -> str:
    """Return an engine or memory as prose spells it.

    >>> resource_title("gpsimd"), resource_title("hbm")
    ('GpSimd', 'HBM')
    """
    return VENDOR_NAMES.get(key, key.upper())


def engine_key(name: str) -> str:
    """Return the canonical key of an engine name in any known spelling.

    Raises ``RooflineError`` for an unknown name, listing the known ones.

    >>> engine_key("DVE"), engine_key("Tensor_Engine"), engine_key("Pool")
    ('vector', 'tensor', 'gpsimd')
    """
    key = _ALIASES.get(name.strip().lower().replace("_", "").replace("-", "").replace(" ", ""))
    if key is None:
        known = ", ".join((*ENGINES, "dma"))
        raise RooflineError(f"unknown engine {name!r}; known: {known} (and PE, DVE, ACT, POOL, SP)")
    return key
