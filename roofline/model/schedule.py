"""How operators of a family are laid out on the engines: a table, not code.

A schedule says how many passes over the data an engine makes, whether rows are tied to SBUF
partitions, how many dependent stages a tile goes through before the first result leaves, and how
long one instruction is. An operator that is not in the table takes the passes its work was counted
with, so a new operator needs no new code path. Numbers that were fitted to measurements do not
stand here but in the hardware model (``calibrated.schedule``), and take precedence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from roofline.errors import QueryError

__all__ = ["IMPLEMENTATIONS", "SCHEDULES", "VARIANTS", "Schedule", "schedule_for", "variant_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The layout of one family.

    ``passes`` maps an engine to passes per element; empty means: as the work counts them.
    ``rows_on_partitions`` ties each row to one of 128 partitions, so that few rows leave lanes
    idle; otherwise data is spread over all lanes. ``stages`` counts dependent engine stages a
    tile goes through, ``free_elements`` the elements per partition of one instruction.
    ``input_reads`` is how often the inputs are read. ``implementation`` limits it to one of
    ``IMPLEMENTATIONS``. ``serial`` says that the engines wait for one another on every
    tile instead of working side by side, ``measured`` that operators of the family were among
    those fitted.
    """

    family: str
    implementation: str = ""
    passes: Mapping[str, float] = field(default_factory=dict)
    rows_on_partitions: bool = False
    stages: int = 1
    free_elements: int = 2048
    input_reads: float = 1.0
    serial: bool = False
    measured: bool = True
    why: str = ""


SCHEDULES: Final = {
    (schedule.family, schedule.implementation): schedule
    for schedule in (
        Schedule(family="elementwise", why="one pass an operator, tiles of 128 x 2048"),
        Schedule(
            family="special", measured=False, why="one activation of the Scalar engine an operator"
        ),
        Schedule(
            family="copy",
            passes={"vector": 1.0},
            why="through SBUF with one tensor_copy a tile; a DMA alone needs none",
        ),
        Schedule(
            family="reduction",
            passes={"vector": 1.0},
            rows_on_partitions=True,
            stages=2,
            why="tensor_reduce over the free axis, then the combination of partial results",
        ),
        Schedule(
            family="norm",
            passes={"vector": 3.0, "scalar": 1.0},
            rows_on_partitions=True,
            stages=4,
            why="square and accumulate; reduce; scale by the row; scale by the weight",
        ),
        Schedule(
            family="norm",
            implementation="nki",
            passes={"vector": 2.0, "scalar": 1.0},
            rows_on_partitions=True,
            stages=4,
            input_reads=2.0,
            why="the published kernel loads x once to square and accumulate it (Scalar) and once "
            "more to scale it by the row and by the weight (Vector)",
        ),
        Schedule(
            family="softmax",
            passes={"vector": 3.0, "scalar": 1.0},
            rows_on_partitions=True,
            stages=4,
            why="row maximum; exponential and sum (Scalar); reciprocal; scale by the row",
        ),
        Schedule(
            family="transpose",
            passes={"vector": 1.0},
            stages=2,
            measured=False,
            why="128 x 128 blocks through the Tensor engine or the DMA, evicted from PSUM",
        ),
        Schedule(
            family="matmul",
            passes={"vector": 1.0},
            stages=2,
            free_elements=512,
            why="contraction in tiles of 128 x 128 x 512, each PSUM bank evicted once",
        ),
        Schedule(
            family="attention",
            stages=4,
            free_elements=512,
            serial=True,
            measured=False,
            why="products, maximum, exponential and transposition wait for one another; on each "
            "score Scalar takes the exponential, Vector the maximum and the eviction of the "
            "transposed weights",
        ),
    )
}
"""(family, implementation or nothing) -> schedule."""

_DEFAULT: Final = Schedule(
    family="other", measured=False, why="no schedule for the family: passes as counted"
)

IMPLEMENTATIONS: Final = ("eager", "nki")
"""Who wrote the schedule: the compiler behind torch operators, or a kernel in NKI."""

VARIANTS: Final = {
    "eager": ("eager", "eager", "every elementary operator is a launch of its own"),
    "fused": ("fused", "eager", "the fused framework operator, one launch"),
    "compiled": ("compiled", "eager", "one graph, one launch"),
    "nki": ("fused", "nki", "a kernel written in NKI, one launch"),
}
"""Variant -> how its work is counted, whose constants it takes, and what it is."""


def variant_of(name: str) -> str:
    """Return a variant key for a name people write (``torch_eager``, ``NKI fused`` ...).

    Raises ``QueryError`` for a name that says nothing.
    """
    word = name.strip().lower()
    if word in VARIANTS:
        return word
    for key in ("nki", "compiled", "eager", "fused"):
        if key in word:
            return key
    if any(part in word for part in ("naive", "torch", "xla", "reference")):
        return "eager"
    raise QueryError(f"unknown variant {name!r}; known: {', '.join(VARIANTS)}")


def schedule_for(family: str, implementation: str = "") -> Schedule:
    """Return the schedule of a family, or the default one: passes as the work counts them."""
    found = SCHEDULES.get((family, implementation))
    return found or SCHEDULES.get((family, ""), _DEFAULT)
