"""Tensors without data that stand in for inputs and parameters. Importing this imports torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch.nn.utils.stateless import _reparametrize_module

from roofline.dtypes import dtype_of
from roofline.errors import WorkError
from roofline.work.specs import TensorSpec

__all__ = ["made", "map_tensors", "modules_of", "on_meta", "swapped", "torch_dtype"]

_TORCH: dict[str, str] = {
    "fp64": "float64",
    "fp32": "float32",
    "tf32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "fp8_e8m0": "float8_e8m0fnu",
}


def torch_dtype(name: str) -> torch.dtype:
    """Return the torch dtype of a name; raises ``WorkError`` where torch has none."""
    key = dtype_of(name).key
    found = getattr(torch, _TORCH.get(key, key), None)
    if not isinstance(found, torch.dtype):
        raise WorkError(f"dtype {key} has no torch tensor of its own; count it in closed form")
    return found


def map_tensors(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return ``value`` with every tensor and ``TensorSpec`` in lists and mappings changed."""
    if isinstance(value, (torch.Tensor, TensorSpec)):
        return change(value)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map_tensors(item, change) for item in value)
    return value


def _made(value: Any) -> Any:
    if isinstance(value, TensorSpec):
        device = "cpu" if value.on_host else "meta"
        return torch.empty(value.shape, dtype=torch_dtype(value.dtype), device=device)
    return value


def modules_of(fn: Any) -> list[torch.nn.Module]:
    """Return the modules a callable is, is bound to, closes over or names in its globals."""
    if isinstance(fn, torch.nn.Module):
        return [fn]
    if isinstance(fn, partial):
        values: list[Any] = [fn.func, *fn.args, *fn.keywords.values()]
        inner = modules_of(fn.func)
    else:
        inner = []
        values = [getattr(fn, "__self__", None)]
        for cell in getattr(fn, "__closure__", None) or ():
            try:
                values.append(cell.cell_contents)
            except ValueError:  # a cell that is filled later
                continue
        code = getattr(fn, "__code__", None)
        if code is not None:
            values += [fn.__globals__.get(name) for name in code.co_names]
    found = [value for value in values if isinstance(value, torch.nn.Module)]
    return list({id(module): module for module in (*found, *inner)}.values())


def made(value: Any) -> Any:
    """Return ``value`` with every ``TensorSpec`` made into a tensor without data."""
    return map_tensors(value, _made)


@contextmanager
def on_meta(
    fn: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Give inputs with specs made into meta tensors, and the modules meta parameters to match."""
    args = made(inputs)
    named = made(keywords)
    on_device: list[bool] = []
    map_tensors((args, named), lambda tensor: on_device.append(tensor.device.type == "meta"))
    with ExitStack() as stack:
        if any(on_device):
            for module in modules_of(fn):
                stack.enter_context(swapped(module, lambda tensor: tensor.to("meta")))
        yield args, named


@contextmanager
def swapped(
    root: torch.nn.Module, change: Callable[[torch.Tensor], torch.Tensor]
) -> Iterator[None]:
    """Run with every parameter and buffer of ``root`` changed."""
    done: dict[int, torch.Tensor] = {}
    tensors: dict[str, torch.Tensor] = {}
    for name, tensor in root.named_parameters(remove_duplicate=False):
        if id(tensor) not in done:  # tied weights stay tied
            new = change(tensor.detach())
            done[id(tensor)] = torch.nn.Parameter(new, requires_grad=tensor.requires_grad)
        tensors[name] = done[id(tensor)]
    for name, buffer in root.named_buffers(remove_duplicate=False):
        tensors[name] = change(buffer)
    with _reparametrize_module(root, tensors):
        yield
