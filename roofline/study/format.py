"""The layout of ``study.toml``, as typed records that msgspec checks."""

from __future__ import annotations

import datetime as dt

import msgspec

__all__ = [
    "SCHEMA_VERSION",
    "CaptureEntry",
    "ConfigEntry",
    "SourceEntry",
    "StudyFile",
    "TableEntry",
    "TimeEntry",
    "VariantEntry",
]

SCHEMA_VERSION = 1


class _Entry(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table whose keys are all known."""


class ConfigEntry(_Entry):
    """``[[config]]``: parameters of the operator, and the dtype of its tensors.

    Lists stand for all of their combinations, the last one varying fastest.
    """

    params: dict[str, int | list[int]]
    dtype: str | list[str]


class SourceEntry(_Entry):
    """``[sources.KEY]``: where figures come from."""

    title: str
    date: dt.date | None = None
    url: str = ""
    note: str = ""


class OpEntry(_Entry):
    """One operator of a time: its launches and their total time."""

    name: str
    time: str
    count: int = 1


class TimeEntry(_Entry):
    """``[[variant.time]]``: a time with its clock, repeats and source."""

    time: str
    clock: str
    source: str
    clock_quality: str = "documented"
    config: int | str | None = None
    label: str = ""
    n: int | None = None
    calls: int = 1
    profiled: bool | None = None
    cpu_time: str = ""
    ops: list[OpEntry] = []
    counters: dict[str, float] = {}
    note: str = ""


class CaptureEntry(_Entry):
    """``[[variant.capture]]``: a capture file beside the study."""

    path: str
    source: str
    config: int | str | None = None
    label: str = ""


class VariantEntry(_Entry):
    """``[[variant]]``: one way to run the computation."""

    name: str
    title: str = ""
    mode: str = "eager"
    callable: str = ""
    device: str = ""
    requires: list[str] = []
    schedule: str = ""
    reference: str = ""
    tolerance: float | None = None
    host_copy_bytes: int = 0
    note: str = ""
    time: list[TimeEntry] = []
    capture: list[CaptureEntry] = []


class TableEntry(_Entry):
    """``[[table]]``: a CSV file of times; columns variant, dtype, time_us and the parameters."""

    path: str
    clock: str
    source: str
    clock_quality: str = "documented"
    n: int | None = None
    profiled: bool | None = None


class InputsEntry(_Entry):
    """``[inputs]``: the callable that makes example inputs from parameters and dtype."""

    callable: str


class StudyFile(_Entry):
    """A whole ``study.toml``."""

    schema_version: int
    name: str
    title: str
    op: str
    hardware: list[str]
    variant: list[VariantEntry]
    sources: dict[str, SourceEntry]
    config: list[ConfigEntry] = []
    table: list[TableEntry] = []
    inputs: InputsEntry | None = None
    lnc: int | None = None
    working_cores: int | None = None
    notes: list[str] = []
