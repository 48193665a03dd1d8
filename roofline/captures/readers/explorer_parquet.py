"""A folder of Parquet files, as ``neuron-explorer view --ingest-only`` writes it."""

from __future__ import annotations

from pathlib import Path

from roofline.captures.capture import Capture
from roofline.captures.registry import Reader


def _sniff(path: Path, head: bytes) -> bool:  # noqa: ARG001
    if not path.is_dir():
        return False
    from roofline.captures.explorer.parquet_folder import find_profiles
    from roofline.errors import CaptureError

    try:
        return bool(find_profiles(path))
    except CaptureError:
        return False


def _open(path: Path, compat: str | None) -> Capture:
    from roofline.captures.explorer.parquet_folder import open_parquet_folder

    return open_parquet_folder(path, compat)


READER = Reader(
    format="explorer-parquet",
    what="Parquet folder of neuron-explorer, schema 7.4 and its neighbours",
    sniff=_sniff,
    open=_open,
)
