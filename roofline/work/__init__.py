"""Work: what a kernel must do, counted from torch or in closed form.

Names are imported on first use; none needs torch before ``count`` runs a function.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_EXPORTS = {
    "Call": "roofline.work.registry",
    "Cost": "roofline.work.registry",
    "OpCount": "roofline.work.work",
    "TensorSpec": "roofline.work.specs",
    "Work": "roofline.work.work",
    "Counter": "roofline.work.counter",
    "broadcast_weights": "roofline.work.choices",
    "closed_form_arrays": "roofline.work.closed_form",
    "count": "roofline.work.counting",
    "counted": "roofline.work.kernels",
    "executed_work": "roofline.work.captured",
    "families": "roofline.work.closed_form",
    "formula_names": "roofline.work.registry",
    "from_cache_key": "roofline.work.signature",
    "from_signature": "roofline.work.signature",
    "from_trace_inputs": "roofline.work.signature",
    "op_key": "roofline.work.registry",
    "parse_spec": "roofline.work.specs",
    "register": "roofline.work.registry",
    "unregister": "roofline.work.registry",
    "with_measured": "roofline.work.captured",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module 'roofline.work' has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
