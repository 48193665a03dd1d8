"""Count graphs captured by ``torch.compile`` and ``torch.export`` on fake CPU tensors.

Fake tensors hold no data; on the CPU device the capture keeps attention and normalisations whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from roofline.dtypes import dtype_key
from roofline.errors import RooflineError, WorkError
from roofline.work.counter import in_backward, run_recorded, taken_apart
from roofline.work.recorder import Recorder
from roofline.work.registry import op_key
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
    fake_mode = _Outside(allow_non_fake_inputs=True)
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
        try:
            results, launches = capture(fn, args, named, recorder, fake_mode)
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


class _Outside(FakeTensorMode):  # type: ignore[no-untyped-call]
    """Fake tensors that tell of operators that run outside captured graphs."""

    seen: Callable[[Any, Any, Any, Any], None] | None = None
    inside = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        outer, self.inside = self.inside, True  # operators may be run by their decompositions
        try:
            out = super().__torch_dispatch__(func, types, args, kwargs or {})
        finally:
            self.inside = outer
        tracing = torch._guards.TracingContext.try_get() is not None
        if self.seen is not None and not outer and not tracing:
            self.seen(func, args, kwargs or {}, out)
        return out


def _compiled(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    named: dict[str, Any],
    recorder: Recorder,
    fake_mode: _Outside,
) -> tuple[set[int], list[int]]:
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    launches: list[int] = []
    updated: set[int] = set()
    depth: list[None] = []
    steps = recorder.trace.steps

    def eager(func: Any, args: Any, kwargs: Any, out: Any) -> None:
        if depth and op_key(func.name()) == "copy":
            # a captured graph hands inputs it updates back as results; the device updates in place
            updated.add(recorder.value_of(args[1]))
        elif not recorder.paused:
            # after a graph break, what was not captured runs operator by operator
            recorder.module = "backward" if in_backward() else ""
            recorder.record(func, args, kwargs, out)
            launches.append(len(steps))

    def keep(module: torch.fx.GraphModule, where: str) -> Any:
        # counted when it runs: a graph that runs twice is two launches, an unused one none
        def launch(*operands: Any) -> Any:
            inside = _placeholders(module.graph)
            for node, operand in zip(inside, operands, strict=True):
                _same(recorder, operand, node.meta.get("val"))
            outputs = _record(recorder, module.graph, where)
            launches.append(len(steps))
            with recorder.pause():
                out = module.forward(*operands)
            for returned, recorded in zip(out, outputs, strict=True):
                _same(recorder, recorded, returned)
            return out

        return make_boxed_func(launch)

    def run(*args: Any, **named: Any) -> Any:
        return fn(*args, **named)

    compile_graph = aot_autograd(
        fw_compiler=lambda module, _: keep(module, ""),
        bw_compiler=lambda module, _: keep(module, "backward"),
    )

    def backend(module: torch.fx.GraphModule, examples: Any) -> Callable[..., Any]:
        compiled = compile_graph(module, examples)

        def run_graph(*operands: Any) -> Any:
            depth.append(None)
            try:
                return compiled(*operands)
            finally:
                depth.pop()

        return run_graph

    # a cached compilation of the same function would hand over no graph
    torch._dynamo.reset()
    fake_mode.seen = eager
    try:
        with fake_mode:
            out = torch.compile(run, backend=backend)(*args, **named)
    finally:
        fake_mode.seen = None
        torch._dynamo.reset()
    return recorder.values_in(out) | updated, launches


def _same(recorder: Recorder, known: Any, new: Any) -> None:
    if isinstance(known, torch.Tensor) and isinstance(new, torch.Tensor):
        recorder.identify(new, recorder.value_of(known))


def _placeholders(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    return [node for node in graph.nodes if node.op == "placeholder"]


def _exported(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    named: dict[str, Any],
    recorder: Recorder,
    fake_mode: _Outside,
) -> tuple[set[int], list[int]]:
    module = fn if isinstance(fn, torch.nn.Module) else _Wrapper(fn)
    with fake_mode:
        graph = torch.export.export(module, args, named, strict=False).graph
    values = [_value(node) for node in graph.nodes]
    fakes = [v for v in values if isinstance(v, torch._subclasses.FakeTensor)]
    with fakes[0].fake_mode if fakes else nullcontext():  # export has a mode of its own
        outputs = _record(recorder, graph, apart=True)
    return recorder.values_in(outputs), [len(recorder.trace.steps)]


class _Wrapper(torch.nn.Module):
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn
        self.used = torch.nn.ModuleList(modules_of(fn))  # their parameters become inputs

    def forward(self, *args: Any, **named: Any) -> Any:
        return self.fn(*args, **named)


_CALLS_ONCE: Final = frozenset(str.split(
    "wrap wrap_with_set_grad_enabled wrap_with_autocast wrap_activation_checkpoint "
    "tag_activation_checkpoint hints_wrapper invoke_subgraph"
))  # fmt: skip
"""Higher-order operators that run the graph they are given once; others are counted by name."""


def _record(
    recorder: Recorder, graph: torch.fx.Graph, where: str = "", *, apart: bool = False
) -> list[Any]:
    """Record the operators of a graph and return the fake tensors it hands back.

    ``apart`` takes composite operators apart, which export keeps.
    """
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
                made = _record(recorder, inner, where, apart=apart)
                for known, new in zip(made, _listed(_outputs(node)), strict=False):
                    _same(recorder, known, new)
                continue
            args = torch.fx.map_arg(node.args, _value)
            kwargs = torch.fx.map_arg(node.kwargs, _value)
            if apart and taken_apart(node.target):
                parts = run_recorded(recorder, node.target, args, kwargs)
                for known, new in zip(_listed(parts), _listed(_outputs(node)), strict=False):
                    _same(recorder, known, new)
                continue
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
