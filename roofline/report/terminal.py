"""Blocks as text for a terminal: fits 80 columns, no colour unless it is asked for."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from roofline.report.blocks import Block, Bullets, Entries, Heading, Paragraph, Table

__all__ = ["to_text"]


def to_text(blocks: Sequence[Block], *, width: int = 80) -> str:
    """Return blocks as plain text of at most ``width`` columns, figures left out."""
    parts = [text for block in blocks if (text := _block(block, width))]
    return "\n\n".join(parts) + "\n"


def _block(block: Block, width: int) -> str:
    match block:
        case Heading():
            lines = textwrap.wrap(block.text, width)
            rule = "=" if block.level == 1 else "-"
            return "\n".join([*lines, rule * max(map(len, lines), default=0)])
        case Paragraph():
            return textwrap.fill(block.text, width)
        case Bullets():
            return "\n".join(
                textwrap.fill(item, width, initial_indent="- ", subsequent_indent="  ")
                for item in block.items
            )
        case Entries():
            return "\n".join(
                "\n".join(
                    (
                        textwrap.fill(f"{number}. {title}", width, subsequent_indent="   "),
                        *(
                            textwrap.fill(
                                f"{name}: {text}",
                                width,
                                initial_indent="   ",
                                subsequent_indent="     ",
                            )
                            for name, text in lines
                        ),
                    )
                )
                for number, (title, lines) in enumerate(block.items, 1)
            )
        case Table():
            return _table(block, width)
        case _:
            return ""


def _table(table: Table, width: int) -> str:
    """Columns as wide as they need; the widest are wrapped when the table does not fit.

    Lines break between words and not inside figures; others only where that is not enough. A
    word of more than a third of the table is broken before other columns are.
    """
    cells = [table.columns, *table.rows]
    columns = list(zip(*cells, strict=True))
    widths = [max(1, *map(len, column)) for column in columns]
    room = width - 2 * (len(widths) - 1)
    words = [
        size
        if index in table.numeric
        else min(room // 3, max((len(word) for cell in column for word in cell.split()), default=1))
        for index, (column, size) in enumerate(zip(columns, widths, strict=True))
    ]
    while sum(widths) > room and max(widths) > 4:
        spare = [size if size > word else 0 for size, word in zip(widths, words, strict=True)]
        widest = spare if any(spare) else widths
        widths[widest.index(max(widest))] -= 1
    lines = []
    for number, row in enumerate(cells):
        wrapped = [
            textwrap.wrap(cell, size, break_on_hyphens=False) or [""]
            for cell, size in zip(row, widths, strict=True)
        ]
        for depth in range(max(map(len, wrapped))):
            pieces = []
            for index, (part, size) in enumerate(zip(wrapped, widths, strict=True)):
                text = part[depth] if depth < len(part) else ""
                pieces.append(text.rjust(size) if index in table.numeric else text.ljust(size))
            lines.append("  ".join(pieces).rstrip())
        if number == 0:
            lines.append("  ".join("-" * size for size in widths))
    if table.note:
        lines += ["", textwrap.fill(table.note, width)]
    return "\n".join(lines)
