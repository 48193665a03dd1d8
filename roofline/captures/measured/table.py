"""Measured kernel times from CSV, TOML and benchmark output, with every unit spelled out."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from roofline.captures.measured.columns import MeasuredColumn, measured_column, parse_cell
from roofline.captures.measured.row import Measured, measured_row
from roofline.clocks import Clock
from roofline.errors import CaptureError, UnitError
from roofline.textfile import read_text

__all__ = ["MeasuredTable", "load_measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTable:
    """The rows of one file, in its order."""

    path: Path
    rows: tuple[Measured, ...]


def load_measured(path: str | Path, *, strict: bool = True) -> MeasuredTable:
    """Return the measured times of a file: CSV, TOML (``[[measurement]]`` or a study), or the
    latency percentiles that a benchmark printed.

    Raises ``CaptureError`` for a file that is no such table, and ``UnitError`` with the line for a
    quantity without a unit or with one that can be read in two ways. With ``strict`` false only
    times have to be clear: other columns, cells and dtypes that are not are kept as ``extra`` text.
    """
    path = Path(path)
    text = read_text(path, CaptureError)
    if path.suffix.lower() == ".toml":
        rows = tuple(_from_toml(path, text, strict))
    elif percentiles := _percentiles(path, text):
        rows = (percentiles,)
    else:
        rows = tuple(_from_csv(path, text, strict))
    if not rows:
        raise CaptureError(f"{path}: no measured times in this file")
    return MeasuredTable(path=path, rows=rows)


def _from_csv(path: Path, text: str, strict: bool) -> Iterator[Measured]:
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        columns = _columns(path, header, strict)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(columns) or (strict and len(cells) < len(columns)):
                raise CaptureError(
                    f"{path}: line {reader.line_num}: {len(cells)} cells under "
                    f"{len(columns)} columns"
                )
            yield measured_row(path, reader.line_num, zip(columns, cells, strict=False), strict)
    except csv.Error as error:
        raise CaptureError(f"{path}: line {reader.line_num}: {error}") from error


def _columns(path: Path, header: Iterable[str], strict: bool) -> list[MeasuredColumn]:
    columns = []
    for name in header:
        try:
            columns.append(measured_column(name))
        except UnitError as error:
            if strict:
                raise UnitError(f"{path}: {error}") from error
            columns.append(MeasuredColumn(header=name, concept=f"extra:{name.strip()}"))
    columns = _sizes_apart(columns)
    if not any(column.concept.startswith("time:") for column in columns):
        names = ", ".join(column.header for column in columns) or "nothing"
        raise CaptureError(
            f"{path}: no column of times (time_us, latency_ms, p50_us, time with units in its "
            f"cells ...); found: {names[:200]}"
        )
    seen: set[str] = set()
    for at, column in enumerate(columns):
        if column.concept in seen and column.concept not in ("source", "name"):
            if not strict and not column.concept.startswith("time:"):
                columns[at] = MeasuredColumn(header=column.header, concept=f"extra:{column.header}")
                continue
            raise CaptureError(
                f"{path}: two columns hold {column.concept.split(':')[0]}: {column.header}"
            )
        seen.add(column.concept)
    return columns


def _sizes_apart(columns: list[MeasuredColumn]) -> list[MeasuredColumn]:
    """Return the columns with ``n`` read as a size where another says that it is one.

    A column ``n`` counts repeats, unless one of repeats or a size of one letter, as in M, K, N,
    stands beside it.
    """
    letters = {one.header.lower() for one in columns if len(one.header) == 1}
    counted = sum(column.concept == "repeats" for column in columns)
    if letters == {"n"} and counted < 2:
        return columns
    return [
        MeasuredColumn(header=column.header, concept=f"extra:{column.header}")
        if column.header.lower() == "n"
        else column
        for column in columns
    ]


def _from_toml(path: Path, text: str, strict: bool) -> Iterator[Measured]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CaptureError(f"{path}: {error}") from error
    rows = document.get("measurement")
    if rows is None and isinstance(document.get("variant"), list):
        rows = list(_study_rows(document))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise CaptureError(
            f"{path}: neither [[measurement]] nor a study's [[variant.time]] is in this file"
        )
    for number, row in enumerate(rows, 1):
        flat = {
            name: ", ".join(f"{key}={item}" for key, item in value.items())
            if isinstance(value, dict)
            else str(value).lower()
            if isinstance(value, bool)
            else str(value)
            for name, value in row.items()
        }
        columns = _columns(path, flat, strict)
        yield measured_row(path, number, zip(columns, flat.values(), strict=True), strict)


def _study_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the times of a study's variants, with the operator and configuration they share."""
    configs = document.get("config") or [{}]
    hardware = document.get("hardware") or []
    for variant in document["variant"]:
        for time in variant.get("time", []) if isinstance(variant, dict) else []:
            index = time.get("config") or 0
            config = configs[index] if isinstance(index, int) and index < len(configs) else {}
            yield {
                "name": str(document.get("name", "")),
                "op": str(document.get("op", "")),
                "params": config.get("params", {}),
                "dtype": config.get("dtype", ""),
                "hardware": hardware[0] if len(hardware) == 1 else "",
                "implementation": variant.get("name", ""),
                **{
                    key: time[key] for key in ("time", "clock", "source", "profiled") if key in time
                },
                "repeats": time.get("n", ""),
                "notes": time.get("note", ""),
            }


_PERCENTILE: Final = re.compile(
    r"(?i)\bp(?P<rank>\d{1,2}(?:\.\d+)?|100)\b[^\S\n]*[:=]?[^\S\n]*"
    r"(?P<number>\d+(?:\.\d+)?)[^\S\n]*(?P<unit>[a-zµμ]*)"
)
_UNIT_NEAR: Final = re.compile(r"(?i)latency[^\n]*?[(\[](?P<unit>s|ms|us|µs|ns)[)\]]")


def _percentiles(path: Path, text: str) -> Measured | None:
    """Return the latencies of ``p50: 52.0 us`` lines, with the unit there or in the heading."""
    if "," in text.split("\n", 1)[0]:
        return None
    heading = _UNIT_NEAR.search(text)
    times: dict[str, float] = {}
    for match in _PERCENTILE.finditer(text):
        rank, number = match["rank"], match["number"]
        column = MeasuredColumn(
            header=f"p{rank}",
            concept="time",
            dimension="s",
            unit=heading["unit"] if heading else "",
        )
        value = parse_cell(f"{number} {match['unit']}", column)
        if value is not None and times.setdefault(f"p{rank}", value) != value:
            raise CaptureError(f"{path}: p{rank} is there twice with different times")
    if not times:
        return None
    return Measured(
        line=1,
        name=path.stem,
        time_s=times.get("p50", next(iter(times.values()))),
        times_s=times,
        clock=Clock(key="nki_benchmark", profiled=False),
    )
