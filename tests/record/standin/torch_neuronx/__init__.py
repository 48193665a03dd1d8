"""A stand-in for TorchNeuron, after its documented interface, on a CPU.

The device ``neuron`` is a Python backend: its tensors wrap CPU tensors, operators run there.
``STANDIN_FAULT`` names one trap of recording to fall into.
"""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.utils._pytree as pytree
from torch.utils import backend_registration as registration


def fault() -> str:
    return os.environ.get("STANDIN_FAULT", "")


synchronized_at_ns: list[int] = []


class _Module(registration._DummyBackendModule):
    def synchronize(self) -> None:
        # torch's own profiler waits when it stops; the trap is a program that does not
        if "torch/" not in sys._getframe(1).f_code.co_filename.replace("torch_neuronx/", ""):
            synchronized_at_ns.append(time.time_ns())


class NeuronTensor(torch.Tensor):
    @staticmethod
    def __new__(cls, held: torch.Tensor) -> NeuronTensor:
        return torch.Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), dtype=held.dtype, device="neuron:0"
        )

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held

    def __repr__(self) -> str:
        return f"NeuronTensor({self.held})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(value):
            return value.held if isinstance(value, NeuronTensor) else value

        kwargs = kwargs or {}
        out = func(*pytree.tree_map(unwrap, args), **pytree.tree_map(unwrap, kwargs))
        if func is torch.ops.aten.copy_.default:
            return args[0]
        if str(kwargs.get("device", "")) == "cpu":
            return out
        return pytree.tree_map(
            lambda value: NeuronTensor(value) if isinstance(value, torch.Tensor) else value, out
        )


def _empty_strided(size, stride, dtype=None, layout=None, device=None, pin_memory=None):
    return NeuronTensor(torch.empty_strided(size, stride, dtype=dtype))


registration._setup_privateuseone_for_python_backend("neuron", backend_module=_Module())
_library = torch.library.Library("aten", "IMPL")
_library.impl("empty_strided", _empty_strided, "PrivateUse1")
# the device has this operator as one of its own
_library.impl("rms_norm", torch.library.fallthrough_kernel, "AutogradPrivateUse1")

# A program: whatever it is made of is one operator, and one launch.
_programs: list = []
_own = torch.library.Library("neuron", "DEF")
_own.define("program(int number, Tensor[] inputs) -> Tensor")
_own.impl("program", lambda number, inputs: _programs[number](*inputs), "CPU")


def _program(function):
    _programs.append(function)
    number = len(_programs) - 1
    return lambda *inputs: torch.ops.neuron.program(number, inputs)


def _backend(graph, inputs):
    run = _program(lambda *tensors: graph.forward(*tensors)[0])
    return lambda *tensors: (run(*map(NeuronTensor, tensors)).held,)


_torch_compile = torch.compile


def _compile(function, *, backend):
    """Dynamo sees CPU tensors: it traces no wrappers. Its graph is one program of the device."""
    if backend != "neuron":
        return _torch_compile(function, backend=backend)
    compiled = _torch_compile(function, backend=_backend, dynamic=False)
    return lambda *tensors: NeuronTensor(compiled(*(one.held for one in tensors)))


torch.compile = _compile


def wrap_nki(kernel):
    """A kernel as a function of tensors: here it runs on numpy."""

    def run(*arguments):
        tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
        others = [one for one in arguments if not isinstance(one, torch.Tensor)]

        def on_numpy(*held):
            arrays = [one.float().numpy() if one.is_floating_point() else one for one in held]
            return torch.from_numpy(kernel(*arrays, *others)).to(held[0].dtype)

        return _program(on_numpy)(*tensors)

    return run
