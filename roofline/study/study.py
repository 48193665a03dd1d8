"""The Study: variants of one computation, with their times, counters and captures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from roofline.clocks import Clock

__all__ = ["CaptureRef", "Config", "Measurement", "OpTime", "Source", "Study", "Variant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where figures of a study were published or measured."""

    key: str
    title: str
    date: str = ""
    url: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One shape (parameters of the operator) and dtype of a study.

    ``mixed`` are further dtypes a capture shows next to its main one.
    """

    params: tuple[tuple[str, int], ...]
    dtype: str
    mixed: tuple[str, ...] = ()

    @property
    def shape(self) -> dict[str, int]:
        """The parameters by name."""
        return dict(self.params)

    @property
    def key(self) -> str:
        """For example ``4x512 bf16``."""
        shape = "x".join(str(value) for _, value in self.params)
        return f"{shape} {'+'.join((self.dtype, *self.mixed))}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to run the computation.

    ``callable`` is ``file.py:function`` relative to the study, or ``module:function``; empty where
    nothing can be run here. ``mode`` says how it is counted (the variant of the closed form);
    ``host_copy_bytes`` are scalars on the CPU that are copied to the device.

    A kernel of its own says more: ``device`` is the only device it runs on (empty: any),
    ``requires`` are modules it needs, ``schedule`` the callable that declares its passes and bytes,
    ``reference`` the torch function its result is compared with, ``tolerance`` the relative
    error allowed in that (``None``: that of the dtype).
    """

    name: str
    title: str
    mode: str
    callable: str = ""
    device: str = ""
    requires: tuple[str, ...] = ()
    schedule: str = ""
    reference: str = ""
    tolerance: float | None = None
    host_copy_bytes: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpTime:
    """Time of one operator summed over ``count`` launches, in s."""

    name: str
    count: int
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One time of a variant in a config.

    ``time_s`` is on ``clock``; ``clock_quality`` is ``documented`` or ``inferred``. ``n`` counts
    repeats (``None``: not stated). ``calls`` is the number of chained calls inside this time.
    ``counters`` holds summary fields by the vendor's names and units (times s, percentages as
    fractions). ``cpu_s`` is host time spent on dispatch.
    """

    variant: str
    config: Config
    time_s: float
    clock: Clock
    source: str
    clock_quality: str = "documented"
    label: str = ""
    n: int | None = None
    calls: int = 1
    cpu_s: float | None = None
    ops: tuple[OpTime, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def key(self) -> str:
        """Variant and label: what tells this time from the others of one config."""
        return f"{self.variant}, {self.label}" if self.label else self.variant


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRef:
    """A capture file of a variant in a config, relative to the study."""

    variant: str
    config: Config
    path: Path
    source: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Hardware candidates, configs, variants and what was measured; times in s, sizes in bytes.

    The first hardware is the one shown. ``inputs`` is the callable that makes example inputs.
    """

    name: str
    title: str
    op: str
    hardware: tuple[str, ...]
    configs: tuple[Config, ...]
    variants: tuple[Variant, ...]
    measurements: tuple[Measurement, ...]
    captures: tuple[CaptureRef, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    lnc: int | None = None
    working_cores: int | None = None
    inputs: str = ""
    notes: tuple[str, ...] = ()
    path: Path = field(default_factory=Path)

    def variant(self, name: str) -> Variant:
        """Return a variant by its name."""
        return next(variant for variant in self.variants if variant.name == name)
