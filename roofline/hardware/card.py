"""What the hardware models say, as text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from roofline.engines import ELEMENT_ENGINES, VENDOR_NAMES
from roofline.hardware.describe import ceiling_or_none, list_hardware
from roofline.hardware.model import Hardware
from roofline.hardware.roof import ROOF_KINDS, Roof
from roofline.quantity import Quantity
from roofline.units import format_si

__all__ = ["show", "show_list", "show_values"]

WIDTH: Final = 80

_FIXED: Final = (
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
)


def show_list() -> str:
    """Return the known models as a table, rates of one physical core."""
    rows = [("name", "chip", "core", "cores", "LNC", "bf16/core", "HBM stack", "DMA/core")]
    records = list_hardware()
    for item in records:
        choices = "/".join(map(str, item["lnc_choices"]))
        rows.append(
            (
                item["name"],
                item["chip"],
                item["core"].removeprefix("NeuronCore-"),
                str(item["cores_per_chip"]),
                choices,
                format_si(item["tensor_bf16_flop_per_s"], "FLOP/s"),
                format_si(item["hbm_stack_bytes_per_s"], "B/s"),
                format_si(item["dma_link_bytes_per_s"], "B/s"),
            )
        )
    names = [f"{item['name']}: {', '.join(item['instances'])}" for item in records]
    return "\n".join([*_table(rows, "lllrrrrr"), "", "Instances", *_indented(names)])


def show(hardware: Hardware) -> str:
    """Return the card of a model: roofs with kind and source, ridges, modes, fixed times."""
    sources = _Sources()
    lines = [
        *_head(hardware),
        *textwrap.wrap(f"Instances: {', '.join(hardware.instances) or 'none named'}", WIDTH),
        "",
        *_roof_table(hardware, sources),
        "",
        *_ridge_table(hardware),
        "",
        *_mode_table(hardware, sources),
        "",
        *_fixed_table(hardware, sources),
        "",
        *_notes(hardware),
        "",
        "Sources",
        *sources.lines(),
    ]
    return "\n".join(lines)


def show_values(hardware: Hardware) -> str:
    """Return every number of the model file, one a line: path, value, unit, kind."""
    rows = [
        (
            path,
            f"{number.value:.10g}",
            number.unit,
            number.quality,
            "" if number.low is None and number.high is None else f"{number.low}..{number.high}",
        )
        for path, number in hardware.values.items()
    ]
    return "\n".join(_table(rows, "lrlll"))


def _head(hardware: Hardware) -> tuple[str, str]:
    neighbours = "busy" if hardware.neighbours_busy else "idle"
    working = f"{hardware.working_cores} working, neighbours {neighbours}"
    cores = f"{hardware.cores_per_chip} cores of generation {hardware.generation}"
    return (
        f"{hardware.name}: {hardware.chip}, {cores}",
        f"Seen from one {hardware.scope}: LNC {hardware.lnc}, {working}",
    )


class _Sources:
    """Numbered sources, in the order they are first cited."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def cite(self, source: str) -> str:
        return str(self.numbers.setdefault(source, len(self.numbers) + 1))

    def lines(self) -> list[str]:
        return [
            line
            for source, number in self.numbers.items()
            for line in textwrap.wrap(
                source, WIDTH, initial_indent=f"{number:>4}  ", subsequent_indent=" " * 6
            )
        ]


def _roof_table(hardware: Hardware, sources: _Sources) -> list[str]:
    rows = [("Roof", "value", "kind", "known as", "spread", "src")]
    starred = False
    for roof in hardware.roofs():
        star = "*" if roof.scope == "core" != hardware.scope else ""
        starred |= bool(star)
        unit = roof.unit.replace("element", "elem")
        rows.append(
            (
                f"  {roof.name.replace(f' {roof.kind}', '')}{star}",
                format_si(roof.value, unit, digits=4),
                roof.kind,
                roof.quality,
                _spread(roof, ""),
                sources.cite(roof.source),
            )
        )
    lines = _table(rows, "lrlllr")
    if starred:
        lines.append("  * one core, whatever the LNC")
    chip = ", ".join(
        f"{roof.name} {format_si(roof.value, roof.unit, digits=4)}"
        for roof in hardware.chip_roofs()
        if roof.dtype in ("", "bf16")
    )
    return [*lines, *textwrap.wrap(f"Whole chip: {chip}.", WIDTH)]


def _ridge_table(hardware: Hardware) -> list[str]:
    kinds = [kind for kind in ROOF_KINDS if kind != "vendor"]
    ceilings = [ceiling_or_none(hardware, kind) for kind in kinds]
    rows = [("Ridge, FLOP/B", *kinds)]
    rows.append(("  over", *("unknown" if roof is None else roof.name for roof in ceilings)))
    rows += [
        (
            f"  Tensor {dtype}",
            *(
                "unknown" if roof is None else f"{hardware.ridge(dtype, kind):.1f}"
                for kind, roof in zip(kinds, ceilings, strict=True)
            ),
        )
        for dtype in hardware.tensor_dtypes()
    ]
    lines = _table(rows, "lrrr")
    if ceiling_or_none(hardware, "vendor") is not None:
        lines += textwrap.wrap(
            f"The vendor's summary divides one core's bf16 peak by a whole stack: "
            f"{hardware.vendor_ridge():.2f} FLOP/B.",
            WIDTH,
        )
    return lines


def _mode_table(hardware: Hardware, sources: _Sources) -> list[str]:
    lines = ["Elements per lane and cycle, and the instructions that reach them"]
    for engine in ELEMENT_ENGINES:
        for rule in hardware.modes:
            if rule.engine != engine:
                continue
            where = ", ".join(
                part
                for part in (
                    "any dtype" if "*" in rule.dtypes else "/".join(rule.dtypes),
                    "" if "psum" in rule.operands else " or ".join(rule.operands),
                    "contiguous" if rule.contiguous else "",
                    "" if rule.broadcast else "no broadcast",
                )
                if part
            )
            what = "any instruction" if "*" in rule.operations else ", ".join(rule.operations)
            text = f"{what}: {where} ({rule.quality}, {sources.cite(rule.source)})"
            head = f"  {VENDOR_NAMES[engine]:<7}{rule.elements_per_lane_per_cycle:>6g}x  "
            lines += textwrap.wrap(
                text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
            )
    return lines


def _fixed_table(hardware: Hardware, sources: _Sources) -> list[str]:
    rows = [("Fixed times", "value", "known as", "spread", "src")]
    for label, path in _FIXED:
        number = hardware.values.get(path)
        if number is None:
            rows.append((f"  {label}", "unknown", "", "", ""))
            continue
        rows.append(
            (
                f"  {label}",
                format_si(number.value, number.unit),
                number.quality,
                _spread(number, number.unit),
                sources.cite(number.source),
            )
        )
    return _table(rows, "lrllr")


def _notes(hardware: Hardware) -> list[str]:
    noted = [(roof.name, roof.note) for roof in hardware.roofs()]
    noted += [
        (label, hardware.values[path].note) for label, path in _FIXED if path in hardware.values
    ]
    texts: dict[str, str] = {}
    for name, note in noted:
        if note:
            texts.setdefault(note, name)
    return ["Notes", *_indented(f"{name}: {note}" for note, name in texts.items())]


def _spread(number: Quantity | Roof, unit: str) -> str:
    if number.low is None and number.high is None:
        return ""
    bounds = (number.value if bound is None else bound for bound in (number.low, number.high))
    return "..".join(format_si(bound, unit).replace(" ", "") for bound in bounds)


def _table(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """Return aligned lines; ``align`` has one ``l`` or ``r`` a column."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(align))]
    return [
        "  ".join(
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, align, strict=True)
        ).rstrip()
        for row in rows
    ]


def _indented(lines: Iterable[str]) -> list[str]:
    return [
        part
        for line in lines
        for part in textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent="    ")
    ]
