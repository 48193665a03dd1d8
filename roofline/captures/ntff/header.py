"""What an NTFF file says about itself: version, cores, programs, rings, clocks and sections.

The layout is described in ``docs/captures-ntff.md``. Every offset in a ``Header`` counts from the
start of the file, whatever it was relative to inside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from roofline.captures.ntff.wire import Span

__all__ = [
    "ENGINES",
    "RECORD_BYTES",
    "VERSIONS",
    "Clock",
    "Core",
    "Edit",
    "Header",
    "Memory",
    "Ring",
    "Section",
]

VERSIONS: Final = (4, 5, 6)

ENGINES: Final = ("tensor", "scalar", "gpsimd", "vector", "sync")
"""Engine keys in the order of NTFF's engine numbers (records say number + 1)."""

RECORD_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Ticks to picoseconds: ``(raw - base) * num // den``."""

    base: int = 0
    den: int = 1
    num: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Instruction memory of one engine: device ``address``, and its copy in the file."""

    engine: int
    address: int
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change the runtime made to a program: ``kind`` 0 inserted, 2 dropped ``count`` words."""

    engine: int
    offset_bytes: int
    count: int
    kind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """One DMA ring: ``kind`` 2 weights and data, 3 input and output, 0 table loads.

    ``blocks`` holds one span a transfer that was planned at compile time.
    """

    engine: int
    number: int
    kind: int
    name: str
    axi_port: int
    dram_channel: int
    event_id: int
    blocks: tuple[Span, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One array of trace records: ``kind`` 0 instructions, 1 events, 4 DMA, 5 throttling."""

    core: int
    kind: int
    scope: int
    cc_core: int
    offset: int
    size: int

    @property
    def name(self) -> str:
        """Name for messages, such as ``dma[core 0]``."""
        kinds = {0: "instructions", 1: "events", 2: "errors", 4: "dma", 5: "throttle"}
        part = kinds.get(self.kind, f"kind {self.kind}")
        collectives = f", collectives {self.cc_core}" if self.scope == 2 else ""
        return f"{part}[core {self.core}{collectives}]"

    @property
    def records(self) -> int:
        """Number of records."""
        return self.size // RECORD_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """One physical core: ``number`` is the device's, its index in ``Header.cores`` is ours."""

    name: str
    number: int
    memories: tuple[Memory, ...]
    edits: tuple[Edit, ...]
    rings: tuple[Ring, ...]
    engine_clocks: tuple[Clock, ...]  # by engine number
    event_clock: Clock
    throttle_clock: Clock
    dma_clocks: tuple[Clock, ...]  # by DMA engine modulo their number
    memory_use: tuple[tuple[str, int], ...]
    total_ps: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Everything NTFF metadata tells; ``window_ps`` is start and end of the execution (v6)."""

    version: int
    size: int
    body: int
    neff_path: str
    uuid: bytes
    instance_type: str
    instance_id: str
    captured_unix_s: int | None
    runtime_version: str
    driver_version: str
    collectives_version: str
    cores: tuple[Core, ...]
    sections: tuple[Section, ...]
    window_ps: tuple[int, int] | None
    capacities: tuple[tuple[int, int, int], ...]

    def find(self, core: int, kind: int) -> tuple[Section, ...]:
        """Return the sections of ``kind`` of core index ``core``, collectives cores left out."""
        return tuple(s for s in self.sections if s.core == core and s.kind == kind and s.scope < 2)
