"""What commands ask of the terminal."""

from __future__ import annotations

__all__ = ["width"]


def width() -> int:
    """Return the columns to write for: those of the terminal up to 120, else 80."""
    import shutil

    return max(40, min(120, shutil.get_terminal_size((80, 24)).columns))
