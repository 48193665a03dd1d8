"""Count whatever torch runs inside a ``with`` block. Importing this module imports torch."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from roofline.work.kernels import ACTIVE
from roofline.work.recorder import Recorder, is_composite, operator_name
from roofline.work.registry import op_key, user_registered
from roofline.work.trace import unread
from roofline.work.work import Work

__all__ = ["WHOLE", "Counter", "in_backward", "run_recorded", "taken_apart"]

WHOLE: Final = frozenset({"rms_norm", "scaled_dot_product_attention"})
"""Composite operators that a Neuron backend runs as one; torch would show their parts.

``torch.ops.aten`` operators of these names, and composite operators with a formula that a user
registered, are kept whole as well.
"""

_FUNCTIONS: Final[dict[Any, str]] = {
    torch.nn.functional.scaled_dot_product_attention: "scaled_dot_product_attention",
    torch.rms_norm: "rms_norm",
    torch.nn.functional.rms_norm: "rms_norm",
}


def _keeps(name: str) -> bool:
    return op_key(name) in WHOLE or user_registered(name)


def _run_whole(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """Run a composite operator; attention as its fused form, whose gradient is whole as well."""
    if op_key(name) == "scaled_dot_product_attention":
        query, key, value, *rest = args if len(args) > 2 else (None,) * 3
        mask = rest[0] if rest else kwargs.get("attn_mask")
        dropout = rest[1] if len(rest) > 1 else kwargs.get("dropout_p", 0.0)
        if (
            query is not None
            and key is not None
            and value is not None
            and query.device.type == "meta"
            and query.ndim == 4
            and query.shape[:2] == key.shape[:2] == value.shape[:2]
            and query.shape[-1] == key.shape[-1] == value.shape[-1]
            and mask is None
            and not dropout
        ):
            causal = rest[2] if len(rest) > 2 else kwargs.get("is_causal", False)
            return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                query, key, value, 0.0, causal, scale=kwargs.get("scale")
            )[0]
    return func(*args, **kwargs)


class _Functions(TorchFunctionMode):
    """Sees composite operators before dispatch takes them apart."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = _FUNCTIONS.get(func)
        if name is None and isinstance(func, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            name = operator_name(func) if _keeps(operator_name(func)) else None
        if name is None or self.recorder.paused:
            return func(*args, **(kwargs or {}))
        with self.recorder.pause():
            out = _run_whole(name, func, args, kwargs or {})
        self.recorder.record(name, args, kwargs or {}, out)
        return out


class _Dispatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operator that is dispatched, in the forward and the backward pass."""

    supports_higher_order_operators = True

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorder = recorder
        self._composite: dict[Any, bool] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        recorder = self.recorder
        if recorder.paused:
            out = func(*args, **kwargs)
            if torch.is_grad_enabled():  # what is kept for the gradient is made inside
                recorder.hide(out)
            return out
        composite = self._composite.get(func)
        if composite is None:
            composite = self._composite[func] = taken_apart(func)
        if composite:  # inference mode hands these over undecomposed
            with self:
                out = func.decompose(*args, **kwargs)
            if out is not NotImplemented:
                return out
        out = func(*args, **kwargs)
        if in_backward():
            outer, recorder.module = recorder.module, "backward"
            recorder.record(func, args, kwargs, out)
            recorder.module = outer
        else:
            recorder.record(func, args, kwargs, out)
        return out


def taken_apart(func: Any) -> bool:
    """Return whether an operator counts as its parts: it is composite and not kept whole."""
    return is_composite(func) and not _keeps(operator_name(func))


def run_recorded(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    """Run an operator, record the operators it is made of, and return what it returns."""
    with _Dispatch(recorder):
        return func(*args, **kwargs)


_graph_task: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: -1)


def in_backward() -> bool:
    """Return whether the autograd engine is running."""
    return _graph_task() != -1


class Counter:
    """Counts whatever runs inside ``with Counter() as counter:``; ``counter.work()`` afterwards.

    ``root`` gives modules their qualified names; without it they go by class names. Values that
    no operator read again count as results. Raises ``MissingFormulaError`` inside the block for
    an operator without a formula when ``strict``.
    """

    def __init__(self, *, strict: bool = False, root: torch.nn.Module | None = None) -> None:
        self.recorder = Recorder(strict=strict)
        self._names = {} if root is None else {id(m): n for n, m in root.named_modules()}
        self._stack: list[str] = []
        self._hooks: list[Any] = []
        self._modes: list[Any] = []
        self._results: set[int] | None = None

    def __enter__(self) -> Counter:
        self._hooks = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        self._attention = torch.nn.functional.scaled_dot_product_attention
        torch.nn.functional.scaled_dot_product_attention = self._whole_attention
        self._modes = [_Functions(self.recorder), _Dispatch(self.recorder)]
        for mode in self._modes:
            mode.__enter__()
        ACTIVE.append(self.recorder)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        ACTIVE.remove(self.recorder)
        torch.nn.functional.scaled_dot_product_attention = self._attention
        for mode in reversed(self._modes):
            mode.__exit__(kind, error, trace)
        for hook in self._hooks:
            hook.remove()

    def _whole_attention(self, *args: Any, **kwargs: Any) -> Any:
        # torch calls no function mode inside its own functions (multi_head_attention_forward)
        if self.recorder.paused:
            return self._attention(*args, **kwargs)
        name = "scaled_dot_product_attention"
        with self.recorder.pause():
            out = _run_whole(name, self._attention, args, kwargs)
        self.recorder.record(name, args, kwargs, out)
        return out

    def _enter_module(self, module: torch.nn.Module, _: Any) -> None:
        name = self._names.get(id(module))
        if name is None:
            name = ".".join(filter(None, (self.recorder.module, type(module).__name__)))
        self._stack.append(self.recorder.module)
        self.recorder.module = name

    def _leave_module(self, *_: Any) -> None:
        if self._stack:
            self.recorder.module = self._stack.pop()

    def returned(self, out: Any) -> None:
        """Say what the computation handed back; otherwise what was not read again is a result."""
        self._results = self.recorder.values_in(out)

    def work(self, name: str = "block", mode: str = "eager") -> Work:
        """Return the ``Work`` of what ran, each operator through HBM or as one fused region."""
        results = self._results
        if results is None:
            results = unread(self.recorder.trace.steps)
        return self.recorder.trace.work(name, mode, results=results)
