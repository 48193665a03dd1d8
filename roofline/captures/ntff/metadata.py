"""Parse the prologue and the metadata message of an NTFF file into a ``Header``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from roofline.captures.ntff.header import (
    ENGINES,
    RECORD_BYTES,
    VERSIONS,
    Clock,
    Core,
    Edit,
    Header,
    Memory,
    Ring,
    Section,
)
from roofline.captures.ntff.wire import Span, walk
from roofline.errors import CaptureError

__all__ = ["parse_header"]

_METADATA_AT: Final = 128

# A damaged length must not cost memory: far above what a device has, far below what hurts.
_MAX_CORES: Final = 64
_MAX_SECTIONS: Final = 4096
_MAX_RINGS: Final = 65536
_MAX_ENTRIES: Final = 65536
_MAX_RATIO: Final = 1 << 31
_MAX_ENGINE: Final = 4095


class _Parser:
    def __init__(self, buffer: memoryview) -> None:
        self.buffer = buffer
        self.size = len(buffer)
        self.body = 0

    def text(self, span: Span) -> str:
        if len(span) > 1 << 16:
            raise CaptureError("a text of over 64 KiB", offset=span.start, section="metadata")
        return bytes(self.buffer[span.start : span.end]).decode("utf-8", "replace")

    def numbers(self, span: Span, section: str) -> dict[int, int]:
        """Return the varint fields of a small message; the last of a repeated one counts."""
        return {
            number: value
            for number, value in walk(self.buffer, span, section)
            if isinstance(value, int)
        }

    def version(self, span: Span) -> str:
        parts, commit = [0, 0, 0], ""
        for number, value in walk(self.buffer, span, "metadata.version"):
            if isinstance(value, int):
                if 1 <= number <= 3:
                    parts[number - 1] = value
            elif number == 5:
                commit = self.text(value)
        text = ".".join(map(str, parts))
        return f"{text} ({commit})" if commit else text

    def clock(self, span: Span) -> Clock:
        values = self.numbers(span, "metadata.clocks")
        den, num = values.get(2, 1), values.get(3, 1)
        if not (1 <= den <= _MAX_RATIO and 1 <= num <= _MAX_RATIO):
            raise CaptureError(
                f"clock ratio {num}/{den} is out of range",
                offset=span.start,
                section="metadata.clocks",
            )
        return Clock(base=values.get(1, 0), den=den, num=num)

    def clocks(self, span: Span) -> dict[int, list[Clock]]:
        found: dict[int, list[Clock]] = {}
        for number, value in walk(self.buffer, span, "metadata.clocks"):
            if isinstance(value, Span):
                held = found.setdefault(number, [])
                held.append(self.clock(value))
                _limit(len(held), 1024, "clocks", value.start)
        return found

    def body_span(self, offset: int, size: int, at: int, section: str) -> Span:
        start = self.body + offset
        if offset > self.size or size > self.size or start + size > self.size:
            raise CaptureError(
                f"{section} should be {size} bytes at {start}, the file has {self.size}: truncated",
                offset=at,
                section=section,
            )
        return Span(start, start + size)

    def memory(self, span: Span) -> Memory | None:
        section = "metadata.memory"
        engine = address = offset = size = 0
        held: Span | None = None
        for number, value in walk(self.buffer, span, section):
            if isinstance(value, Span):
                held = value if number == 3 else held
            elif number == 1:
                engine = value
            elif number == 2:
                address = value
            elif number == 7:
                offset = value
            elif number == 8:
                size = value
        if held is None:
            held = self.body_span(offset, size, span.start, "instruction memory")
        if engine >= len(ENGINES):
            return None
        return Memory(engine=engine, address=address, span=held)

    def edits(self, span: Span) -> list[Edit]:
        engine, parts = 0, []
        for number, value in walk(self.buffer, span, "metadata.edits"):
            if number == 1 and isinstance(value, int):
                engine = value
            elif number == 2 and isinstance(value, Span):
                parts.append(self.numbers(value, "metadata.edits"))
                _limit(len(parts), _MAX_ENTRIES, "edits of one program", value.start)
        return [
            Edit(
                engine=engine,
                offset_bytes=part.get(1, 0),
                count=part.get(2, 0),
                kind=part.get(3, 0),
            )
            for part in parts
        ]

    def ring(self, span: Span) -> Ring:
        values: dict[int, int] = {}
        name, blocks = "", []
        for number, value in walk(self.buffer, span, "metadata.rings"):
            if isinstance(value, int):
                values[number] = value
            elif number == 4:
                name = self.text(value)
            elif number == 8:
                blocks.append(value)
        if max(values.get(1, 0), values.get(2, 0)) > _MAX_ENGINE:
            raise CaptureError(
                f"ring {values.get(2, 0)} of DMA engine {values.get(1, 0)} is out of range",
                offset=span.start,
                section="metadata.rings",
            )
        event = values.get(5, 0)
        return Ring(
            engine=values.get(1, 0),
            number=values.get(2, 0),
            kind=values.get(3, 0),
            name=name,
            axi_port=values.get(6, 0),
            dram_channel=values.get(7, 0),
            event_id=event - (1 << 64) if event >= 1 << 63 else event,
            blocks=tuple(blocks),
        )

    def section(self, span: Span, core: int) -> tuple[int, Section, int]:
        """Return core number, section and the offset of its entry in the table."""
        values = self.numbers(span, "metadata.sections")
        section = Section(
            core=core,
            kind=values.get(1, 0),
            scope=values.get(3, 0),
            cc_core=values.get(4, 0),
            offset=self.body + values.get(5, 0),
            size=values.get(6, 0),
        )
        return values.get(7, 0), section, span.start

    def checked(self, section: Section, at: int) -> Section:
        self.body_span(section.offset - self.body, section.size, at, section.name)
        if section.size % RECORD_BYTES:
            raise CaptureError(
                f"{section.size} bytes are no whole number of {RECORD_BYTES}-byte records",
                offset=at,
                section=section.name,
            )
        return section

    def core_spans(self, span: Span) -> Iterator[Span]:
        for number, value in walk(self.buffer, span, "metadata.cores"):
            if number == 4 and isinstance(value, Span):
                for inner, part in walk(self.buffer, value, "metadata.cores"):
                    if inner == 1 and isinstance(part, Span):
                        yield part

    def core(self, span: Span, index: int) -> tuple[Core, list[Section]]:
        name, number, total = f"sg{index:02d}", 0, None
        memories: list[Memory] = []
        edits: list[Edit] = []
        rings: list[Ring] = []
        sections: list[Section] = []
        clocks: dict[int, list[Clock]] = {}
        use: list[tuple[str, int]] = []
        for field_number, value in walk(self.buffer, span, "metadata.core"):
            if isinstance(value, int):
                if field_number == 3:
                    number = value
                elif field_number == 14:
                    total = value
            elif field_number == 1:
                name = self.text(value)
            elif field_number == 4:
                memory = self.memory(value)
                if memory is not None:
                    memories.append(memory)
                _limit(len(memories), 64, "instruction memories", value.start)
            elif field_number == 5:
                edits.extend(self.edits(value))
                _limit(len(edits), _MAX_ENTRIES, "program edits", value.start)
            elif field_number == 6:
                _, section, at = self.section(value, index)
                sections.append(self.checked(section, at))
                _limit(len(sections), _MAX_SECTIONS, "sections", value.start)
            elif field_number == 7:
                rings.append(self.ring(value))
                _limit(len(rings), _MAX_RINGS, "DMA rings", value.start)
            elif field_number == 10:
                clocks = self.clocks(value)
            elif field_number == 11:
                use.append(self.use(value))
                _limit(len(use), _MAX_ENTRIES, "memory entries", value.start)
        one = Clock()
        first = {number: values[0] for number, values in clocks.items()}
        core = Core(
            name=name,
            number=number,
            memories=tuple(memories),
            edits=tuple(edits),
            rings=tuple(rings),
            # clock fields are ordered tensor, scalar, vector, gpsimd, sync
            engine_clocks=tuple(first.get(key, one) for key in (1, 2, 4, 3, 5)),
            event_clock=first.get(6, one),
            throttle_clock=first.get(7, one),
            dma_clocks=tuple(clocks.get(8, [one])),
            memory_use=tuple(use),
            total_ps=total,
        )
        return core, sections

    def use(self, span: Span) -> tuple[str, int]:
        name, size, index = "", 0, 0
        for number, value in walk(self.buffer, span, "metadata.memory_use"):
            if isinstance(value, Span):
                name = self.text(value) if number == 3 else name
            elif number == 1:
                index = value
            elif number == 2:
                size = value
        return name or f"entry {index}", size

    def prologue(self) -> int:
        """Return the version; ``body`` is then the offset behind the metadata."""
        if self.size < _METADATA_AT:
            raise CaptureError(
                f"{self.size} bytes: an NTFF file starts with {_METADATA_AT} bytes of prologue",
                offset=self.size,
                section="prologue",
            )
        version = self.buffer[0]
        if version not in VERSIONS:
            raise CaptureError(
                f"NTFF version {version} is not known; known: {', '.join(map(str, VERSIONS))}",
                offset=0,
                section="prologue",
            )
        length = int.from_bytes(self.buffer[1:9], "little")
        if length > self.size - _METADATA_AT:
            raise CaptureError(
                f"metadata should be {length} bytes, the file has "
                f"{self.size - _METADATA_AT} after the prologue: truncated or damaged",
                offset=1,
                section="prologue",
            )
        self.body = _METADATA_AT + length
        return int(version)

    def execution(self, span: Span) -> tuple[int, int]:
        values = self.numbers(span, "metadata.execution")
        start, end = values.get(2, 0), values.get(3, 0)
        if max(start, end) >= 1 << 63 or end < start:
            raise CaptureError(
                f"the execution ends at {end} ps, before its start {start} ps",
                offset=span.start,
                section="metadata.execution",
            )
        return start, end

    def capacity(self, span: Span) -> tuple[int, int, int]:
        values = self.numbers(span, "metadata.capacities")
        return values.get(1, 0), values.get(2, 0), values.get(3, 0)

    def parse(self) -> Header:
        version = self.prologue()
        texts: dict[int, str] = {}
        numbers: dict[int, int] = {}
        cores: list[Core] = []
        sections: list[Section] = []
        table: list[tuple[int, Section, int]] = []
        capacities: list[tuple[int, int, int]] = []
        uuid = b""
        window: tuple[int, int] | None = None
        for number, value in walk(self.buffer, Span(_METADATA_AT, self.body), "metadata"):
            if isinstance(value, int):
                numbers[number] = value
            elif number in (1, 9, 17):
                texts[number] = self.text(value)
            elif number in (8, 11, 12):
                texts[number] = self.version(value)
            elif number == 2:
                uuid = bytes(self.buffer[value.start : min(value.end, value.start + 16)])
            elif number == 4:
                for span in self.core_spans(value):
                    core, own = self.core(span, len(cores))
                    cores.append(core)
                    sections.extend(own)
                    _limit(len(cores), _MAX_CORES, "cores", span.start)
            elif number == 13:
                capacities.append(self.capacity(value))
                _limit(len(capacities), _MAX_ENTRIES, "buffer capacities", value.start)
            elif number == 15:
                window = self.execution(value)
            elif number == 16:
                table.append(self.section(value, 0))
                _limit(len(table), _MAX_SECTIONS, "sections", value.start)
        sections.extend(self._by_core(table, cores))
        if not cores:
            raise CaptureError(
                "metadata names no core", offset=_METADATA_AT, section="metadata.cores"
            )
        return Header(
            version=version,
            size=self.size,
            body=self.body,
            neff_path=texts.get(1, ""),
            uuid=uuid,
            instance_type=texts.get(9, ""),
            instance_id=texts.get(17, ""),
            captured_unix_s=numbers.get(7),
            runtime_version=texts.get(8, ""),
            driver_version=texts.get(11, ""),
            collectives_version=texts.get(12, ""),
            cores=tuple(cores),
            sections=tuple(sections),
            window_ps=window,
            capacities=tuple(capacities),
        )

    def _by_core(self, table: list[tuple[int, Section, int]], cores: list[Core]) -> list[Section]:
        index = {core.number: position for position, core in reversed(list(enumerate(cores)))}
        placed = []
        for number, section, at in table:
            if section.size and number not in index:
                raise CaptureError(
                    f"a section of core {number}; cores of the file: "
                    f"{', '.join(map(str, index)) or 'none'}",
                    offset=at,
                    section="metadata.sections",
                )
            placed.append(self.checked(replace(section, core=index.get(number, 0)), at))
        return placed


def _limit(count: int, most: int, what: str, offset: int) -> None:
    if count > most:
        raise CaptureError(f"more than {most} {what}", offset=offset, section="metadata")


def parse_header(buffer: memoryview) -> Header:
    """Parse prologue and metadata; trace records and instruction words are not touched.

    Raises ``CaptureError`` with offset and section for damage, truncation and unknown versions.
    """
    return _Parser(buffer).parse()
