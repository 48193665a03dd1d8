"""The formats a capture can be written in."""

from __future__ import annotations

from pathlib import Path

from roofline.captures.capture import Capture
from roofline.errors import CaptureError

__all__ = ["write_capture"]


def write_capture(capture: Capture, output: Path, kind: str) -> dict[str, int]:
    """Write ``capture`` as ``parquet`` (a folder) or ``perfetto`` (a file).

    Returns rows by table, or events by kind. Raises ``CaptureError`` when the output is of the
    wrong kind: a file where a folder is wanted, or the other way round.
    """
    if kind == "parquet":
        from roofline.captures.export.explorer import write_explorer

        if output.exists() and not output.is_dir():
            raise CaptureError(f"{output}: Parquet goes into a folder, and this is a file")
        return write_explorer(capture, output)
    if kind == "perfetto":
        from roofline.captures.export.perfetto import write_perfetto

        if output.is_dir():
            output = output / f"{capture.path.name.split('.')[0]}.perfetto.json"
        return write_perfetto(capture, output)
    raise CaptureError(f"unknown format {kind!r}; known: parquet, perfetto")
