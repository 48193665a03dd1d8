"""One table of an Explorer Parquet folder: its part files, read by column and by row group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline.captures.explorer.tables import Layout, logical_names, normalise, physical_names
from roofline.captures.memory import require_memory
from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["PacketTable", "ParquetTable"]


class ParquetTable:
    """A table in one or more part files; calling it reads columns, ``pieces`` row groups."""

    def __init__(
        self,
        name: str,
        parts: Sequence[Path],
        units: Mapping[str, str] | None = None,
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.name, self.parts = name, tuple(parts)
        self._units, self._aliases = units or {}, aliases or {}

    @cached_property
    def layout(self) -> Layout:
        """The columns of all parts together."""
        names: dict[str, None] = {}
        for part in self.parts:
            with self._open(part) as file:
                names.update(dict.fromkeys(file.schema_arrow.names))
        return Layout(names=tuple(names), units=self._units, aliases=self._aliases)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns that can be read, by our names."""
        return logical_names(self.layout)

    @cached_property
    def num_rows(self) -> int:
        """Rows of all parts, from their footers."""
        rows = 0
        for part in self.parts:
            with self._open(part) as file:
                rows += file.metadata.num_rows
        return rows

    def __call__(self, columns: Sequence[str] | None) -> pa.Table:
        """Read the wanted columns of every part."""
        import pyarrow as pa

        wanted = self.column_names if columns is None else tuple(columns)
        physical = physical_names(self.layout, wanted)
        require_memory(f"{self.parts[0].parent}: {self.name}", self.num_rows, len(physical))
        tables = []
        for part in self.parts:
            with self._open(part) as file:
                tables.append(self._read(part, file, physical))
        try:
            whole = (
                tables[0]
                if len(tables) == 1
                else pa.concat_tables(tables, promote_options="permissive")
            )
        except pa.ArrowException as error:
            raise CaptureError(
                f"{self.parts[0].parent}: the parts of {self.name} do not fit together: "
                f"{' '.join(str(error).split())}"
            ) from error
        return normalise(whole, self.layout, wanted, f"{self.parts[0].parent}: {self.name}")

    def pieces(
        self, columns: Sequence[str] | None, window: tuple[int, int] | None
    ) -> Iterator[pa.Table]:
        """Yield row groups with the wanted columns, leaving out those outside the window."""
        wanted = self.column_names if columns is None else tuple(columns)
        physical = physical_names(self.layout, wanted)
        for part in self.parts:
            with self._open(part) as file:
                for group in range(file.metadata.num_row_groups):
                    if window is None or self._overlaps(file.metadata.row_group(group), window):
                        piece = self._read(part, file, physical, group)
                        yield normalise(piece, self.layout, wanted, f"{part}: {self.name}")

    def _overlaps(self, group: Any, window: tuple[int, int]) -> bool:
        """Whether a row group may hold rows within the window, by its statistics (in ns)."""
        begin, end = window
        for index in range(group.num_columns):
            chunk = group.column(index)
            statistics = chunk.statistics
            if statistics is None or not statistics.has_min_max:
                continue
            if self._units.get(chunk.path_in_schema, "nanoseconds") not in ("nanoseconds", "ns"):
                continue
            if chunk.path_in_schema in (
                self.layout.find("start_ts"),
                self.layout.find("timestamp"),
            ):
                if statistics.min >= end:
                    return False
            elif chunk.path_in_schema == self.layout.find("end_ts") and statistics.max <= begin:
                return False
        return True

    def _open(self, part: Path) -> pq.ParquetFile:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            plain = pq.read_schema(part)
            if twice := sorted({name for name in plain.names if plain.names.count(name) > 1}):
                raise CaptureError(f"{part}: column {', '.join(map(repr, twice))} is there twice")
            text = [
                field.name
                for field in plain
                if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
            ]
            return pq.ParquetFile(part, read_dictionary=text, pre_buffer=True)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise _unreadable(part, error) from error

    def _read(
        self, part: Path, file: pq.ParquetFile, physical: list[str], group: int | None = None
    ) -> pa.Table:
        import pyarrow as pa

        held = [name for name in physical if name in file.schema_arrow.names]
        try:
            table = (
                file.read(columns=held)
                if group is None
                else file.read_row_group(group, columns=held)
            )
            for column in table.columns:
                if pa.types.is_dictionary(column.type):  # damaged pages can hold wild indices
                    column.validate(full=True)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise _unreadable(part, error) from error
        return table


class PacketTable(ParquetTable):
    """DMA packets, which get the memories they move between from the transfers they belong to."""

    PLACES = ("source_memory", "dest_memory")
    _LINK = ("packet_aggregation_id", "id")

    def __init__(self, packets: ParquetTable, transfers: ParquetTable) -> None:
        super().__init__(packets.name, packets.parts, packets._units, packets._aliases)
        self._transfers = transfers

    @cached_property
    def _joined(self) -> tuple[str, ...]:
        """The columns that only the transfers have."""
        own, theirs = set(super().column_names), set(self._transfers.column_names)
        if self._LINK[0] not in own or self._LINK[1] not in theirs:
            return ()
        return tuple(place for place in self.PLACES if place in theirs and place not in own)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns that can be read, by our names."""
        return (*super().column_names, *self._joined)

    def __call__(self, columns: Sequence[str] | None) -> pa.Table:
        """Read the wanted columns of every part."""
        wanted = self.column_names if columns is None else tuple(columns)
        return self._join(super().__call__(self._with_link(wanted)), wanted)

    def pieces(
        self, columns: Sequence[str] | None, window: tuple[int, int] | None
    ) -> Iterator[pa.Table]:
        """Yield row groups with the wanted columns, leaving out those outside the window."""
        wanted = self.column_names if columns is None else tuple(columns)
        for piece in super().pieces(self._with_link(wanted), window):
            yield self._join(piece, wanted)

    def _with_link(self, wanted: Sequence[str]) -> list[str]:
        linked = any(name in self._joined for name in wanted)
        return list(dict.fromkeys((*wanted, *self._LINK[:1] * linked)))

    @cached_property
    def _places(self) -> pa.Table:
        return self._transfers((self._LINK[1], *self._joined)).combine_chunks()

    def _join(self, packets: pa.Table, wanted: Sequence[str]) -> pa.Table:
        import pyarrow.compute as pc

        joined = [name for name in wanted if name in self._joined]
        if joined:
            places = self._places
            rows = pc.index_in(packets[self._LINK[0]], places[self._LINK[1]].combine_chunks())
            for name in joined:
                packets = packets.append_column(name, pc.take(places[name], rows))
        return packets.select([name for name in wanted if name in packets.column_names])


def _unreadable(part: Path, error: Exception) -> CaptureError:
    return CaptureError(f"{part}: not a readable Parquet file: {' '.join(str(error).split())}")
