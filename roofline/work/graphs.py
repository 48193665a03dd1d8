"""Count graphs captured by ``torch.compile`` and ``torch.export`` on fake CPU tensors.

Fake tensors hold no data; on the CPU device the capture keeps attention and normalisations whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from roofline.dtypes import dtype_key
from roofline.errors import RooflineError, WorkError
from roofline.work.recorder import Recorder
from roofline.work.specs import TensorSpec
from roofline.work.stand_in import map_tensors, modules_of, swapped, torch_dtype
from roofline.work.work import Work

__all__ = ["count_graphs"]


def count_graphs(
    fn: Callable[..., Any],
    inputs: tuple[Any, ...],
    keywords: dict[str, Any],
    *,
    mode: str,
    strict: bool,
    name: str,
) -> Work:
    """Return the ``Work`` of the captured graphs, one launch each, with their fusion regions."""
    fake_mode = FakeTensorMode()
    hosts: set[str] = set()
    on_device = _any_device(inputs, keywords)

    def fake(value: Any) -> Any:
        if isinstance(value, TensorSpec):
            with fake_mode:
                return torch.empty(value.shape, dtype=torch_dtype(value.dtype))
        with fake_mode:
            new = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
        return new.requires_grad_(value.requires_grad)

    def fake_input(value: Any) -> Any:
        if _on_host(value) and on_device:
            dtype = value.dtype if isinstance(value, TensorSpec) else dtype_key(str(value.dtype))
            hosts.add(dtype)
        return fake(value)

    args, named = map_tensors(inputs, fake_input), map_tensors(keywords, fake_input)
    recorder = Recorder(strict=strict, host_scalars=frozenset(hosts))
    capture = _compiled if mode == "compiled" else _exported
    with ExitStack() as stack:
        for module in modules_of(fn):
            stack.enter_context(swapped(module, fake))
        stack.enter_context(fake_mode)
        try:
            results, launches = capture(fn, args, named, recorder)
        except RooflineError:
            raise
        except Exception as error:
            failed = next((e for e in _causes(error) if isinstance(e, RooflineError)), None)
            if failed is not None:
                raise failed from error
            text = " ".join(str(error).split())[:200]
            raise WorkError(f"{name}: cannot be captured in mode {mode}: {text}") from error
    if not recorder.trace.steps:
        raise WorkError(f"{name}: nothing was captured; it runs no tensor operator")
    return recorder.trace.work(name, mode, results=results, launches=launches)


def _on_host(value: Any) -> bool:
    if isinstance(value, TensorSpec):
        return value.on_host
    return not value.shape and value.device.type == "cpu"


def _causes(error: BaseException) -> Sequence[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain


def _any_device(*values: Any) -> bool:
    found: list[bool] = []

    def look(value: Any) -> Any:
        if isinstance(value, TensorSpec):
            found.append(not value.on_host)
        else:
            found.append(value.device.type != "cpu")
        return value

    map_tensors(values, look)
    return any(found)


def _compiled(
    fn: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], recorder: Recorder
) -> tuple[set[int], list[int]]:
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    launches: list[int] = []

    def keep(module: torch.fx.GraphModule, where: str) -> Any:
        # counted when it runs: a graph that runs twice is two launches, an unused one none
        def launch(*operands: Any) -> Any:
            inside = _placeholders(module.graph)
            for node, operand in zip(inside, operands, strict=True):
                _same(recorder, operand, node.meta.get("val"))
            outputs = _record(recorder, module.graph, where)
            launches.append(len(recorder.trace.steps))
            out = module.forward(*operands)
            for returned, recorded in zip(out, outputs, strict=True):
                _same(recorder, recorded, returned)
            return out

        return make_boxed_func(launch)

    def run(*args: Any, **named: Any) -> Any:
        return fn(*args, **named)

    backend = aot_autograd(
        fw_compiler=lambda module, _: keep(module, ""),
        bw_compiler=lambda module, _: keep(module, "backward"),
    )
    # a cached compilation of the same function would hand over no graph
    torch._dynamo.reset()
    try:
        out = torch.compile(run, backend=backend)(*args, **named)
    finally:
        torch._dynamo.reset()
    return recorder.values_in(out), launches


def _same(recorder: Recorder, known: Any, new: Any) -> None:
    if isinstance(known, torch.Tensor) and isinstance(new, torch.Tensor):
        recorder.identify(new, recorder.value_of(known))


def _placeholders(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    return [node for node in graph.nodes if node.op == "placeholder"]


def _exported(
    fn: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], recorder: Recorder
) -> tuple[set[int], list[int]]:
    module = fn if isinstance(fn, torch.nn.Module) else _Wrapper(fn)
    outputs = _record(recorder, torch.export.export(module, args, named, strict=False).graph)
    return recorder.values_in(outputs), [len(recorder.trace.steps)]


class _Wrapper(torch.nn.Module):
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *args: Any, **named: Any) -> Any:
        return self.fn(*args, **named)


_CALLS_ONCE: Final = frozenset(str.split(
    "wrap wrap_with_set_grad_enabled wrap_with_autocast wrap_activation_checkpoint "
    "tag_activation_checkpoint hints_wrapper invoke_subgraph"
))  # fmt: skip
"""Higher-order operators that run the graph they are given once; others are counted by name."""


def _record(recorder: Recorder, graph: torch.fx.Graph, where: str = "") -> list[Any]:
    """Record the operators of a graph and return the fake tensors it hands back."""
    outputs: list[Any] = []
    for node in graph.nodes:
        if node.op == "output":
            outputs = list(torch.fx.map_arg(node.args[0], _value))
        elif node.op == "call_function" and not _is_python(node.target):
            recorder.module = where or _module_of(node)
            inner = _inner_graph(node)
            if inner is not None:
                operands = [a for a in node.args if isinstance(a, torch.fx.Node)]
                given = [_value(a) for a in operands if a.op != "get_attr" or "val" in a.meta]
                for operand, place in zip(given, _placeholders(inner), strict=False):
                    _same(recorder, operand, _value(place))
                made = _record(recorder, inner, where)
                for known, new in zip(made, _listed(_outputs(node)), strict=False):
                    _same(recorder, known, new)
                continue
            args = torch.fx.map_arg(node.args, _value)
            kwargs = torch.fx.map_arg(node.kwargs, _value)
            recorder.record(node.target, args, kwargs, _outputs(node))
    return outputs


def _value(node: torch.fx.Node) -> Any:
    return node.meta.get("val")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _inner_graph(node: torch.fx.Node) -> torch.fx.Graph | None:
    if getattr(node.target, "__name__", "") not in _CALLS_ONCE:
        return None
    owner = node.graph.owning_module
    for argument in (*node.args, *node.kwargs.values()):
        if isinstance(argument, torch.fx.Node) and argument.op == "get_attr" and owner is not None:
            module = getattr(owner, str(argument.target), None)
            if isinstance(module, torch.fx.GraphModule):
                return module.graph
    return None


def _outputs(node: torch.fx.Node) -> Any:
    """Return the outputs of a node; those of several outputs are on the nodes that take one."""
    if "val" in node.meta and node.meta["val"] is not None:
        return node.meta["val"]
    return [user.meta["val"] for user in node.users if "val" in user.meta]


def _is_python(target: Any) -> bool:
    return getattr(target, "__module__", "") in ("_operator", "builtins", "operator")


def _module_of(node: torch.fx.Node) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    if not stack:
        return ""
    path = str(next(reversed(stack.values()))[0])
    for prefix in ("L['fn']", "G['fn']", "L['self']", "fn"):
        path = path.removeprefix(prefix)
    return path.strip(".")
