"""Tables of an NTFF capture by name, each built from the columns that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from roofline.captures.ntff.columns import Column, array, build_table
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.event_tables import EventTables
from roofline.captures.ntff.instruction_table import InstructionTable
from roofline.captures.ntff.packet_table import PacketTable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Tables"]


@dataclass(frozen=True)
class Tables:
    """Builds Arrow tables from decoded rows."""

    decoded: Decoded

    @cached_property
    def instructions(self) -> InstructionTable:
        """Instruction rows with what their words tell."""
        return InstructionTable(self.decoded)

    @cached_property
    def packets(self) -> PacketTable:
        """DMA packets with their queues."""
        return PacketTable(self.decoded)

    @cached_property
    def events(self) -> EventTables:
        """Semaphore updates, activity and throttling."""
        return EventTables(self.decoded)

    @property
    def columns(self) -> dict[str, Callable[[], list[Column]]]:
        """What makes the columns of each table."""
        return {
            "instructions": self.instructions.columns,
            "dma": self.packets.columns,
            "semaphores": self.events.semaphores_columns,
            "active": self.events.active_columns,
            "throttle": self.events.throttle_columns,
        }

    def build(self, name: str, wanted: Sequence[str] | None = None) -> pa.Table:
        """Build table ``name`` with the ``wanted`` columns."""
        table = build_table(name, self.columns[name](), wanted)
        if name == "instructions" and self.decoded.trace.vendor:
            keep = np.ones(table.num_rows, dtype=bool)
            keep[self.decoded.overwritten] = False
            return table if keep.all() else table.filter(array(keep))
        return table
