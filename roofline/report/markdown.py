"""Blocks as Markdown, for pull requests and for reading on the web."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.report.blocks import (
    Block,
    Bullets,
    Entries,
    Entry,
    FigureBlock,
    Heading,
    Paragraph,
    Table,
)

__all__ = ["to_markdown"]

_MARKUP = ("\\", "`", "*", "[")  # an underscore inside a word is none


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return blocks as one Markdown text that ends with a line feed."""
    return "\n\n".join(_block(block) for block in blocks) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {_text(block.text)}"
        case Paragraph():
            return _text(block.text)
        case Bullets():
            return "\n".join(f"- {_text(item)}" for item in block.items)
        case Entries():
            return "\n".join(
                _entry(f"{number}. ", entry) for number, entry in enumerate(block.items, 1)
            )
        case FigureBlock():
            return f"![{_text(block.alt)}]({block.stem}.svg)"
        case Table():
            return _table(block)


def _entry(number: str, entry: Entry) -> str:
    """Return an item of a numbered list, with what it sums up as a table inside it."""
    inside = " " * len(number)
    lines = [f"{number}**{_text(entry.title)}**"]
    lines += [f"{inside}- {_text(name)}: {_text(text)}" for name, text in entry.lines]
    if entry.each is not None:
        rows = [f"{inside}{line}".rstrip() for line in _table(entry.each).splitlines()]
        lines += ["", *rows, ""]
    return "\n".join(lines)


def _table(table: Table) -> str:
    rule = ["---:" if index in table.numeric else "---" for index in range(len(table.columns))]
    lines = [_row(table.columns), _row(rule), *(_row(row) for row in table.rows)]
    if table.note:
        lines += ["", _text(table.note)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_text(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _text(text: str) -> str:
    """Names of kernels may hold anything: keep them from becoming markup."""
    out = " ".join(text.split())
    for mark in _MARKUP:
        out = out.replace(mark, f"\\{mark}")
    return out.replace("<", "&lt;")
