"""CSV files saved from the Explorer's user interface: ``Instruction.csv`` and its like."""

from __future__ import annotations

from pathlib import Path

from roofline.captures.capture import Capture
from roofline.captures.registry import Reader


def _sniff(path: Path, head: bytes) -> bool:
    from roofline.captures.explorer.csv_export import csv_files, csv_table

    if path.is_dir():
        return bool(csv_files(path))
    header = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace")
    return "," in header and csv_table(header.rstrip("\r").split(",")) is not None


def _open(path: Path, compat: str | None) -> Capture:
    from roofline.captures.explorer.csv_export import open_explorer_csv

    return open_explorer_csv(path, compat)


READER = Reader(
    format="explorer-csv",
    what="CSV saved from the user interface of neuron-explorer (sampled)",
    sniff=_sniff,
    open=_open,
)
