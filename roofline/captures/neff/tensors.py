"""Tensors of a program: name, role, shape, element type, size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.neff.blocks import list_blocks
from roofline.captures.neff.program import Neff, Subgraph, Variable
from roofline.dtypes import dtype_key
from roofline.errors import WorkError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ROLES", "Tensor", "list_tensors", "sizes", "tensor_table"]

ROLES: Final = {"input": "IN", "output": "OUT", "file": "WEIGHT"}
"""Variable type -> role of the tensor, as the vendor spells it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor in HBM. ``dtype`` is a canonical key, ``""`` where it is not known."""

    name: str
    role: str
    format: str
    shape: tuple[int, ...] | None
    dtype: str
    size: int | None
    core: str


def list_tensors(neff: Neff) -> tuple[Tensor, ...]:
    """Return inputs, outputs and constants of all subgraphs, once for each name."""
    found: dict[str, Tensor] = {}
    for subgraph in neff.subgraphs.values():
        for variable in subgraph.variables.values():
            role = ROLES.get(variable.type)
            if role is not None and variable.name not in found:
                found[variable.name] = _tensor(subgraph, variable, role)
    return tuple(found.values())


def sizes(tensors: tuple[Tensor, ...]) -> dict[str, int]:
    """Return the vendor's summary sizes in bytes; empty when the size of a tensor is not known."""
    total = {"IN": 0, "OUT": 0, "WEIGHT": 0}
    for tensor in tensors:
        if tensor.size is None:
            return {}
        total[tensor.role] += tensor.size
    found = {
        "inputs_and_weights_size_bytes": total["IN"] + total["WEIGHT"],
        "inputs_outputs_weights_size_bytes": sum(total.values()),
    }
    if total["WEIGHT"]:
        found["weight_size_bytes"] = total["WEIGHT"]
    return found


def tensor_table(neff: Neff) -> pa.Table:
    """Return the ``tensors`` table: the vendor's columns, and ``dtype``."""
    import pyarrow as pa

    tensors = list_tensors(neff)
    cores = list(neff.subgraphs)

    def texts(values: list[str]) -> pa.Array:
        return pa.array([value or None for value in values], pa.string()).dictionary_encode()

    return pa.table(
        {
            "variable_name": texts([tensor.name for tensor in tensors]),
            "type": texts([tensor.role for tensor in tensors]),
            "format": texts([tensor.format for tensor in tensors]),
            "shape": texts([_shape_text(tensor.shape) for tensor in tensors]),
            "size": pa.array([tensor.size for tensor in tensors], pa.int64()),
            "node": pa.array([neff.node[0]] * len(tensors), pa.int64()),
            "pcore_idx": pa.array([cores.index(tensor.core) for tensor in tensors], pa.int64()),
            "dtype": texts([tensor.dtype for tensor in tensors]),
            **_loads(neff, tensors),
        }
    )


def _loads(neff: Neff, tensors: tuple[Tensor, ...]) -> dict[str, pa.Array]:
    """Return how planned DMA loads each constant into SBUF; null where none does."""
    import pyarrow as pa

    moved: dict[str, list[int]] = {}
    for subgraph in neff.subgraphs.values():
        for block in list_blocks(subgraph).values():
            if block.dest_memory == "sbuf" and block.write_bytes is not None:
                moved.setdefault(block.source, []).append(block.write_bytes)
    loads = [moved.get(one.name) if one.role == "WEIGHT" else None for one in tensors]
    total = [sum(sizes) if sizes else None for sizes in loads]
    count = [len(sizes) if sizes else None for sizes in loads]
    mean = [
        all_ // n if all_ is not None and n else None for all_, n in zip(total, count, strict=True)
    ]
    factor = [
        all_ / one.size if all_ is not None and one.size else None
        for all_, one in zip(total, tensors, strict=True)
    ]
    return {
        "load_to_sbuf_dma_count": pa.array(count, pa.int64()),
        "load_to_sbuf_total_size_bytes": pa.array(total, pa.int64()),
        "load_to_sbuf_avg_size_bytes": pa.array(mean, pa.int64()),
        "load_to_sbuf_repeat_factor": pa.array(factor, pa.float64()),
    }


def _tensor(subgraph: Subgraph, variable: Variable, role: str) -> Tensor:
    entry = _map_entry(subgraph, variable)
    shape = entry.get("sim_shape")
    dtype = _entry_dtype(entry)
    kept = isinstance(shape, list) and all(type(size) is int for size in shape)
    return Tensor(
        name=variable.name,
        role=role,
        format=str(entry.get("sim_format") or ""),
        shape=tuple(shape) if kept and shape is not None else None,
        dtype=dtype,
        size=variable.size,
        core=subgraph.name,
    )


def _entry_dtype(entry: dict[str, Any]) -> str:
    """Return the element type of a shape entry: the simulator's, else any that is known."""
    for key in sorted(entry, key=lambda key: not key.startswith("sim_")):
        if "dtype" in key and isinstance(entry[key], str):
            try:
                return dtype_key(entry[key])
            except WorkError:
                continue
    return ""


def _map_entry(subgraph: Subgraph, variable: Variable) -> dict[str, Any]:
    """Return the shape entry of a variable: by name; of a constant by its file."""
    entry = subgraph.tensor_map.get(variable.name)
    if not isinstance(entry, dict) and variable.file_name:
        for other in subgraph.tensor_map.values():
            if isinstance(other, dict) and other.get("tf_file") == variable.file_name:
                return other
    return entry if isinstance(entry, dict) else {}


def _shape_text(shape: tuple[int, ...] | None) -> str:
    return "" if shape is None else f"[{' '.join(map(str, shape))}]"
