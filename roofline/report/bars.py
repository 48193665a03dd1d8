"""Bars and lines of text for a terminal of 80 columns; no colour, so pipes see the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["bar", "spark", "table"]

_LEVELS: Final = " ▁▂▃▄▅▆▇█"
_PARTS: Final = " ▏▎▍▌▋▊▉█"


def bar(share: float | None, width: int = 16) -> str:
    """Return a bar of ``width`` columns for a share of 1; unknown is a row of question marks.

    >>> bar(0.5, 4), bar(float("nan"), 4)
    ('██··', '????')
    """
    if share is None or math.isnan(share):
        return "?" * width
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, part = divmod(eighths, 8)
    text = "█" * full + (_PARTS[part] if part else "")
    return text.ljust(width, "·")


def spark(shares: Iterable[float]) -> str:
    """Return one character a value, higher for a larger share; a dot where there is nothing.

    >>> spark([0.0, 0.01, 0.5, 1.0])
    '·▁▄█'
    """
    return "".join(
        "·" if not share > 0 else _LEVELS[max(1, min(8, round(share * 8)))] for share in shares
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return aligned lines: the first ``left`` columns to the left, the others to the right."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]
