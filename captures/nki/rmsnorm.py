"""RMSNorm as an NKI kernel: one pass over x, one tile of up to 128 rows at a time.

    out[n, d] = x[n, d] * rsqrt(mean_d(x[n, :] ** 2) + epsilon) * weight[d]

Schedule of a tile of P rows and D columns, rows on partitions:

    DMA      load x [P, D]                                             P * D * s bytes
    Scalar   squares with their row sums, fp32       (1 pass)          P * D element-passes
    Scalar   rsqrt(sum / D + epsilon)                                  P element-passes
    Vector   (x * scale) * weight, one instruction   (1 pass)          P * D element-passes
    DMA      store out [P, D]                                          P * D * s bytes

The weight is loaded once and broadcast to all partitions of a tile, which costs P * D * s bytes of
HBM reads where one row would do: the price of not going through the Tensor engine for it.

The kernel runs on a NeuronCore only, and has not run on one yet. Its arithmetic is tested by
running this same function on numpy in place of ``nki.language`` and ``nki.isa``. Studies name it
as a variant (``nki-onepass``): ``rmsnorm`` is what runs, ``schedule`` what it declares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["ITEM_BYTES", "PARTITIONS", "make_kernel", "rmsnorm", "schedule"]

PARTITIONS = 128
ITEM_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}


def make_kernel(nl: Any, nisa: Any) -> Callable[..., Any]:
    """Return the kernel written with these two modules: NKI's, or any of the same interface."""

    def rmsnorm_kernel(x: Any, weight: Any, epsilon: float = 1e-6) -> Any:
        rows, cols = x.shape
        out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
        lanes = min(rows, PARTITIONS)
        gain = nl.load(weight.reshape((1, cols)).broadcast_to((lanes, cols)))
        for start in nl.affine_range((rows + PARTITIONS - 1) // PARTITIONS):
            first = start * PARTITIONS
            size = min(PARTITIONS, rows - first)
            tile = nl.load(x[first : first + size, :])
            total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation_reduce(op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total)
            # activation computes op(data * scale + bias), so the mean and epsilon cost no pass
            scale = nisa.activation(op=nl.rsqrt, data=total, scale=1.0 / cols, bias=epsilon)
            done = nisa.scalar_tensor_tensor(
                data=tile, op0=nl.multiply, operand0=scale, op1=nl.multiply,
                operand1=gain[:size, :], dtype=x.dtype,
            )  # fmt: skip
            nl.store(out[first : first + size, :], done)
        return out

    return rmsnorm_kernel


def rmsnorm(x: Any, weight: Any, epsilon: float = 1e-6) -> Any:
    """Run the kernel on a Neuron tensor; needs NKI and a device."""
    import nki
    import nki.isa as nisa
    import nki.language as nl
    import torch_neuronx

    kernel = torch_neuronx.wrap_nki(nki.jit(make_kernel(nl, nisa)))
    return kernel(x, weight, epsilon)


def schedule(*, rows: int, cols: int, dtype: str) -> dict[str, Any]:
    """Return what the schedule above does: element-passes by engine, and HBM bytes.

    The weight counts on every partition of a tile. Without a launch grid the kernel runs on one
    physical core. The stages of a tile: square, rsqrt, scale. Rows that do not fit into SBUF need a
    kernel that splits them.
    """
    size = ITEM_BYTES[dtype]
    lanes = min(rows, PARTITIONS)
    # the weight, the squares that nobody reads, and tile and result twice: one works, one moves
    tiles = 1 + 1 + 2 * (2 if rows > PARTITIONS else 1)
    return {
        "element_passes": {"scalar": rows * cols + rows, "vector": rows * cols},
        "hbm_read_bytes": (rows * cols + lanes * cols) * size,
        "hbm_write_bytes": rows * cols * size,
        "cores": 1,
        "stages": 3,
        "sbuf_partition_bytes": tiles * cols * size,
    }
