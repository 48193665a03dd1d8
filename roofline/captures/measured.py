"""Measured kernel times from CSV, TOML and benchmark output, with every unit spelled out."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.measured_columns import MeasuredColumn, measured_column, parse_cell
from roofline.clocks import Clock, clock
from roofline.dtypes import dtype_key
from roofline.errors import CaptureError, UnitError, WorkError
from roofline.textfile import read_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Measured", "MeasuredTable", "load_measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measured kernel time.

    ``time_s`` covers ``calls`` calls. ``bytes_moved`` is as ``bytes_kind`` says: ``minimal``
    (each input and output once), ``measured`` (counters, reads plus writes) or ``stated``;
    ``minimal_bytes`` stands beside counters too. ``params_text`` is the parameters as written.
    ``shares`` holds utilisation columns as fractions, ``times_s`` every time column by its name
    (``p50``, ``mean`` ...), ``quantities`` other columns with units (SI base units). A column
    without a known meaning is a parameter where its cell is a whole number, else ``extra`` text.
    """

    line: int
    name: str = ""
    op: str = ""
    shape: str = ""
    params: Mapping[str, int | str] = field(default_factory=dict)
    params_text: str = ""
    dtype: str | None = None
    hardware: str | None = None
    lnc: int | None = None
    cores: int | None = None
    implementation: str = ""
    time_s: float | None = None
    times_s: Mapping[str, float] = field(default_factory=dict)
    clock: Clock | None = None
    calls: int = 1
    repeats: int | None = None
    flops: float | None = None
    bytes_moved: float | None = None
    bytes_kind: str = ""
    minimal_bytes: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    quantities: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    notes: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTable:
    """The rows of one file, in its order."""

    path: Path
    rows: tuple[Measured, ...]

    def to_arrow(self) -> pa.Table:
        """Return one Arrow row a measurement: times in s, bytes in B, counts in FLOP."""
        import pyarrow as pa

        numbers = ("time_s", "flops", "bytes_moved")
        whole = ("line", "lnc", "cores", "calls", "repeats")
        text = (
            "name",
            "op",
            "shape",
            "dtype",
            "hardware",
            "implementation",
            "bytes_kind",
            "source",
        )
        columns = {
            name: pa.array([getattr(row, name) for row in self.rows], pa.string()) for name in text
        }
        columns |= {
            name: pa.array([getattr(row, name) for row in self.rows], pa.float64())
            for name in numbers
        }
        columns |= {
            name: pa.array([getattr(row, name) for row in self.rows], pa.int64()) for name in whole
        }
        columns["clock"] = pa.array([row.clock and row.clock.key for row in self.rows], pa.string())
        return pa.table(columns)


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
            yield _measured(path, reader.line_num, zip(columns, cells, strict=False), strict)
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


_BEST_TIMES: Final = (
    "time:time",
    "time:latency",
    "time:duration",
    "time:p50",
    "time:median",
    "time:mean",
)


def _measured(
    path: Path, line: int, cells: Iterable[tuple[MeasuredColumn, str]], strict: bool
) -> Measured:
    """Build one row; raises ``UnitError`` or ``CaptureError`` with file and line."""
    words: dict[str, str] = {}
    numbers: dict[str, float] = {}
    for column, cell in cells:
        if column.dimension == "text":
            held = words.get(column.concept)
            words[column.concept] = " ".join(filter(None, (held, cell.strip())))
            continue
        try:
            value = parse_cell(cell, column)
        except UnitError as error:
            if strict or column.concept.startswith("time:"):
                raise UnitError(f"{path}: line {line}: {error}") from error
            words[f"extra:{column.header}"] = cell.strip()
            continue
        if value is not None:
            numbers[column.concept] = value
    times = _group(numbers, "time")
    time = next((numbers[name] for name in _BEST_TIMES if name in numbers), None)
    if time is None and times:
        time = next(iter(times.values()))
    if time is not None and time <= 0:
        raise CaptureError(f"{path}: line {line}: a time of {time:g} s is not a measurement")
    moved, kind = _bytes(numbers)
    unknown = {name.split(":", 1)[1]: text for name, text in words.items() if ":" in name and text}
    extra = {name: text for name, text in unknown.items() if not text.isdecimal()}
    params = _params(words.get("params", ""))
    dtype = words.get("dtype", "")
    params |= {name: int(text) for name, text in unknown.items() if name not in extra}
    try:
        key = dtype_key(dtype) if dtype else None
    except WorkError as error:
        if strict:
            raise CaptureError(f"{path}: line {line}: {error}") from error
        key, extra["dtype"] = None, dtype
    try:
        return Measured(
            line=line,
            name=words.get("name", ""),
            op=words.get("op", ""),
            shape=words.get("shape", "") or ("" if params else words.get("params", "")),
            params=params,
            params_text=words.get("params", ""),
            dtype=key,
            hardware=words.get("hardware") or None,
            lnc=_count(words.get("lnc"), strict),
            cores=_count(words.get("cores"), strict),
            implementation=words.get("implementation", ""),
            time_s=time,
            times_s=times,
            clock=_clock(words, times),
            calls=_count(words.get("calls"), strict) or 1,
            repeats=_count(words.get("repeats"), strict),
            flops=numbers.get("flops"),
            bytes_moved=moved,
            bytes_kind=kind,
            minimal_bytes=numbers.get("bytes:minimal"),
            shares=_group(numbers, "share"),
            source=words.get("source", ""),
            notes=words.get("notes", ""),
            quantities=_group(numbers, "extra"),
            extra=extra,
        )
    except (UnitError, WorkError, ValueError) as error:
        raise CaptureError(f"{path}: line {line}: {error}") from error


def _group(numbers: Mapping[str, float], group: str) -> dict[str, float]:
    prefix = f"{group}:"
    return {k.removeprefix(prefix): v for k, v in numbers.items() if k.startswith(prefix)}


def _bytes(numbers: Mapping[str, float]) -> tuple[float | None, str]:
    """Return the bytes of a row and what they are, counters before statements."""
    read, write = numbers.get("bytes:read"), numbers.get("bytes:write")
    if read is not None and write is not None:
        return read + write, "measured"
    for kind in ("measured", "stated", "minimal"):
        if f"bytes:{kind}" in numbers:
            return numbers[f"bytes:{kind}"], kind
    return None, ""


def _params(text: str) -> dict[str, int | str]:
    """Return ``K=512, n=4`` as a mapping; what is not of that form is left to ``shape``."""
    pairs = re.findall(r"([A-Za-z_]\w*)\s*=\s*([^\s,;]+)", text)
    return {name: int(value) if value.isdecimal() else value for name, value in pairs}


def _count(text: str | None, strict: bool) -> int | None:
    if not text or (not strict and not text.isdecimal()):
        return None
    if not text.isdecimal():
        raise ValueError(f"not a whole number: {text!r}")
    return int(text)


_NOTED_CLOCKS: Final = (
    (re.compile(r"\btotal_time\b"), "device_total"),
    (re.compile(r"\bnc_exec_running\b"), "device_execution"),
    (re.compile(r"\bnki[. ]benchmark\b|\bNCL? p\d"), "nki_benchmark"),
)


def _clock(words: Mapping[str, str], times: Mapping[str, float]) -> Clock | None:
    """Return the stated clock, or the one that the notes or the columns name; else ``None``."""
    profiled = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
        words.get("profiled", "").lower()
    )
    if stated := words.get("clock"):
        return Clock(key=clock(stated), profiled=profiled)
    for pattern, key in _NOTED_CLOCKS:
        if pattern.search(words.get("notes", "")):
            return Clock(key=key, profiled=profiled)
    if times and all(re.fullmatch(r"p[\d.]+", name) for name in times):
        return Clock(key="nki_benchmark", profiled=profiled)
    return None


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
        yield _measured(path, number, zip(columns, flat.values(), strict=True), strict)


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
