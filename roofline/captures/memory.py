"""Refuse at once what this machine has no memory for, instead of being ended halfway by it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from roofline.errors import CaptureError

__all__ = ["free_bytes", "require_memory"]

_MEMINFO: Final = Path("/proc/meminfo")


def free_bytes() -> int | None:
    """Return the bytes of memory this process can still take; ``None`` where nothing tells."""
    try:
        import resource

        fields = dict(line.split(":", 1) for line in _MEMINFO.read_text("ascii").splitlines())
        free = int(fields["MemAvailable"].split()[0]) << 10
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, KeyError, ValueError, IndexError):
        return None
    return free if limit == resource.RLIM_INFINITY else min(free, limit)


def require_memory(where: str, rows: int, columns: int) -> None:
    """Raise ``CaptureError`` for a table whose numbers alone, of 8 bytes, do not fit memory."""
    need, free = 8 * rows * columns, free_bytes()
    if free is not None and need > free:
        raise CaptureError(
            f"{where}: {rows} rows of {columns} columns need {need / 2**30:.1f} GiB of memory, "
            f"and {free / 2**30:.1f} GiB are free"
        )
