"""The Capture: one profiled execution, whatever file it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.decoding import decoding
from roofline.captures.plausible import check_numbers
from roofline.errors import CaptureError, MissingTableError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SEVERITIES", "TABLES", "Capture", "Issue", "Overview", "TableSource"]

TABLES: Final = ("instructions", "dma", "semaphores", "active", "throttle", "tensors")
"""Event tables a capture can hold; readers may add more (``transfers``, ``cpu_ops`` ...)."""

SEVERITIES: Final = ("info", "repaired", "estimated", "missing", "lost", "contradiction")

TableSource = Callable[[Sequence[str] | None], "pa.Table"]
"""Decodes one table; the argument names the wanted columns, ``None`` means all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One statement about data quality: what is missing, lost, repaired or estimated.

    ``count`` counts records, rows or bytes as ``what`` says; ``None`` where it is not known.
    """

    id: str
    severity: str
    what: str
    table: str = ""
    count: int | None = None

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise CaptureError(f"issue {self.id}: unknown severity {self.severity!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a reader can tell at once, without decoding tables.

    ``counts`` maps a table to its size in what ``counted`` names (``records``, ``rows``);
    ``span_ns`` is the time of the execution in ns. ``issues`` are those that need no decoding.
    """

    counts: Mapping[str, int]
    counted: str
    span_ns: int | None = None
    issues: Sequence[Issue] = ()


@dataclass(frozen=True, kw_only=True)
class Capture:
    """One profiled execution: tables, summary, metadata and data quality.

    Tables are Arrow tables with dictionary-encoded strings, decoded when first asked for. Column
    names follow the vendor's Parquet schema 7.4 where a column exists there. Times are int64 ns
    (``start_ts``, ``end_ts``, ``duration_ns``), and int64 ps (``start_ps``, ``end_ps``) where the
    trace has them. ``engine`` holds canonical keys (``tensor`` ...), ``pcore_idx`` the physical
    core inside the logical core.

    ``summary`` holds the vendor's field names and units (times s, percentages as fractions);
    an absent field is unknown or not applicable, never zero. ``metadata`` holds at least what is
    known of: ``instance_type``, ``hardware`` (``trn2`` ...), ``lnc``, ``cores`` (number of
    physical cores seen), ``versions``, ``uuid``. ``quality`` tells what is wrong with the data.
    ``overview_source`` answers at once what a file holds; without one, tables are decoded.
    """

    path: Path
    format: str
    compat: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, TableSource] = field(default_factory=dict, repr=False)
    summary_source: Callable[[], Mapping[str, Any]] = field(default=dict, repr=False)
    quality_source: Callable[[], Sequence[Issue]] = field(default=tuple, repr=False)
    overview_source: Callable[[], Overview | None] = field(default=lambda: None, repr=False)
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def has(self, name: str) -> bool:
        """Whether the capture holds table ``name`` (it may be empty: that is not absent)."""
        return name in self.sources

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return table ``name``, or only ``columns`` of it, decoding no more than is asked.

        Raises ``MissingTableError`` when the capture has no such table or column.
        """
        source = self.sources.get(name)
        if source is None:
            held = ", ".join(self.sources) or "none"
            raise MissingTableError(
                f"{self.path}: a {self.format} capture without a table {name!r}; held: {held}"
            )
        whole = self._cache.get(name)
        if whole is None and columns is None:
            whole = self._cache[name] = self._decoded(name, source, None)
        if whole is None and columns is not None:
            key = f"{name}:{','.join(columns)}"
            if key not in self._cache:
                self._cache[key] = self._decoded(name, source, columns)
            table = self._cache[key]
        else:
            table = whole
        if columns is None:
            return table
        absent = [column for column in columns if column not in table.column_names]
        if absent:
            raise MissingTableError(
                f"{self.path}: table {name!r} has no column {', '.join(map(repr, absent))}; "
                f"held: {', '.join(table.column_names)}"
            )
        return table.select(list(columns))

    def _decoded(self, name: str, source: TableSource, columns: Sequence[str] | None) -> pa.Table:
        """Return what a source gives; what it cannot decode or cannot be is a ``CaptureError``."""
        with decoding(self.path, f"table {name!r}"):
            table = source(columns)
        check_numbers(str(self.path), name, table)
        return table

    @property
    def instructions(self) -> pa.Table:
        """One row per executed instruction."""
        return self.table("instructions")

    @property
    def dma(self) -> pa.Table:
        """One row per DMA packet."""
        return self.table("dma")

    @property
    def semaphores(self) -> pa.Table:
        """One row per semaphore update."""
        return self.table("semaphores")

    @property
    def active(self) -> pa.Table:
        """Merged busy spans per engine and core."""
        return self.table("active")

    @property
    def throttle(self) -> pa.Table:
        """Limits of the Tensor engine over time: k of n."""
        return self.table("throttle")

    @property
    def tensors(self) -> pa.Table:
        """Tensors of the program, with role and size in bytes."""
        return self.table("tensors")

    @property
    def summary(self) -> Mapping[str, Any]:
        """Summary fields by the vendor's names and units; what is absent is not known."""
        if "summary" not in self._cache:
            with decoding(self.path, "the summary"):
                self._cache["summary"] = MappingProxyType(dict(self.summary_source()))
        value: Mapping[str, Any] = self._cache["summary"]
        return value

    @property
    def quality(self) -> tuple[Issue, ...]:
        """What is missing, lost, repaired or estimated in this capture."""
        if "quality" not in self._cache:
            with decoding(self.path, "the quality of the data"):
                self._cache["quality"] = tuple(self.quality_source())
        value: tuple[Issue, ...] = self._cache["quality"]
        return value
