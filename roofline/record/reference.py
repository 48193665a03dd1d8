"""Compare what a variant computes with its reference, before anything is timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from roofline.dtypes import dtype_of
from roofline.errors import StudyError
from roofline.record.manifest import ReferenceCheck

__all__ = ["TOLERANCES", "check_reference", "compared"]

TOLERANCES: Final = {32: 1e-4, 16: 2e-2, 8: 2.5e-1}
"""Relative error allowed, by bits of an element: bf16 keeps 8 bits, and the tables behind the
Scalar engine's functions are approximations of their own."""


def check_reference(
    call: Callable[[], Any],
    reference: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    name: str,
    dtype: str,
    tolerance: float | None = None,
) -> ReferenceCheck:
    """Return how far the result of ``call`` is from ``reference`` of the same inputs.

    ``inputs`` are tensors on the CPU; the reference runs there in double precision, so that it
    adds no program to the device.
    """
    import torch

    exact = [
        value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for value in inputs
    ]
    found, expected = _arrays(call()), _arrays(reference(*exact))
    if [one.shape for one in found] != [one.shape for one in expected]:
        shapes = ", ".join(f"{a.shape}" for a in found) or "nothing"
        wanted = ", ".join(f"{a.shape}" for a in expected) or "nothing"
        raise StudyError(f"{name}: the variant returns {shapes}, its reference {wanted}")
    allowed = tolerance if tolerance is not None else _tolerance(dtype)
    return compared(found, expected, name=name, tolerance=allowed)


def compared(
    found: Sequence[Any], expected: Sequence[Any], *, name: str, tolerance: float
) -> ReferenceCheck:
    """Return the largest errors of arrays of float64 against the expected ones.

    The relative error is that over the expected value, or over its root mean square where that is
    larger: results near zero that come from cancellation have no digits of their own.
    """
    absolute = relative = 0.0
    for one, exact in zip(found, expected, strict=True):
        if not exact.size:
            continue
        with np.errstate(invalid="ignore"):  # what is no number is told apart below
            same = (one == exact) | (np.isnan(one) & np.isnan(exact))
            error = np.where(same, 0.0, abs(one - exact))
            finite = exact[np.isfinite(exact)]
            scale = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
            over = np.maximum(abs(exact), scale)
            ratio = np.where(same, 0.0, np.inf)
            np.divide(error, over, out=ratio, where=(over > 0) & ~same)
        absolute = max(absolute, _largest(error))
        relative = max(relative, _largest(ratio))
    return ReferenceCheck(
        callable=name,
        max_abs_error=absolute,
        max_rel_error=relative,
        tolerance=tolerance,
        passed=relative <= tolerance,
    )


def _largest(values: Any) -> float:
    """Return the largest value; one that is no number counts as infinite."""
    return float(np.max(np.where(np.isnan(values), np.inf, values)))


def _tolerance(dtype: str) -> float:
    bits = dtype_of(dtype).bits
    return next((TOLERANCES[one] for one in sorted(TOLERANCES) if bits <= one), TOLERANCES[32])


def _arrays(result: Any) -> list[Any]:
    values = result if isinstance(result, tuple | list) else [result]
    return [value.detach().to("cpu").double().numpy() for value in values]
