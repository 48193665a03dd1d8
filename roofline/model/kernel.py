"""What the schedule of one kernel does, as its author declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from roofline.engines import ELEMENT_ENGINES
from roofline.errors import QueryError
from roofline.hardware.model import Hardware
from roofline.model.demand import Demand
from roofline.model.schedule import schedule_for

__all__ = ["KernelSchedule", "as_declared", "sbuf_partition_bytes"]

_COUNTS: Final = ("hbm_read_bytes", "hbm_write_bytes", "cores", "stages", "sbuf_partition_bytes")
_NEEDED: Final = ("element_passes", "hbm_read_bytes", "hbm_write_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSchedule:
    """Counts of one execution of a kernel.

    ``element_passes`` maps an element engine to its element-passes; ``hbm_read_bytes`` and
    ``hbm_write_bytes`` are what its DMA moves, reloads and broadcasts included. ``cores`` is how
    many physical cores of a logical one it runs on (1 unless it is launched over several),
    ``stages`` how many dependent steps a tile goes through (``None``: as usual for its family),
    ``sbuf_partition_bytes`` the most bytes it holds on an SBUF partition at once (``None``: not
    declared).
    """

    element_passes: Mapping[str, int]
    hbm_read_bytes: int
    hbm_write_bytes: int
    cores: int = 1
    stages: int | None = None
    sbuf_partition_bytes: int | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> KernelSchedule:
        """Return the checked schedule of a mapping; raises ``QueryError`` naming what is wrong."""
        known = ("element_passes", *_COUNTS)
        unknown = [key for key in given if key not in known]
        missing = [key for key in _NEEDED if key not in given]
        if unknown or missing:
            what = f"unknown {', '.join(unknown)}" if unknown else f"missing {', '.join(missing)}"
            raise QueryError(f"declared schedule: {what}; its keys are {', '.join(known)}")
        passes = given["element_passes"]
        if not isinstance(passes, Mapping) or set(passes) - set(ELEMENT_ENGINES):
            raise QueryError(
                f"declared schedule: element_passes = {passes!r}: a count for any of "
                f"{', '.join(ELEMENT_ENGINES)}"
            )
        named = {key: given[key] for key in _COUNTS if key in given}
        for key, value in (*passes.items(), *named.items()):
            least = 1 if key in ("cores", "stages") else 0
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise QueryError(
                    f"declared schedule: {key} = {value!r}: a whole number from {least}"
                )
        return cls(element_passes=dict(passes), **named)

    @property
    def hbm_bytes(self) -> int:
        """Bytes read and written."""
        return self.hbm_read_bytes + self.hbm_write_bytes

    def on(self, hardware: Hardware) -> Hardware:
        """Return the hardware with no more cores at work than the kernel runs on."""
        return replace(hardware, working_cores=min(self.cores, hardware.working_cores))

    def check_fits(self, hardware: Hardware) -> None:
        """Raise ``QueryError`` where the kernel does not fit into SBUF."""
        needed, held = self.sbuf_partition_bytes, sbuf_partition_bytes(hardware)
        if needed is not None and needed > held:
            raise QueryError(
                f"declared schedule: {needed:,} B on an SBUF partition, where {hardware.name} has "
                f"{held:,} B"
            )


def sbuf_partition_bytes(hardware: Hardware) -> int:
    """Return how many bytes of an SBUF partition a kernel can use, as far as is documented."""
    usable = "memories.sbuf.usable.partition_bytes"
    path = usable if usable in hardware.values else "memories.sbuf.partition_bytes"
    return round(hardware.value(path).value)


def as_declared(demand: Demand, schedule: KernelSchedule) -> Demand:
    """Return the demand of one launch with the passes and bytes that its kernel declares.

    Products stay as counted. The passes go over the rows and columns of the first operator, laid
    out as usual for its family.
    """
    (region,) = demand.regions
    first, *rest = region.parts
    usual = schedule_for(first.family)
    size = first.rows * first.columns
    layout = replace(
        usual,
        implementation="declared",
        passes={key: count / size for key, count in schedule.element_passes.items()},
        stages=schedule.stages or usual.stages,
        input_reads=1.0,
        why="as its author declares it",
    )
    none = replace(layout, passes={})
    parts = (
        replace(first, declared=layout),
        *(replace(part, declared=none, passes={}) for part in rest),
    )
    found = replace(
        region,
        parts=parts,
        read_bytes=schedule.hbm_read_bytes,
        write_bytes=schedule.hbm_write_bytes,
    )
    return replace(demand, regions=(found,))
