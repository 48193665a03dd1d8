"""The part of ``nki.language`` and ``nki.isa`` that the kernels use, on numpy.

Semantics as documented: engines compute in fp32 and round when they write; a tile has at most 128
partitions. Every instruction is counted by engine.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np

MOST_PARTITIONS = 128


class Machine:
    """Modules ``nl`` and ``nisa``, and what was done with them."""

    def __init__(self) -> None:
        self.passes: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.nl = SimpleNamespace(
            float32=np.float32, shared_hbm="hbm", sbuf="sbuf", square=np.square, add=np.add,
            multiply=np.multiply, rsqrt=lambda value: 1 / np.sqrt(value), affine_range=range,
            ndarray=self.ndarray, load=self.load, store=self.store,
        )  # fmt: skip
        self.nisa = SimpleNamespace(
            activation_reduce=self.activation_reduce, activation=self.activation,
            scalar_tensor_tensor=self.scalar_tensor_tensor,
        )  # fmt: skip

    def ndarray(self, shape: tuple[int, ...], dtype: Any, buffer: str) -> np.ndarray:
        assert buffer == "hbm" or shape[0] <= MOST_PARTITIONS
        return np.full(shape, np.nan, dtype)

    def load(self, source: np.ndarray) -> np.ndarray:
        assert source.shape[0] <= MOST_PARTITIONS
        self.bytes["hbm_read_bytes"] += source.size * source.itemsize
        return np.array(source)

    def store(self, target: np.ndarray, value: np.ndarray) -> None:
        assert target.dtype == value.dtype
        target[...] = value
        self.bytes["hbm_write_bytes"] += value.size * value.itemsize

    def activation_reduce(self, op: Any, data: Any, reduce_op: Any, reduce_res: Any) -> None:
        self.passes["scalar"] += data.size
        reduce_res[...] = reduce_op.reduce(op(data.astype(np.float32)), axis=1, keepdims=True)

    def activation(self, op: Any, data: Any, scale: float, bias: float) -> np.ndarray:
        self.passes["scalar"] += data.size
        return op(data.astype(np.float32) * np.float32(scale) + np.float32(bias))

    def scalar_tensor_tensor(
        self, data: Any, op0: Any, operand0: Any, op1: Any, operand1: Any, dtype: Any
    ) -> np.ndarray:
        assert operand0.shape == (data.shape[0], 1)
        assert operand1.shape == data.shape
        self.passes["vector"] += data.size
        return op1(op0(data.astype(np.float32), operand0), operand1.astype(np.float32)).astype(
            dtype
        )


class Hbm(np.ndarray):
    """An array with the one method of an NKI tensor that numpy spells otherwise."""

    def broadcast_to(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.broadcast_to(self, shape)


def tensor(values: np.ndarray) -> Hbm:
    return values.view(Hbm)
