"""The hardware of a report as a card: engines, memories, roofs and fixed times, with sources."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.hardware.model import Hardware
from roofline.hardware.sheets import Sources, setting, sheets
from roofline.report.blocks import Block, Bullets, Heading, Paragraph, Table

__all__ = ["hardware_card"]


def hardware_card(hardware: Hardware) -> Iterator[Block]:
    """Yield what ``roofline hw show`` says of a hardware, source by source."""
    sources = Sources()
    yield Heading(text=f"Hardware: {hardware.name}")
    yield Bullets(items=setting(hardware))
    yield Paragraph(
        text="Roofs hold for all working cores together, clocks, arrays and sizes for one core. "
        "Kinds: theoretical (array or lanes x clock, link rate), sustained (documented), measured "
        "(from traces), vendor (what the vendor's profiler divides by). src is the number of a "
        "source below."
    )
    for sheet in sheets(hardware, sources):
        yield Table(columns=sheet.columns, rows=sheet.rows, numeric=sheet.numeric, note=sheet.note)
    yield Heading(text="Sources of the hardware's figures", level=3)
    yield Bullets(items=tuple(f"{number}: {text}" for text, number in sources.numbers.items()))
