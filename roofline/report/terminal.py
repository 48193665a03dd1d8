"""Blocks as text for a terminal: as wide as it is, prose at a measure that is read with ease."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any, Final

from roofline.report.blocks import Block, Bullets, Entries, Heading, Paragraph, Table

__all__ = ["to_text"]

_NO_BREAK: Final = "\u00a0"
_GLUED: Final = re.compile(r"(?<=\d) (?=(?:[fpnµmkMGTPE]?(?:s|B|FLOP|Hz)|[KMGT]iB|[kMGT]|%)(?!\w))")
_MEASURE: Final = 100  # columns of prose that are read with ease; tables use the whole width


def to_text(blocks: Sequence[Block], *, width: int = 80) -> str:
    """Return blocks as plain text of at most ``width`` columns, figures left out."""
    parts = [text for block in blocks if (text := _block(block, width))]
    return "\n\n".join(parts) + "\n"


def _block(block: Block, columns: int) -> str:
    width = min(columns, _MEASURE)
    match block:
        case Heading():
            lines = _wrap(block.text, width)
            rule = "=" if block.level == 1 else "-"
            return "\n".join([*lines, rule * max(map(len, lines), default=0)])
        case Paragraph():
            return _fill(block.text, width)
        case Bullets():
            return "\n".join(
                _fill(item, width, initial_indent="- ", subsequent_indent="  ")
                for item in block.items
            )
        case Entries():
            return "\n".join(
                "\n".join(
                    (
                        _fill(f"{number}. {entry.title}", width, subsequent_indent="   "),
                        *(
                            _fill(
                                f"{name}: {text}",
                                width,
                                initial_indent="   ",
                                subsequent_indent="     ",
                            )
                            for name, text in entry.lines
                        ),
                    )
                )
                for number, entry in enumerate(block.items, 1)
            )
        case Table():
            return _table(block, columns)
        case _:
            return ""


def _table(table: Table, width: int) -> str:
    """Columns as wide as they need; where the table does not fit, the widest are wrapped.

    Names of columns break first, then cells between words and not inside figures; others only
    where that is not enough. A word of more than a third of the table is broken before other
    columns are.
    """
    cells = [table.columns, *table.rows]
    columns = list(zip(*cells, strict=True))
    widths = [max(1, *map(len, column)) for column in columns]
    room = width - 2 * (len(widths) - 1)
    bodies = [max(1, _longest_word(column[:1]), *map(len, column[1:])) for column in columns]
    words = [
        body if index in table.numeric else min(room // 3, _longest_word(column))
        for index, (column, body) in enumerate(zip(columns, bodies, strict=True))
    ]
    for least in (bodies, words, [4] * len(widths), [1] * len(widths)):
        while sum(widths) > room and any(a > b for a, b in zip(widths, least, strict=True)):
            spare = [size if size > low else 0 for size, low in zip(widths, least, strict=True)]
            widths[spare.index(max(spare))] -= 1
    lines = []
    for number, row in enumerate(cells):
        wrapped = [
            _wrap(cell, size, break_on_hyphens=False) or [""]
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
        lines += ["", _fill(table.note, min(width, _MEASURE))]
    return "\n".join(lines)


def _fill(text: str, width: int, **how: Any) -> str:
    return "\n".join(_wrap(text, width, **how))


def _wrap(text: str, width: int, **how: Any) -> list[str]:
    """Return lines that keep a figure and its unit together."""
    lines = textwrap.wrap(_GLUED.sub(_NO_BREAK, text), width, **how)
    return [line.replace(_NO_BREAK, " ") for line in lines]


def _longest_word(texts: Sequence[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=1)
