"""The vendor's full-profile JSON as a Capture: walked once, sections decoded when asked for."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.capture import Capture, Issue, TableSource
from roofline.captures.decoding import decoding
from roofline.captures.full_json.column_kinds import Column, Context, EventTable
from roofline.captures.full_json.columns import FieldSink
from roofline.captures.full_json.schema import EVENTS, HOT, build_columns
from roofline.captures.full_json.sections import RowSink, Section, read_section, walk_sections
from roofline.captures.identity import bf16_cost, summary_identity
from roofline.captures.lazy import LazyMapping
from roofline.captures.plainfile import open_plain
from roofline.captures.summary.fields import clean_summary
from roofline.errors import CaptureError, MissingTableError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SECTIONS", "open_full_json"]

SECTIONS: Final = frozenset(
    [
        "active_time",
        "cc_ops",
        "dma",
        "dma_queues_info",
        "dma_throughput",
        "ham",
        "instruction",
        "instruction_usage",
        "layer_summary",
        "metadata",
        "model_info",
        "nc_mem_usage",
        "neff_header",
        "neff_node",
        "pending_dma",
        "profile_info",
        "semaphore_update",
        "summary",
        "summary_group_order",
        "summary_groups",
        "terminology",
        "warnings",
    ]
)
"""Member names by which this format is recognised."""

_WHOLE: Final = frozenset(
    {
        "dma_queues_info",
        "metadata",
        "model_info",
        "neff_header",
        "profile_info",
        "summary",
        "warnings",
    }
)
_EXTRA: Final = (
    "layer_summary",
    "dma_queues_info",
    "dma_throughput",
    "nc_mem_usage",
    "pending_dma",
)
"""Sections without a table of our own, given under their own names and fields."""

_TRANSFERS: Final = {"transfers": ("start_ts", "duration_ns", "end_ts", "transfer_bytes")}

_RENAMED: Final = {
    "pe_num_rows": "tensor_engine_num_rows",
    "pe_num_cols": "tensor_engine_num_cols",
    "pe_clock_freq": "tensor_engine_clock_freq",
    "pe_clock_others": "neuroncore_clock_freq",
}
"""Metadata fields that the Parquet schema names otherwise."""


def open_full_json(path: Path, compat: str | None) -> Capture:
    """Return the Capture of a full-profile JSON file, plain or gzip.

    Nothing but the head is read now; the file is walked when something is first asked for.
    """
    document = _Document(path, vendor=compat == "vendor")
    return Capture(
        path=path,
        format="full-json",
        compat=compat,
        metadata=LazyMapping(path, document.metadata),
        sources=_Sources(document),
        summary_source=document.summary,
        quality_source=document.quality,
    )


class _Sources(Mapping[str, TableSource]):
    """Table sources; ``get`` of an event table answers before the file is walked.

    That lets the first request say which columns it needs, so that one walk is enough.
    """

    def __init__(self, document: _Document) -> None:
        self._document = document

    def __getitem__(self, name: str) -> TableSource:
        document = self._document
        if (name not in EVENTS or document.walked) and name not in document.table_names():
            raise KeyError(name)
        return lambda columns: document.table(name, columns)

    def __contains__(self, name: object) -> bool:
        return name in self._document.table_names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._document.table_names())

    def __len__(self) -> int:
        return len(self._document.table_names())


class _Document:
    """One file: where its sections are, and the columns decoded so far."""

    def __init__(self, path: Path, *, vendor: bool) -> None:
        self.path, self.vendor = path, vendor
        self.walked = False
        self._sections: dict[str, Section] = {}
        self._values: dict[str, Any] = {}
        self._columns: dict[str, dict[str, pa.Array | None]] = {}
        self._file = open_plain(path)
        weakref.finalize(self, self._file.close)

    def table_names(self) -> tuple[str, ...]:
        self._walk({})
        held = [name for name, table in EVENTS.items() if table.section in self._sections]
        starts = self._columns.get("transfers", {}).get("start_ts")
        if "transfers" in held and not (starts is not None and len(starts)):
            held.remove("transfers")  # without DGE notifications there are none: not the same as 0
        return (*held, *(name for name in _EXTRA if name in self._sections))

    def table(self, name: str, columns: Sequence[str] | None) -> pa.Table:
        """Return the asked columns of a table, as far as the file has them."""
        import pyarrow as pa

        if name in _EXTRA:
            return self._extra(name)
        wanted = _picked(EVENTS[name], columns)
        everything = {other: EVENTS[other].columns for other in HOT} if columns is None else {}
        self._walk({**everything, name: wanted})
        if name not in self.table_names():
            held = ", ".join(self.table_names()) or "none"
            raise MissingTableError(
                f"{self.path}: this full-profile JSON has no table {name!r}; held: {held}"
            )
        have = self._columns.setdefault(name, {})
        lacking = tuple(column for column in wanted if column.name not in have)
        if lacking:
            sink = self._sink({name: lacking}, EVENTS[name].section)
            self._read(EVENTS[name].section, sink)
            self._keep({name: lacking}, sink)
        order = [column.name for column in wanted if have.get(column.name) is not None]
        return pa.table({key: have[key] for key in order})

    def summary(self) -> Mapping[str, Any]:
        self._walk({})
        rows = self._values.get("summary")
        first = rows[0] if isinstance(rows, list) and rows else rows
        return clean_summary(first) if isinstance(first, dict) else {}

    def metadata(self) -> Mapping[str, Any]:
        summary = self.summary()
        constants = {_RENAMED.get(k, k): v for k, v in self._first("metadata").items()}
        header, profile = self._first("neff_header"), self._first("profile_info")
        found = summary_identity(summary)
        cores = self._cores()
        if cores is not None:
            found["lnc"] = found["cores"] = cores
        versions = found.setdefault("versions", {})
        if "profiler" not in versions and profile.get("profiler_version"):
            versions["profiler"] = profile["profiler_version"]
        if "ntff_version" in constants:
            versions["ntff"] = str(constants["ntff_version"])
        for key, value in (
            ("uuid", header.get("uuid")),
            ("program", header.get("network_name")),
            ("profile_name", profile.get("profile_name")),
        ):
            if value:
                found[key] = value
        models = self._values.get("model_info")
        if isinstance(models, list):
            found["per_core"] = [model for model in models if isinstance(model, dict)]
        if constants:
            found["constants"] = constants
        if header:
            found["neff_header"] = header
        return found

    def quality(self) -> tuple[Issue, ...]:
        from roofline.captures.full_json.quality import full_json_issues

        metadata = self.metadata()
        rows = self._values.get("warnings")
        warnings = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return full_json_issues(metadata, self.summary(), warnings, self.table_names(), self.table)

    def _first(self, name: str) -> dict[str, Any]:
        value = self._values.get(name)
        if isinstance(value, list):
            value = value[0] if value else {}
        return value if isinstance(value, dict) else {}

    def _cores(self) -> int | None:
        metadata = self._first("metadata")
        count = metadata.get("num_physical_cores")
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            return count
        return 1 if metadata.get("vnc_enabled") is False else None

    def _bf16_cost(self, columns: Sequence[Column]) -> Mapping[str, float]:
        if not any(column.name == "adjusted_flops" for column in columns):
            return {}
        rows = self._values.get("summary")
        first = rows[0] if isinstance(rows, list) and rows else {}
        hardware = summary_identity(first).get("hardware") if isinstance(first, dict) else None
        return bf16_cost(hardware)

    def _queues(self) -> dict[int, str]:
        """Return core * 1000 + index -> name, for the indices that belong to one queue."""
        found: dict[int, set[str]] = {}
        rows = self._values.get("dma_queues_info")
        for row in rows if isinstance(rows, list) else []:
            if not isinstance(row, dict):
                continue
            index, name = row.get("q_idx"), row.get("q_name")
            core = re.fullmatch(r"sg(\d{1,3})", str(row.get("subgraph", "sg00")))
            if isinstance(index, int) and isinstance(name, str) and core:
                found.setdefault(int(core[1]) * 1000 + index, set()).add(name)
        return {number: names.pop() for number, names in found.items() if len(names) == 1}

    def _walk(self, wanted: Mapping[str, tuple[Column, ...]]) -> None:
        """Walk the whole file once: index it, decode small sections and what is ``wanted``."""
        if not self.walked:
            with decoding(self.path, "the profile"):
                self._walk_whole(wanted)

    def _walk_whole(self, wanted: Mapping[str, tuple[Column, ...]]) -> None:
        hot = {name: _picked(EVENTS[name], names) for name, names in (HOT | _TRANSFERS).items()}
        plan = {**hot, **wanted}
        sinks: dict[str, FieldSink] = {}

        def sink_of(section: str) -> RowSink | None:
            tables = {name: cols for name, cols in plan.items() if EVENTS[name].section == section}
            if tables:
                sinks[section] = self._sink(tables, section)
            return sinks.get(section)

        sections = {
            section.name: section
            for section in walk_sections(
                self.path, self._file, sink_of, self._values.__setitem__, wanted_values=_WHOLE
            )
        }
        if not sections.keys() & SECTIONS:
            raise CaptureError(f"{self.path}: JSON, but none of a full profile's sections is in it")
        self._sections, self.walked = sections, True
        for section, sink in sinks.items():
            tables = {name: cols for name, cols in plan.items() if EVENTS[name].section == section}
            self._keep(tables, sink)

    def _sink(self, tables: Mapping[str, tuple[Column, ...]], section: str) -> FieldSink:
        fields: dict[str, str] = {}
        for name, columns in tables.items():
            for column in columns:
                fields.update(column.fields)
            keep = EVENTS[name].keep
            if keep is not None:
                fields[keep[0]] = "str"
        return FieldSink(self.path, section, fields)

    def _keep(self, tables: Mapping[str, tuple[Column, ...]], sink: FieldSink) -> None:
        arrays = sink.columns()
        for name, columns in tables.items():
            context = Context(
                cores=self._cores(),
                vendor=self.vendor,
                bf16_cost=self._bf16_cost(columns),
                queues=self._queues(),
            )
            built = build_columns(EVENTS[name], columns, arrays, context)
            have = self._columns.setdefault(name, {})
            have.update({column.name: built.get(column.name) for column in columns})

    def _read(self, name: str, sink: RowSink) -> None:
        with decoding(self.path, f"section {name!r}"):
            read_section(self.path, self._file, self._sections[name], sink)

    def _extra(self, name: str) -> pa.Table:
        import msgspec
        import pyarrow as pa

        section = self._sections[name]
        self._file.seek(section.start)
        try:
            rows = msgspec.json.decode(self._file.read(section.end - section.start))
            return pa.Table.from_pylist(rows)
        except (msgspec.DecodeError, pa.ArrowException, AttributeError, TypeError) as error:
            raise CaptureError(f"{self.path}: {error}", section=name) from error


def _picked(table: EventTable, columns: Sequence[str] | None) -> tuple[Column, ...]:
    if columns is None:
        return table.columns
    return tuple(column for column in table.columns if column.name in columns)
