"""Planned (static) DMA of a program: blocks of descriptors, and the words that start them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from roofline.captures.neff.program import Subgraph, Variable
from roofline.captures.ntff.header import ENGINES

__all__ = ["MEMORY_OF", "Block", "list_blocks", "memory_of", "trigger_of"]

MEMORY_OF: Final = {
    "input": "hbm",
    "output": "hbm",
    "file": "hbm",
    "virtual": "hbm",
    "tmp-buf": "hbm",
    "pointer": "hbm",
    "state-buffer": "sbuf",
}
"""Variable type -> memory; other types are not known."""

_QUEUE_AT, _QUEUE_END, _BLOCK_AT = 12, 48, 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One planned transfer; bytes over all its parts, ``None`` where a part does not tell.

    ``source`` and ``dest`` are variables' names, ``""`` where the parts differ or do not tell;
    memories likewise. ``transposes`` marks a DMA transpose, which carries more than its bytes.
    """

    queue: str
    number: int
    comment: str
    operation: str
    source: str
    dest: str
    source_memory: str
    dest_memory: str
    read_bytes: int | None
    write_bytes: int | None
    transposes: bool
    reads_scratch: bool
    writes_scratch: bool

    @property
    def variable(self) -> str:
        """The variable on the HBM side, the source first."""
        if self.source_memory == "hbm":
            return self.source
        return self.dest if self.dest_memory == "hbm" else ""


def memory_of(variable: Variable | None) -> str:
    """Return ``hbm``, ``sbuf`` or ``unknown``."""
    return MEMORY_OF.get(variable.type, "unknown") if variable is not None else "unknown"


def list_blocks(subgraph: Subgraph) -> Mapping[tuple[str, int], Block]:
    """Return planned transfers by queue (the compiler's name) and block number."""
    found: dict[tuple[str, int], Block] = {}
    for engine in ENGINES:
        rows = subgraph.engine_json(engine).get("dma")
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict):
                block = _block(subgraph, row)
                found.setdefault((block.queue, block.number), block)
    return found


def trigger_of(word: bytes) -> tuple[str, int]:
    """Return queue and block number of a trigger word (opcode 0xC1)."""
    queue = word[_QUEUE_AT:_QUEUE_END].split(b"\0", 1)[0].decode("utf-8", "replace")
    return queue, int.from_bytes(word[_BLOCK_AT : _BLOCK_AT + 4], "little")


def _block(subgraph: Subgraph, row: dict[str, Any]) -> Block:
    parts = row.get("desc")
    parts = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    sides = {side: [_side(subgraph, part, side) for part in parts] for side in ("from", "to")}
    number = row.get("id")
    operations = {str(part.get("op") or "copy") for part in parts}
    return Block(
        queue=str(row.get("queue") or row.get("instance_name") or ""),
        number=number if isinstance(number, int) else -1,
        comment=str(row.get("#comment") or ""),
        operation="+".join(sorted(operations)),
        source=_same([name for name, _, _ in sides["from"]]),
        dest=_same([name for name, _, _ in sides["to"]]),
        source_memory=_same([memory for _, memory, _ in sides["from"]]) or "unknown",
        dest_memory=_same([memory for _, memory, _ in sides["to"]]) or "unknown",
        read_bytes=_sum([size for _, _, size in sides["from"]]),
        write_bytes=_sum([size for _, _, size in sides["to"]]),
        transposes=any("transpose_op" in part for part in parts) or "transpose" in operations,
        reads_scratch=_scratch(subgraph, [name for name, _, _ in sides["from"]]),
        writes_scratch=_scratch(subgraph, [name for name, _, _ in sides["to"]]),
    )


def _side(subgraph: Subgraph, part: dict[str, Any], side: str) -> tuple[str, str, int | None]:
    """Return variable, memory and bytes of one side of a part."""
    name = part.get(side)
    sizes = part.get(f"{side}_sizes")
    size: int | None = None
    if isinstance(sizes, list) and sizes and all(type(one) is int and one >= 0 for one in sizes):
        size = 1
        for one in sizes:
            size *= one
    if not isinstance(name, str):
        return "", "unknown", size
    return name, memory_of(subgraph.variables.get(name)), size


def _scratch(subgraph: Subgraph, names: list[str]) -> bool:
    variables = [subgraph.variables.get(name) for name in names]
    return bool(variables) and all(one is not None and one.type == "virtual" for one in variables)


def _same(values: list[str]) -> str:
    """Return the value if all are equal, else ``""``."""
    return values[0] if values and len(set(values)) == 1 else ""


def _sum(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) and known else None
