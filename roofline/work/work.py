"""Work: what a kernel must do, independent of how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from roofline.errors import WorkError

__all__ = ["CLASSES", "CONVENTIONS", "MODES", "OpCount", "Work"]

CLASSES: Final = ("matmul", "elementwise", "reduction", "special")
"""Classes of operations; ``matmul`` runs on the Tensor engine, the others on elements."""

MODES: Final = ("eager", "fused", "compiled", "export")
"""Dispatched operators; one region; a compiled graph with its regions; an exported graph."""

CONVENTIONS: Final = (
    "a multiply-accumulate is 2 FLOP",
    "an elementwise operation is 1 FLOP per output element",
    "a transcendental (exp, rsqrt, tanh ...) is 1 FLOP",
    "a sum or maximum over D elements is D - 1 FLOP, a mean D (D - 1 additions and 1 division)",
    "an activation (gelu, silu ...) counts the operations of its definition",
    "casts, copies and views are 0 FLOP; copies and casts move bytes, views do not",
)
"""How FLOP are counted; printed beside every count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpCount:
    """Counts of one launched operator (or of one fused region).

    ``flops`` maps a class to FLOP; ``tensor_flops`` maps the multiply dtype to Tensor-engine FLOP.
    ``element_passes`` maps a pass label to elements processed by one instruction stream each, the
    minimum number with the instructions the engines have; ``engines`` lists the element engines
    that can take them, ``usual_engine`` the one that usually does. ``read_bytes`` counts every
    operand, ``aliased_read_bytes`` what is read if an operand given twice is read once.
    ``accumulate_dtype`` is the dtype products are summed in, apart from the storage dtypes.
    ``members`` are the operators of a fused region, whose own bytes stay on chip.
    ``known`` is False when no formula was found: then the counts are unknown, not zero.
    """

    name: str
    inputs: tuple[tuple[tuple[int, ...], str], ...] = ()
    outputs: tuple[tuple[tuple[int, ...], str], ...] = ()
    flops: Mapping[str, int] = field(default_factory=dict)
    tensor_flops: Mapping[str, int] = field(default_factory=dict)
    element_passes: int = 0
    engines: tuple[str, ...] = ("vector", "scalar", "gpsimd")
    usual_engine: str = "vector"
    read_bytes: int = 0
    aliased_read_bytes: int = 0
    write_bytes: int = 0
    host_copy_bytes: int = 0
    accumulate_dtype: str = ""
    module: str = ""
    family: str = ""
    known: bool = True
    note: str = ""
    members: tuple[OpCount, ...] = ()

    @property
    def total_flops(self) -> int:
        """FLOP of all classes together."""
        return sum(self.flops.values())

    @property
    def bytes(self) -> int:
        """Bytes read plus bytes written, every operand counted."""
        return self.read_bytes + self.write_bytes

    def scaled(self, calls: int) -> OpCount:
        """Return the counts of ``calls`` such launches together; shapes stay those of one."""
        return replace(
            self,
            flops={key: value * calls for key, value in self.flops.items()},
            tensor_flops={key: value * calls for key, value in self.tensor_flops.items()},
            element_passes=self.element_passes * calls,
            read_bytes=self.read_bytes * calls,
            aliased_read_bytes=self.aliased_read_bytes * calls,
            write_bytes=self.write_bytes * calls,
            host_copy_bytes=self.host_copy_bytes * calls,
            members=tuple(member.scaled(calls) for member in self.members),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a kernel must do, with the bytes of each way to count them.

    All counts are integers: FLOP, element-passes, bytes. ``minimal_*_bytes`` reads each input and
    writes each output once; dispatched bytes are the sum over ``ops``; ``measured_*_bytes`` come
    from counters and are ``None`` where nothing was measured. ``host_copy_bytes`` are scalars on
    the CPU that have to be copied to the device, apart from HBM bytes. ``launches`` counts device
    launches. ``unknown_ops`` names operators without a formula: totals are then partial.
    """

    name: str
    mode: str
    dtype: str
    ops: tuple[OpCount, ...] = ()
    minimal_read_bytes: int = 0
    minimal_write_bytes: int = 0
    element_passes_minimal: int = 0
    measured_read_bytes: int | None = None
    measured_write_bytes: int | None = None
    host_copy_bytes: int = 0
    launches: int = 1
    unknown_ops: tuple[str, ...] = ()
    params: Mapping[str, int] = field(default_factory=dict)
    conventions: tuple[str, ...] = CONVENTIONS

    def __post_init__(self) -> None:
        for name in ("minimal_read_bytes", "minimal_write_bytes", "host_copy_bytes", "launches"):
            value = getattr(self, name)
            if isinstance(value, int) and value < 0:  # closed forms may hold arrays
                raise WorkError(f"work {self.name!r}: {name} is negative: {value}")

    @property
    def partial(self) -> bool:
        """Whether an operator without a formula makes the totals partial."""
        return bool(self.unknown_ops)

    @property
    def flops(self) -> dict[str, int]:
        """FLOP by class, summed over the operators."""
        return {
            key: total for key in CLASSES if (total := sum(op.flops.get(key, 0) for op in self.ops))
        }

    @property
    def total_flops(self) -> int:
        """FLOP of all classes together."""
        return sum(op.total_flops for op in self.ops)

    @property
    def tensor_flops(self) -> dict[str, int]:
        """Tensor-engine FLOP by multiply dtype."""
        total: dict[str, int] = {}
        for op in self.ops:
            for dtype, flops in op.tensor_flops.items():
                total[dtype] = total.get(dtype, 0) + flops
        return total

    @property
    def element_passes(self) -> int:
        """Element-passes summed over the launched operators (one schedule, not a minimum)."""
        return sum(op.element_passes for op in self.ops)

    @property
    def passes_by_engine(self) -> dict[str, int]:
        """Element-passes of the operators on the engine that usually takes them."""
        total: dict[str, int] = {}
        for op in self.ops:
            if op.usual_engine:
                total[op.usual_engine] = total.get(op.usual_engine, 0) + op.element_passes
        return total

    @property
    def minimal_bytes(self) -> int:
        """Bytes with each input read once and each output written once."""
        return self.minimal_read_bytes + self.minimal_write_bytes

    @property
    def dispatched_bytes(self) -> int:
        """Bytes of the launched operators, every operand counted."""
        return sum(op.bytes for op in self.ops)

    @property
    def dispatched_aliased_bytes(self) -> int:
        """The same with an operand that is given twice read once."""
        return sum(op.aliased_read_bytes + op.write_bytes for op in self.ops)

    @property
    def measured_bytes(self) -> int | None:
        """Bytes from counters, or ``None`` where they were not measured."""
        if self.measured_read_bytes is None or self.measured_write_bytes is None:
            return None
        return self.measured_read_bytes + self.measured_write_bytes

    @property
    def reload_factor(self) -> float | None:
        """Measured bytes read over the least that has to be read; ``None`` where unknown."""
        if self.measured_read_bytes is None or not self.minimal_read_bytes:
            return None
        return self.measured_read_bytes / self.minimal_read_bytes

    @property
    def excess_write_bytes(self) -> int | None:
        """Measured bytes written beyond the results (spills, copies); ``None`` where unknown."""
        if self.measured_write_bytes is None:
            return None
        return self.measured_write_bytes - self.minimal_write_bytes
