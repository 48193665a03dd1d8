"""The constants that are fitted, one line each: where they stand, where the search starts, why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["NUMBERS", "PARAMETERS", "Parameter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A fitted constant: its path below ``calibrated``, and the range the search stays in."""

    path: str
    start: float
    low: float
    high: float
    what: str


def _passes(name: str, where: str, start: float, what: str) -> Parameter:
    return Parameter(
        path=f"schedule.{name}.{where}.vector_passes_ratio",
        start=start,
        low=0.25,
        high=200.0,
        what=what,
    )


NUMBERS: Final = (
    "vector_passes_ratio",
    "vector_passes_per_operand_ratio",
    "input_reads_ratio",
)
"""Constants of a schedule."""

PARAMETERS: Final = (
    Parameter(
        path="device.floor_s",
        start=12e-6,
        low=5e-6,
        high=25e-6,
        what="device time of a launch that does nothing",
    ),
    Parameter(
        path="device.stage_s",
        start=2e-6,
        low=1e-7,
        high=1e-5,
        what="time one more dependent stage adds before results flow",
    ),
    Parameter(
        path="hbm.efficiency_ratio",
        start=0.92,
        low=0.5,
        high=1.0,
        what="part of the HBM stack that streams reach",
    ),
    Parameter(
        path="pass.bits8.vector_cycles",
        start=1.2,
        low=0.25,
        high=4.0,
        what="Vector cycles of one pass over one element of 8 bits, besides the documented cost of "
        "an instruction; 16 and 32 bits take the documented 1",
    ),
    _passes("norm", "eager", 3.0, "passes of a normalisation behind a torch operator"),
    _passes("norm", "eager_bits32", 4.5, "the same in 32 bits, where it is slower than its width"),
    Parameter(
        path="schedule.norm.nki_bits32.input_reads_ratio",
        start=1.6,
        low=1.0,
        high=2.0,
        what="reads of the input in 32 bits; twice in full would need the theoretical rate of the "
        "stack, so a part must stay on chip",
    ),
    _passes("softmax", "eager", 3.0, "passes of a softmax behind a torch operator"),
    _passes("softmax", "nki", 3.0, "passes of the NKI kernel"),
    _passes("reduction", "eager", 1.0, "passes of a row reduction"),
    _passes("reduction", "nki", 1.0, "passes of a row reduction"),
    Parameter(
        path="schedule.elementwise.eager_bits8.vector_passes_per_operand_ratio",
        start=3.0,
        low=0.25,
        high=20.0,
        what="8-bit operands of torch operators are converted one by one: passes for each",
    ),
    _passes("copy", "eager_bits8", 5.0, "a copy of 8 bits, slower than any conversion explains"),
    _passes("mul", "eager_bits8", 25.0, "an integer product, which no mode of Vector computes"),
    *(
        Parameter(
            path=f"matmul.{who}.bits{bits}.efficiency_ratio",
            start=0.85,
            low=0.1,
            high=1.0,
            what=f"part of the Tensor peak that {bits}-bit products reach in steady state",
        )
        for who in ("eager", "nki")
        for bits in (16, 32)
    ),
)
"""Every fitted constant."""
