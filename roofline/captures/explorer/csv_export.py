"""CSV files saved from the Explorer's user interface, as a Capture that is marked as sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roofline.captures.capture import Capture, Issue, TableSource
from roofline.captures.explorer.schema import ALIASES, TABLE_NAMES, vendor_schema
from roofline.captures.explorer.tables import Layout, logical_names, normalise, physical_names
from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CSV_TABLES", "csv_files", "csv_table", "open_explorer_csv"]

CSV_TABLES: Final = (
    "Instruction",
    "DmaPacketAggregated",
    "DmaPacket",
    "CcInstruction",
    "SemaphoreUpdate",
)
"""Tables that the user interface can save."""

_OUR_NAMES: Final = {vendor: ours for ours, vendor in TABLE_NAMES.items()}
_MARKS: Final = {
    "Instruction": {"opcode", "operands"},
    "DmaPacketAggregated": {"read_shape", "write_shape"},
    "DmaPacket": {"packet_aggregation_id", "transfer_bytes"},
    "CcInstruction": {"core_idx", "description"},
    "SemaphoreUpdate": {"timestamp", "value", "id"},
}
"""Columns that tell the tables apart, whatever the file is called."""


def csv_table(header: Sequence[str]) -> str | None:
    """Return which table a CSV header belongs to, or ``None``."""
    held = {name.strip().strip('"').lower() for name in header}
    return next((table for table, marks in _MARKS.items() if marks <= held), None)


def csv_files(folder: Path) -> dict[str, Path]:
    """Return table -> file for the CSV files of the user interface in a folder."""
    named = {table: folder / f"{table}.csv" for table in CSV_TABLES}
    return {table: path for table, path in named.items() if path.is_file()}


def open_explorer_csv(path: Path, compat: str | None) -> Capture:
    """Return the Capture of one CSV file, or of the folder that holds several.

    The user interface saves the visible range only, and samples it unless told otherwise: totals
    of such a capture are lower limits, which ``metadata["sampled"]`` and ``quality`` say.
    """
    files = csv_files(path) if path.is_dir() else {_table_of(path): path}
    sources: dict[str, TableSource] = {
        _OUR_NAMES.get(table, table): _CsvTable(table, file) for table, file in files.items()
    }
    issues = (
        Issue(
            id="sampled",
            severity="lost",
            what=(
                "saved from the user interface: only the visible range, and a sample of it unless "
                "sampling was off; do not take totals from it"
            ),
        ),
        Issue(id="absent-summary", severity="missing", what="no summary and no metadata in CSV"),
        Issue(id="unknown-hardware", severity="missing", what="a CSV does not name the chip"),
    )
    return Capture(
        path=path,
        format="explorer-csv",
        compat=compat,
        metadata={"sampled": True},
        sources=sources,
        quality_source=lambda: issues,
    )


def _table_of(path: Path) -> str:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        table = csv_table(file.readline().rstrip("\r\n").split(","))
    if table is None:
        raise CaptureError(f"{path}: not a CSV of a known table; known: {', '.join(CSV_TABLES)}")
    return table


class _CsvTable:
    """One CSV file; the file is parsed once, because CSV cannot be read by column."""

    def __init__(self, table: str, path: Path) -> None:
        self.table, self.path = table, path
        self._content: pa.Table | None = None

    def __call__(self, columns: Sequence[str] | None) -> pa.Table:
        content = self._content = self._content if self._content is not None else self._read()
        ours = _OUR_NAMES.get(self.table, self.table)
        layout = Layout(names=tuple(content.column_names), aliases=ALIASES.get(ours, {}))
        wanted = logical_names(layout) if columns is None else tuple(columns)
        physical = physical_names(layout, wanted)
        return normalise(content.select(physical), layout, wanted, str(self.path))

    def _read(self) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv

        text = {"id"} if self.table == "SemaphoreUpdate" else set()
        try:
            content = csv.read_csv(
                self.path,
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types=self._types(text),
                    null_values=["", "null", "NaN", "nan", "None"],
                    strings_can_be_null=True,
                    auto_dict_encode=True,
                ),
            )
            for name, column in zip(content.column_names, content.columns, strict=True):
                kind = (
                    column.type.value_type if pa.types.is_dictionary(column.type) else column.type
                )
                if pa.types.is_binary(kind):
                    raise CaptureError(f"{self.path}: column {name!r} is not UTF-8 text")
        except (pa.ArrowException, OSError, UnicodeError) as error:
            what = " ".join(str(error).split())
            raise CaptureError(f"{self.path}: not a readable CSV: {what}") from error
        return content

    def _types(self, text: set[str]) -> Mapping[str, pa.DataType]:
        """64-bit identifiers must not be guessed as floats, nor text as numbers."""
        import pyarrow as pa

        schema = vendor_schema()[self.table]
        whole = {"id", "packet_aggregation_id", "raw_bir_id", "start_ts", "end_ts", "duration_ns"}
        names = (*schema.required, *schema.optional)
        types = {name: pa.int64() for name in names if name in whole - text}
        return types | {name: pa.string() for name in text}
