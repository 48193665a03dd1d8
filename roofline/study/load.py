"""Read a study: a folder with ``study.toml``, the file itself, or the name of a shipped study."""

from __future__ import annotations

import math
import re
import tomllib
from itertools import product
from pathlib import Path
from typing import Final

import msgspec

from roofline.clocks import Clock
from roofline.dtypes import dtype_key
from roofline.errors import RooflineError, StudyError
from roofline.quantity import QUALITIES
from roofline.resources import shipped, shipped_names
from roofline.study.format import SCHEMA_VERSION, StudyFile, TableEntry, TimeEntry, VariantEntry
from roofline.study.lines import line_of
from roofline.study.study import CaptureRef, Config, Measurement, OpTime, Source, Study, Variant
from roofline.textfile import read_csv, read_text
from roofline.units import parse_time

__all__ = ["FILE_NAME", "find_study", "is_study", "list_studies", "load_study"]

FILE_NAME: Final = "study.toml"

DEVICES: Final = ("cpu", "neuron")
"""Devices that a variant can be tied to."""

MAX_CONFIGS: Final = 10_000
"""Combinations of one entry of a study: each is a row of its tables; sweeps go further."""

_TIME_COLUMNS: Final = {"time_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6, "time_ns": 1e-9}
_WHERE: Final = re.compile(r" - at `(\$[^`]*)`$")
_UNKNOWN: Final = re.compile(r"unknown field `([^`]+)`")


def list_studies() -> list[str]:
    """Return the names of the studies that ship with the project."""
    return [name.split("/")[0] for name in shipped_names("captures", f"*/{FILE_NAME}")]


def is_study(path: str | Path) -> bool:
    """Whether a path is a study file, a folder that holds one, or the name of a shipped study."""
    path = Path(path)
    return (path / FILE_NAME).is_file() or path.name == FILE_NAME or path.as_posix() in _names()


def find_study(path: str | Path) -> Path:
    """Return the study file of a folder, of a file, or of a shipped study's name.

    Raises ``StudyError`` naming the shipped studies when there is none.
    """
    given = Path(path)
    if given.is_file():
        return given
    if (given / FILE_NAME).is_file():
        return given / FILE_NAME
    if given.as_posix() in _names():
        # ``captures/NAME`` is how a checkout spells a shipped study
        return shipped("captures") / given.name / FILE_NAME
    known = ", ".join(list_studies())
    what = f"no {FILE_NAME} in this folder" if given.is_dir() else "no such study"
    raise StudyError(f"{path}: {what}; shipped studies: {known}")


def load_study(path: str | Path) -> Study:
    """Return the study at ``path``, checked; no code of the study is run.

    Raises ``StudyError`` that names the file and the line for anything wrong.
    """
    file = find_study(path)
    try:
        text = read_text(file, StudyError)
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise StudyError(f"{file}: not a TOML file: {error}") from error
    try:
        entries = msgspec.convert(data, StudyFile)
    except msgspec.ValidationError as error:
        message = str(error)
        where = _WHERE.search(message)
        path = where[1] if where else "$"
        unknown = _UNKNOWN.search(message)
        line = line_of(text, f"{path}.{unknown[1]}" if unknown else path)
        at = f" (at {path[2:]})" if where else ""
        raise StudyError(f"{file}:{line}: {_WHERE.sub('', message)}{at}") from error
    return _Builder(file, text, entries).build()


def _names() -> set[str]:
    return {spelling for name in list_studies() for spelling in (name, f"captures/{name}")}


class _Builder:
    """Turns the checked layout into a Study; every fault is reported with its line."""

    def __init__(self, file: Path, text: str, entries: StudyFile) -> None:
        self.file = file
        self.text = text
        self.entries = entries

    def fault(self, path: str, message: str) -> StudyError:
        return StudyError(f"{self.file}:{line_of(self.text, path)}: {message}")

    def build(self) -> Study:
        entries = self.entries
        if entries.schema_version != SCHEMA_VERSION:
            raise self.fault(
                "$.schema_version",
                f"schema version {entries.schema_version} is not known; known: {SCHEMA_VERSION}",
            )
        if not entries.hardware:
            raise self.fault("$.hardware", "no hardware is named")
        names = [variant.name for variant in entries.variant]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise self.fault(f"$.variant[{index}].name", f"variant {name!r} is given twice")
        configs = [one for index in range(len(entries.config)) for one in self.configs(index)]
        measurements, captures = [], []
        for index, variant in enumerate(entries.variant):
            for number, time in enumerate(variant.time):
                where = f"$.variant[{index}].time[{number}]"
                measurements.append(
                    self.time(where, variant.name, time, self.pick(where, time.config, configs))
                )
            for number, entry in enumerate(variant.capture):
                where = f"$.variant[{index}].capture[{number}]"
                self.source(f"{where}.source", entry.source)
                found = self.file.parent / entry.path
                if not found.exists():
                    raise self.fault(f"{where}.path", f"no such capture: {entry.path}")
                captures.append(
                    CaptureRef(
                        variant=variant.name,
                        config=self.pick(where, entry.config, configs),
                        path=found,
                        source=entry.source,
                        label=entry.label,
                    )
                )
        for index, table in enumerate(entries.table):
            rows = self.table(f"$.table[{index}]", table, names)
            measurements += rows
            configs += [row.config for row in rows if row.config not in configs]
        if not measurements and not captures:
            raise self.fault("$.variant", "the study has no time and no capture")
        return Study(
            name=entries.name,
            title=entries.title,
            op=entries.op,
            hardware=tuple(entries.hardware),
            lnc=entries.lnc,
            working_cores=entries.working_cores,
            configs=tuple(dict.fromkeys(configs)),
            variants=tuple(
                self.variant(f"$.variant[{index}]", entry)
                for index, entry in enumerate(entries.variant)
            ),
            measurements=tuple(measurements),
            captures=tuple(captures),
            sources={
                key: Source(
                    key=key,
                    title=entry.title,
                    date=entry.date.isoformat() if entry.date else "",
                    url=entry.url,
                    note=entry.note,
                )
                for key, entry in entries.sources.items()
            },
            inputs=entries.inputs.callable if entries.inputs else "",
            notes=tuple(entries.notes),
            path=self.file.parent,
        )

    def variant(self, where: str, entry: VariantEntry) -> Variant:
        if entry.device not in ("", *DEVICES):
            raise self.fault(
                f"{where}.device", f"unknown device {entry.device!r}; known: {', '.join(DEVICES)}"
            )
        if entry.tolerance is not None and not 0 < entry.tolerance < 1:
            raise self.fault(
                f"{where}.tolerance",
                f"tolerance = {entry.tolerance}: a relative error between 0 and 1",
            )
        return Variant(
            name=entry.name,
            title=entry.title or entry.name,
            mode=entry.mode,
            callable=entry.callable,
            device=entry.device,
            requires=tuple(entry.requires),
            schedule=entry.schedule,
            reference=entry.reference,
            tolerance=entry.tolerance,
            host_copy_bytes=entry.host_copy_bytes,
            note=entry.note,
        )

    def configs(self, index: int) -> list[Config]:
        """Every combination of an entry's lists, the last one varying fastest."""
        entry = self.entries.config[index]
        where = f"$.config[{index}]"
        lists = {
            name: value if isinstance(value, list) else [value]
            for name, value in entry.params.items()
        }
        for name, values in lists.items():
            if not values or min(values) <= 0:
                raise self.fault(
                    f"{where}.params.{name}",
                    f"{name} = {entry.params[name]}: a parameter is 1 or more",
                )
        dtypes = entry.dtype if isinstance(entry.dtype, list) else [entry.dtype]
        if not dtypes:
            raise self.fault(f"{where}.dtype", "no dtype is named")
        count = math.prod(map(len, lists.values())) * len(dtypes)
        if count > MAX_CONFIGS:
            raise self.fault(
                f"{where}.params", f"{count} combinations; at most {MAX_CONFIGS} are allowed"
            )
        keys = [self.dtype(f"{where}.dtype", name) for name in dtypes]
        return [
            Config(params=tuple(zip(lists, values, strict=True)), dtype=key)
            for values in product(*lists.values())
            for key in keys
        ]

    def dtype(self, where: str, name: str) -> str:
        try:
            return dtype_key(name)
        except RooflineError as error:
            raise self.fault(where, str(error)) from error

    def pick(self, where: str, wanted: int | str | None, configs: list[Config]) -> Config:
        if wanted is None and len(configs) == 1:
            return configs[0]
        for index, config in enumerate(configs):
            if wanted in (index, config.key):
                return config
        known = ", ".join(f"{index} or {one.key!r}" for index, one in enumerate(configs[:6]))
        raise self.fault(
            f"{where}.config",
            f"config = {wanted!r}: name one of the {len(configs)} configs: {known or 'none'}"
            f"{', ...' if len(configs) > 6 else ''}",
        )

    def source(self, where: str, key: str) -> None:
        if key not in self.entries.sources:
            known = ", ".join(self.entries.sources) or "none"
            raise self.fault(where, f"source {key!r} is not among the sources; known: {known}")

    def seconds(self, where: str, text: str) -> float:
        try:
            value = parse_time(text)
        except RooflineError as error:
            raise self.fault(where, str(error)) from error
        if value <= 0:
            raise self.fault(where, f"a time is more than 0, not {text!r}")
        return value

    def clock(self, where: str, key: str, profiled: bool | None) -> Clock:
        try:
            return Clock(key=key, profiled=profiled)
        except RooflineError as error:
            raise self.fault(where, str(error)) from error

    def time(self, where: str, variant: str, entry: TimeEntry, config: Config) -> Measurement:
        self.source(f"{where}.source", entry.source)
        if entry.clock_quality not in QUALITIES:
            raise self.fault(
                f"{where}.clock_quality",
                f"unknown quality {entry.clock_quality!r}; known: {', '.join(QUALITIES)}",
            )
        for name, number in (("n", entry.n), ("calls", entry.calls)):
            if number is not None and number < 1:
                raise self.fault(f"{where}.{name}", f"{name} = {number}: a count is 1 or more")
        for name, value in entry.counters.items():
            if not math.isfinite(value) or value < 0:
                raise self.fault(
                    f"{where}.counters", f"counter {name} = {value}: a count is 0 or more"
                )
        moved = [entry.counters.get(key) for key in ("hbm_read_bytes", "hbm_write_bytes")]
        if moved == [0, 0]:
            raise self.fault(
                f"{where}.counters", "zero bytes read and written: leave out what was not counted"
            )
        return Measurement(
            variant=variant,
            config=config,
            time_s=self.seconds(f"{where}.time", entry.time),
            clock=self.clock(f"{where}.clock", entry.clock, entry.profiled),
            clock_quality=entry.clock_quality,
            source=entry.source,
            label=entry.label,
            n=entry.n,
            calls=entry.calls,
            cpu_s=self.seconds(f"{where}.cpu_time", entry.cpu_time) if entry.cpu_time else None,
            ops=tuple(
                OpTime(name=op.name, count=op.count, time_s=self.seconds(f"{where}.ops", op.time))
                for op in entry.ops
            ),
            counters=dict(entry.counters),
            note=entry.note,
        )

    def table(self, where: str, entry: TableEntry, variants: list[str]) -> list[Measurement]:
        self.source(f"{where}.source", entry.source)
        clock = self.clock(f"{where}.clock", entry.clock, entry.profiled)
        file = self.file.parent / entry.path
        _, rows = read_csv(file, lambda message: self.fault(f"{where}.path", message))
        found = []
        for line, row in enumerate(rows, 2):
            try:
                found.append(_row(row, entry, clock, variants))
            except (RooflineError, ValueError, TypeError) as error:
                raise StudyError(f"{file}:{line}: {error}") from error
        return found


def _row(row: dict[str, str], entry: TableEntry, clock: Clock, variants: list[str]) -> Measurement:
    """Return one line of a CSV file of times; columns that are no known ones are parameters."""
    columns = [name for name in _TIME_COLUMNS if name in row]
    if len(columns) != 1:
        raise StudyError(f"one column of {', '.join(_TIME_COLUMNS)} is needed")
    missing = {"variant", "dtype"} - row.keys()
    if missing:
        raise StudyError(f"column {', '.join(sorted(missing))} is missing")
    if row["variant"] not in variants:
        raise StudyError(f"unknown variant {row['variant']!r}; known: {', '.join(variants)}")
    seconds = float(row[columns[0]]) * _TIME_COLUMNS[columns[0]]
    if not math.isfinite(seconds) or seconds <= 0:
        raise StudyError(f"a time is a number of more than 0, not {row[columns[0]]!r}")
    params = tuple(
        (name, int(value))
        for name, value in row.items()
        if name not in ("variant", "dtype", "label", columns[0])
    )
    if any(value <= 0 for _, value in params):
        raise StudyError("a parameter is 1 or more")
    return Measurement(
        variant=row["variant"],
        config=Config(params=params, dtype=dtype_key(row["dtype"])),
        time_s=seconds,
        clock=clock,
        clock_quality=entry.clock_quality,
        source=entry.source,
        n=entry.n,
        label=row.get("label", ""),
    )
