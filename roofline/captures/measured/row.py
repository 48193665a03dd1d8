"""One measured time, and how the cells of a table become it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roofline.captures.measured.columns import MeasuredColumn, parse_cell
from roofline.clocks import Clock, clock
from roofline.dtypes import dtype_key
from roofline.errors import CaptureError, UnitError, WorkError

__all__ = ["Measured", "measured_row"]


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


_BEST_TIMES: Final = (
    "time:time",
    "time:latency",
    "time:duration",
    "time:p50",
    "time:median",
    "time:mean",
)


def measured_row(
    path: Path, line: int, cells: Iterable[tuple[MeasuredColumn, str]], strict: bool
) -> Measured:
    """Return one row of a table from its cells.

    Raises ``UnitError`` or ``CaptureError`` with file and line for a quantity that is not clear;
    with ``strict`` false only for a time.
    """
    words, numbers = _read(path, line, cells, strict)
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


def _read(
    path: Path, line: int, cells: Iterable[tuple[MeasuredColumn, str]], strict: bool
) -> tuple[dict[str, str], dict[str, float]]:
    """Return the texts and the quantities of a row by what their column holds."""
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
    return words, numbers


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
