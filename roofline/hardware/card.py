"""What the hardware models say, as text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from roofline.engines import ELEMENT_ENGINES, VENDOR_NAMES
from roofline.hardware.describe import ceiling_or_none, list_hardware
from roofline.hardware.model import Hardware
from roofline.hardware.roof import ROOF_KINDS
from roofline.hardware.sheets import FIXED, Sheet, Sources, setting, sheets
from roofline.units import format_si

__all__ = ["show", "show_list", "show_values"]

WIDTH: Final = 80


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
    """Return the card of a model: engines, memories and roofs with kind and source, fixed times."""
    sources = Sources()
    engines, engine_roofs, memories, dma, memory_roofs, fixed = (
        _sheet(sheet) for sheet in sheets(hardware, sources)
    )
    lines = [
        *setting(hardware),
        *textwrap.wrap(f"Instances: {', '.join(hardware.instances) or 'none named'}", WIDTH),
        "",
        *engines,
        "",
        *engine_roofs,
        "",
        *memories,
        "",
        *dma,
        "",
        *memory_roofs,
        *_chip(hardware),
        "",
        *_ridge_table(hardware),
        "",
        *_mode_table(hardware, sources),
        "",
        *fixed,
        "",
        *_notes(hardware),
        "",
        "Sources",
        *_listed(sources),
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


def _sheet(sheet: Sheet) -> list[str]:
    rows = [sheet.columns, *((f"  {row[0]}", *row[1:]) for row in sheet.rows)]
    sides = ("r" if index in sheet.numeric else "l" for index in range(len(sheet.columns)))
    lines = _table(rows, "".join(sides))
    return [*lines, f"  {sheet.note}"] if sheet.note else lines


def _listed(sources: Sources) -> list[str]:
    return [
        line
        for source, number in sources.numbers.items()
        for line in textwrap.wrap(
            source, WIDTH, initial_indent=f"{number:>4}  ", subsequent_indent=" " * 6
        )
    ]


def _chip(hardware: Hardware) -> list[str]:
    chip = ", ".join(
        f"{roof.name} {format_si(roof.value, roof.unit, digits=4)}"
        for roof in hardware.chip_roofs()
        if roof.dtype in ("", "bf16")
    )
    return textwrap.wrap(f"Whole chip: {chip}.", WIDTH)


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


def _mode_table(hardware: Hardware, sources: Sources) -> list[str]:
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


def _notes(hardware: Hardware) -> list[str]:
    noted = [(roof.name, roof.note) for roof in hardware.roofs()]
    noted += [
        (label, hardware.values[path].note) for label, path in FIXED if path in hardware.values
    ]
    texts: dict[str, str] = {}
    for name, note in noted:
        if note:
            texts.setdefault(note, name)
    return ["Notes", *_indented(f"{name}: {note}" for note, name in texts.items())]


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
