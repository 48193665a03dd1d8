"""Blocks a report is made of, independent of whether it becomes Markdown, HTML or terminal text."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Block", "Bullets", "Entries", "Entry", "FigureBlock", "Heading", "Paragraph", "Table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A section title; ``level`` 1 is the report's own. ``short`` is its name in a list."""

    text: str
    level: int = 2
    short: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Plain prose."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of texts. Columns in ``numeric`` are set right-aligned; ``note`` stands below."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A title and named lines, as (name, text); ``each`` is what the lines sum up, row by row."""

    title: str
    lines: tuple[tuple[str, str], ...]
    each: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """A numbered list of entries. A terminal leaves out what they sum up."""

    items: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureBlock:
    """A figure by the stem of its files, with a sentence that says what it shows."""

    stem: str
    alt: str


Block = Heading | Paragraph | Bullets | Entries | Table | FigureBlock
