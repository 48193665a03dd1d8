"""Ideal cycles of executed instructions: elements over the best rate their operands allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from roofline.analysis.columns import floats, has
from roofline.analysis.timeline import KINDS, Timeline
from roofline.engines import ELEMENT_ENGINES

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ideal_cycles"]


def ideal_cycles(table: pa.Table, lines: Timeline) -> npt.NDArray[np.float64]:
    """Return the cycles each row of ``lines`` needs at least for the work it executed.

    Shape ``[rows]``, in cycles of the row's own engine; NaN where the work is not known, as for
    control instructions. Tensor: streamed cycles at the full rate, so idle rows and columns of the
    array count as used (``bounds`` tells those apart). Vector, Scalar, GpSimd: elements of one
    partition over the elements a lane takes in a cycle, in the best mode allowed.
    """
    cycles = np.full(len(lines), np.nan)
    computes = lines.kind == KINDS.index("compute")
    if has(table, "streamed_cycles"):
        tensor = computes & (lines.engine == lines.engines.index("tensor"))
        cycles = np.where(tensor, floats(table, "streamed_cycles")[lines.row], cycles)
    if has(table, "elements_per_partition"):
        elements = floats(table, "elements_per_partition")[lines.row]
        mode = floats(table, "mode")[lines.row] if has(table, "mode") else np.ones(len(lines))
        flows = computes & np.isin(
            lines.engine, [lines.engines.index(name) for name in ELEMENT_ENGINES]
        )
        cycles = np.where(flows, elements / np.where(np.isnan(mode), 1.0, mode), cycles)
    return cycles
