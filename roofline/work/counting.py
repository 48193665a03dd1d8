"""``count``: the work of a torch function in each way of running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roofline.errors import OptionalDependencyError, WorkError
from roofline.work.formulas.attention import causal_convention
from roofline.work.work import MODES, Work

__all__ = ["count"]


def count(
    fn: Callable[..., Any],
    *inputs: Any,
    mode: str = "eager",
    strict: bool = False,
    causal: str = "full",
    name: str = "",
    **keywords: Any,
) -> Work:
    """Return the ``Work`` of ``fn(*inputs, **keywords)``, a function or module of torch.

    Inputs may be tensors (on ``meta``: no data and no memory), ``TensorSpec`` s (made into meta
    tensors) or anything else the function takes. A module whose parameters are elsewhere is run
    on meta copies of them when the inputs are on ``meta``.

    ``mode``: ``eager`` counts each dispatched operator through HBM; ``fused`` the same operators
    as one region; ``compiled`` the graphs that ``torch.compile`` hands to a backend, with their
    fusion regions (``dispatched_bytes`` is then the upper and ``minimal_bytes`` the lower bound);
    ``export`` the graph of ``torch.export``. Raises ``WorkError`` if the function cannot be run
    or captured, and ``MissingFormulaError`` with ``strict``. ``causal`` is ``full`` or ``half``.
    """
    if mode not in MODES:
        raise WorkError(f"unknown mode {mode!r}; known: {', '.join(MODES)}")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise OptionalDependencyError(
            'counting a function needs torch: pip install "roofline[torch]"'
        ) from error
    fn = getattr(fn, "_orig_mod", fn)  # a module that torch.compile has wrapped
    title = name or getattr(fn, "__name__", type(fn).__name__)
    with causal_convention(causal):
        if mode in ("compiled", "export"):
            from roofline.work.graphs import count_graphs

            return count_graphs(fn, inputs, keywords, mode=mode, strict=strict, name=title)
        return _count_run(fn, inputs, keywords, mode=mode, strict=strict, name=title)


def _count_run(
    fn: Callable[..., Any],
    inputs: tuple[Any, ...],
    keywords: dict[str, Any],
    *,
    mode: str,
    strict: bool,
    name: str,
) -> Work:
    import torch

    from roofline.work.counter import Counter
    from roofline.work.stand_in import on_meta

    root = fn if isinstance(fn, torch.nn.Module) else None
    counter = Counter(strict=strict, root=root)
    with on_meta(fn, inputs, keywords) as (args, named), counter:
        out = fn(*args, **named)
    counter.returned(out)
    return counter.work(name, mode)
