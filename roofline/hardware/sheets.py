"""The card of a hardware as tables of texts, for a terminal and for reports alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from roofline.engines import COMPUTE_ENGINES, VENDOR_NAMES
from roofline.hardware.model import Hardware
from roofline.hardware.roof import Roof
from roofline.quantity import Quantity
from roofline.units import format_si

__all__ = ["FIXED", "Sheet", "Sources", "setting", "sheets"]

FIXED: Final = (
    ("start of a run, to the kernel body", "overheads.start.to_body_s"),
    ("start of a run, to the first byte", "overheads.start.to_first_byte_s"),
    ("end of a run", "overheads.tear_down.duration_s"),
    ("first execution, once", "overheads.first_execution.extra_s"),
    ("launch floor, device_execution", "overheads.launch.device_execution.floor_s"),
    ("launch floor, device_total", "overheads.launch.device_total.floor_s"),
    ("launch floor, framework_window", "overheads.launch.framework_window.floor_s"),
    ("DMA fixed cost, static", "dma.fixed.static.total_s"),
    ("DMA fixed cost, software dynamic", "dma.fixed.software.total_s"),
    ("DMA fixed cost, hardware dynamic", "dma.fixed.hardware.total_s"),
    ("engine to engine", "overheads.hop.any.latency_s"),
    ("activation table load", "overheads.table_load.duration_s"),
    ("instruction to instruction, least", "instructions.any.interval_floor_cycles"),
    ("matmul instruction, latency", "instructions.tensor.matmul.latency_cycles"),
    ("Vector instruction, latency", "instructions.vector.any.latency_cycles"),
    ("Scalar instruction, latency", "instructions.scalar.any.latency_cycles"),
)
"""What costs time whatever the work is: label and path in the model file."""

_DMA: Final = (
    ("engines of a core", "dma.engines_count"),
    ("queues of an engine", "dma.queues_per_engine_count"),
    ("link of an engine", "dma.link_bytes_per_s"),
    ("sustained by an engine", "dma.sustained.engine_bytes_per_s"),
    ("bytes a partition, recommended", "dma.size.recommended_bytes"),
    ("bytes a partition, full rate", "dma.size.saturating_bytes"),
)

_BINARY: Final = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table of the card; columns in ``numeric`` are set right-aligned, the last cites a source.

    The name of the first column says what the table is about.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int]
    note: str = ""


class Sources:
    """Numbered sources, in the order they are first cited."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def cite(self, source: str) -> str:
        """Return the number of a source."""
        return str(self.numbers.setdefault(source, len(self.numbers) + 1))


def setting(hardware: Hardware) -> tuple[str, str]:
    """Return what the chip is, and how it is seen."""
    neighbours = "busy" if hardware.neighbours_busy else "idle"
    working = f"{hardware.working_cores} working, neighbours {neighbours}"
    cores = f"{hardware.cores_per_chip} cores of generation {hardware.generation}"
    return (
        f"{hardware.name}: {hardware.chip}, {cores}",
        f"Seen from one {hardware.scope}: LNC {hardware.lnc}, {working}",
    )


def sheets(hardware: Hardware, sources: Sources) -> tuple[Sheet, ...]:
    """Return engines, their roofs, memories, DMA, roofs of memory and DMA, and fixed times.

    Roofs are of the view (all working cores); clocks, arrays, sizes and counts of one core.
    """
    roofs = hardware.roofs()
    return (
        _engines(hardware, sources),
        _roofs("Engine roofs", [one for one in roofs if one.unit != "B/s"], hardware, sources),
        _memories(hardware, sources),
        _known("DMA", _DMA, hardware, sources),
        _roofs("Memory roofs", [one for one in roofs if one.unit == "B/s"], hardware, sources),
        _known("Fixed times", FIXED, hardware, sources),
    )


def _engines(hardware: Hardware, sources: Sources) -> Sheet:
    rows = []
    for engine in (*COMPUTE_ENGINES, "sync"):
        clock = hardware.values.get(f"engines.{engine}.clock_hz")
        if clock is None:
            rows.append((VENDOR_NAMES[engine], "unknown", "unknown", "", ""))
            continue
        rows.append(
            (
                VENDOR_NAMES[engine],
                format_si(clock.value, "Hz"),
                _width(hardware, engine),
                clock.quality,
                sources.cite(clock.source),
            )
        )
    return Sheet(
        columns=("Engines of a core", "clock", "works on", "known as", "src"),
        rows=tuple(rows),
        numeric=frozenset({1, 4}),
    )


def _width(hardware: Hardware, engine: str) -> str:
    def count(name: str) -> int | None:
        found = hardware.values.get(f"engines.{engine}.{name}_count")
        return None if found is None else int(found.value)

    if rows := count("rows"):
        return f"{rows} x {count('columns')} array"
    lanes, processors = count("lanes"), count("processors")
    parts = [f"{lanes} lanes" if lanes else "", f"{processors} processors" if processors else ""]
    return ", ".join(filter(None, parts)) or "control only"


def _memories(hardware: Hardware, sources: Sources) -> Sheet:
    return Sheet(
        columns=("Memories", "size", "of", "made of", "known as", "src"),
        rows=tuple(_memory(hardware, sources)),
        numeric=frozenset({1, 5}),
    )


def _memory(hardware: Hardware, sources: Sources) -> Iterator[tuple[str, ...]]:
    def count(path: str) -> float:
        return hardware.value(f"memories.{path}").value

    def partitions(name: str) -> str:
        return (
            f"{count(f'{name}.partitions_count'):.0f} partitions of "
            f"{_size(count(f'{name}.partition_bytes'))}"
        )

    parts = {
        "hbm": f"{count('hbm.stacks_count'):.0f} stacks, cores to a stack: "
        f"{count('hbm.cores_per_stack_count'):.0f}",
        "sbuf": partitions("sbuf"),
        "psum": f"{partitions('psum')}, {count('psum.banks_count'):.0f} banks",
    }
    for name, made_of in parts.items():
        size = hardware.value(f"memories.{name}.capacity_bytes")
        yield (
            name.upper(),
            _size(size.value),
            "chip" if name == "hbm" else "core",
            made_of,
            size.quality,
            sources.cite(size.source),
        )


def _roofs(title: str, roofs: list[Roof], hardware: Hardware, sources: Sources) -> Sheet:
    rows = []
    starred = False
    for roof in roofs:
        star = "*" if roof.scope == "core" != hardware.scope else ""
        starred |= bool(star)
        rows.append(
            (
                f"{roof.name.replace(f' {roof.kind}', '')}{star}",
                format_si(roof.value, roof.unit.replace("element", "elem"), digits=4),
                roof.kind,
                roof.quality,
                _spread(roof, ""),
                sources.cite(roof.source),
            )
        )
    return Sheet(
        columns=(title, "value", "kind", "known as", "spread", "src"),
        rows=tuple(rows),
        numeric=frozenset({1, 5}),
        note="* one core, whatever the LNC" if starred else "",
    )


def _known(
    title: str, paths: tuple[tuple[str, str], ...], hardware: Hardware, sources: Sources
) -> Sheet:
    rows = []
    for label, path in paths:
        number = hardware.values.get(path)
        if number is None:
            rows.append((label, "unknown", "", "", ""))
            continue
        rows.append(
            (
                label,
                _text(number.value, number.unit),
                number.quality,
                _spread(number, "1" if number.unit == "cycle" else number.unit),
                sources.cite(number.source),
            )
        )
    return Sheet(
        columns=(title, "value", "known as", "spread", "src"),
        rows=tuple(rows),
        numeric=frozenset({1, 4}),
    )


def _text(value: float, unit: str) -> str:
    if unit == "B":
        return _size(value)
    if unit in ("1", "cycle"):
        return f"{value:g} {unit}".removesuffix(" 1")
    return format_si(value, unit)


def _size(value: float) -> str:
    """Return a size in the largest binary unit that it is a whole number of."""
    name, unit = next(
        ((name, unit) for name, unit in _BINARY if value >= unit and value % unit == 0), ("B", 1)
    )
    return f"{value / unit:,.0f} {name}"


def _spread(number: Quantity | Roof, unit: str) -> str:
    if number.low is None and number.high is None:
        return ""
    bounds = (number.value if bound is None else bound for bound in (number.low, number.high))
    return "..".join(_text(bound, unit).replace(" ", "") for bound in bounds)
