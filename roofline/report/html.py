"""Blocks and interactive figures as one HTML page that needs no other file and no network."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from roofline import __version__
from roofline.report.blocks import Block, Bullets, Entries, FigureBlock, Heading, Paragraph, Table
from roofline.report.panels import Panel, pooled

__all__ = ["to_html"]

_TEMPLATES: Final = Path(__file__).parent / "templates"
_ROWS: Final = 100  # of a table that are in the page as HTML; the script shows the others
_UNSAFE: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028",
                  "\u2029": "\\u2029"}  # fmt: skip


def to_html(
    title: str,
    blocks: Sequence[Block],
    *,
    panels: Sequence[Panel] = (),
) -> str:
    """Return the page.

    A figure block becomes the panel of its key; without one it is left out. Everything else is
    escaped.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from roofline.plots.page.document import document_json, library_script
    from roofline.plots.page.theme import PALETTES

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shown = _in_order(blocks, panels)
    document, roots = document_json(
        [plot for panel in shown.values() for plot, _, _ in panel.plots]
    )
    plain = [_plain(block, shown) for block in blocks]
    kept = [block for block in plain if block]
    sections = _sections(kept)
    about, entries = pooled(list(shown.values()))
    data = {
        "about": about,
        "palettes": PALETTES,
        "document": document,
        "roots": roots,
        "panels": {
            key: {"kind": panel.kind, "about": entries[key], **panel.data}
            for key, panel in shown.items()
        },
        "tables": _rests(kept),
    }
    return environment.get_template("page.html").render(
        title=title,
        version=__version__,
        sections=sections,
        style=Markup((_TEMPLATES / "page.css").read_text(encoding="utf-8")),
        library=Markup(_in_script(library_script())) if shown else "",
        scripts=[
            Markup(_in_script((_TEMPLATES / name).read_text(encoding="utf-8")))
            for name in ("tables.js", "plots.js", "blocks.js", "timeline.js", "page.js")
        ],
        data=Markup(script_json(data)),
    )


def _in_order(blocks: Sequence[Block], panels: Sequence[Panel]) -> dict[str, Panel]:
    """Return panels by key as the blocks show them: Bokeh puts roots into elements in order."""
    held = {panel.key: panel for panel in panels}
    stems = [block.stem for block in blocks if isinstance(block, FigureBlock)]
    return {stem: held[stem] for stem in stems if stem in held}


def script_json(data: Any) -> str:
    """Return JSON that is inert inside a script element, whatever texts it holds."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text


def _in_script(code: str) -> str:
    """Return our own or the library's code such that nothing in it ends its script element."""
    return re.sub(r"</(?=script)", r"<\\/", code, flags=re.IGNORECASE).replace("<!--", "<\\!--")


def _sections(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return blocks by section: what comes before the first heading of level 2, then one each."""
    sections: list[dict[str, Any]] = [{"id": "top", "title": "", "blocks": []}]
    used: set[str] = {"top"}
    for block in blocks:
        if block["kind"] == "Heading" and block["level"] == 2:
            base = re.sub(r"[^a-z0-9]+", "-", block["text"].lower()).strip("-")[:40] or "section"
            name, number = base, 2
            while name in used:
                name, number = f"{base}-{number}", number + 1
            used.add(name)
            sections.append(
                {"id": name, "title": block["text"], "short": block["short"], "blocks": []}
            )
        else:
            sections[-1]["blocks"].append(block)
    return [one for one in sections if one["blocks"]]


def _rests(blocks: Sequence[dict[str, Any]]) -> list[list[tuple[str, ...]]]:
    """Number the tables, and return the rows of each that are not in the page as HTML."""
    rests: list[list[tuple[str, ...]]] = []
    inside = (
        entry["each"] for one in blocks if one["kind"] == "Entries" for entry in one["entries"]
    )
    for block in (*blocks, *filter(None, inside)):
        if block["kind"] == "Table":
            block["number"] = len(rests)
            rests.append(block.pop("rest"))
    return rests


def _plain(block: Block, panels: Mapping[str, Panel]) -> dict[str, Any] | None:
    kind = type(block).__name__
    match block:
        case Heading():
            short = block.short or block.text
            return {"kind": kind, "text": block.text, "level": block.level, "short": short}
        case Paragraph():
            return {"kind": kind, "text": block.text}
        case Bullets():
            return {"kind": kind, "entries": block.items}
        case Entries():
            return {
                "kind": kind,
                "entries": [
                    {
                        "title": entry.title,
                        "lines": entry.lines,
                        "each": _plain(entry.each, panels) if entry.each else None,
                    }
                    for entry in block.items
                ],
            }
        case FigureBlock():
            panel = panels.get(block.stem)
            return None if panel is None else {"kind": "Panel", "alt": block.alt, "panel": panel}
        case Table():
            return {
                "kind": kind,
                "columns": block.columns,
                "rows": block.rows[:_ROWS],
                "rest": list(block.rows[_ROWS:]),
                "total": len(block.rows),
                "numeric": block.numeric,
                "note": block.note,
            }
