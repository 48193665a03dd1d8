"""Functions that count as one operator: NKI kernels, fused helpers, anything with a formula."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from roofline.work.registry import Formula, register

__all__ = ["ACTIVE", "counted"]

ACTIVE: Final[list[Any]] = []
"""Recorders of the blocks that are being counted, outermost first."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def counted(
    name: str,
    formula: Formula | None = None,
    *,
    result: Callable[..., Any] | None = None,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make a function one operator ``name`` wherever torch functions are counted.

    ``formula`` is registered under the name (leave it out where the name has one already).
    ``result`` takes the same arguments and returns tensors like those of the function; it runs in
    its place while counting, because a kernel for the device cannot run on tensors without data.
    Outside counting the function is called as it is.

        @counted("nki::rmsnorm", lambda call: find_formula("rms_norm")(call),
                 result=lambda x, w: torch.empty_like(x))
        def rmsnorm(x, w): ...
    """
    if formula is not None:
        register(name, formula)

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            recorders = [recorder for recorder in ACTIVE if not recorder.paused]
            if not recorders:
                return function(*args, **kwargs)
            for recorder in recorders:
                recorder.paused += 1
            try:
                out: _R = (result or function)(*args, **kwargs)
            finally:
                for recorder in recorders:
                    recorder.paused -= 1
            for recorder in recorders:
                recorder.record(name, args, kwargs, out)
            return out

        return wrapper

    return decorate
