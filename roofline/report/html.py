"""Blocks as one HTML page that needs no other file and no network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roofline.report.blocks import Block, Bullets, Entries, FigureBlock, Heading, Paragraph, Table

__all__ = ["to_html"]

_TEMPLATES = Path(__file__).parent / "templates"
_ID = re.compile(r'(\bid="|url\(#|xlink:href="#|href="#)')


def to_html(title: str, blocks: Sequence[Block], svgs: Mapping[str, str]) -> str:
    """Return the page; ``svgs`` maps the stems of figure blocks to SVG texts of our own drawing."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    page = environment.get_template("page.html")
    return page.render(title=title, blocks=[_plain(block, svgs) for block in blocks])


def _plain(block: Block, svgs: Mapping[str, str]) -> dict[str, Any]:
    kind = type(block).__name__
    match block:
        case Heading():
            return {"kind": kind, "text": block.text, "level": block.level}
        case Paragraph():
            return {"kind": kind, "text": block.text}
        case Bullets() | Entries():
            return {"kind": kind, "entries": block.items}
        case FigureBlock():
            return {"kind": kind, "alt": block.alt, "svg": _inline(block.stem, svgs[block.stem])}
        case Table():
            return {
                "kind": kind,
                "columns": block.columns,
                "rows": block.rows,
                "numeric": block.numeric,
                "note": block.note,
            }


def _inline(stem: str, svg: str) -> str:
    """Return the svg element alone, its ids made unique among the figures of the page."""
    start = svg.index("<svg")
    return _ID.sub(rf"\g<1>{stem}-", svg[start:])
