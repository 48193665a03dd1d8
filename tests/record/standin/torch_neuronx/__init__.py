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

FAULT = os.environ.get("STANDIN_FAULT", "")
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

        out = func(*pytree.tree_map(unwrap, args), **pytree.tree_map(unwrap, kwargs or {}))
        if func is torch.ops.aten.copy_.default:
            return args[0]
        return pytree.tree_map(
            lambda value: NeuronTensor(value) if isinstance(value, torch.Tensor) else value, out
        )


def _empty_strided(size, stride, dtype=None, layout=None, device=None, pin_memory=None):
    return NeuronTensor(torch.empty_strided(size, stride, dtype=dtype))


registration._setup_privateuseone_for_python_backend("neuron", backend_module=_Module())
_library = torch.library.Library("aten", "IMPL")
_library.impl("empty_strided", _empty_strided, "PrivateUse1")


def _compile(graph, inputs):
    return graph.forward


torch._dynamo.register_backend(_compile, name="neuron")
