"""Observed: what one run says of one kernel, in the terms in which runs are compared."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from roofline.captures.capture import Issue
from roofline.errors import QueryError

__all__ = ["Observed", "Part", "Run", "Timing", "Use", "join_repeats", "split_kernels"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One time in s on one clock; ``clock`` is empty where no source states it.

    ``samples`` holds every repeat where they are known, and ``seconds`` is their median then.
    ``n`` counts repeats (``None``: not stated). ``spread`` is the relative spread of single runs
    where something states it, with ``spread_source``; ``resolution_s`` what the clock can tell.
    """

    seconds: float
    clock: str = ""
    profiled: bool | None = None
    samples: tuple[float, ...] = ()
    n: int | None = None
    spread: float | None = None
    spread_source: str = ""
    resolution_s: float = 0.0
    clock_quality: str = "documented"

    def __post_init__(self) -> None:
        for value in (self.seconds, *self.samples):
            if not (math.isfinite(value) and value > 0):
                raise QueryError(f"a time is a number of more than 0 s, not {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How engines and DMA were used in the window of a clock; every time in s.

    ``active_s`` maps a resource to the time it computed (engine) or had a packet in flight
    (``dma``), merged over cores; ``any_s`` is the time at least one of them did. The rest of
    ``window_s`` is waiting. ``exposed_dma_s`` is the time a packet is in flight and no engine
    computes, ``throttled_s`` what the Tensor engine lost to a limit. ``None`` is not known.
    """

    clock: str
    window_s: float
    active_s: Mapping[str, float]
    any_s: float | None = None
    exposed_dma_s: float | None = None
    throttled_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part in s of the time on the clock ``device_total``; ``what`` says what it is.

    All parts of a kernel add up to that time: from the lower bound of its useful work up.
    """

    name: str
    seconds: float
    what: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One kernel (variant, operator, program) in one shape, as one run shows it.

    ``flops`` counts all classes of FLOP together, ``tensor_flops`` those of matrix products without
    transposes, ``passes`` element-passes. ``timings`` and ``uses`` hold one entry a clock, the
    headline first. ``bytes`` maps a way to count (``minimal``, ``dispatched``, ``measured``) to
    bytes; ``counts`` holds other counters by name. ``bytes_per_s`` is the memory ceiling that
    binds. ``bound_s`` is a time in s that nothing can beat, ``bound_what`` what it is, ``bounds``
    what each resource alone needs for it. ``parts`` say what the time is, where events tell.
    ``findings`` maps the id of a finding to what it says; ``None``: nobody looked.
    """

    kernel: str
    config: str = ""
    timings: tuple[Timing, ...] = ()
    uses: tuple[Use, ...] = ()
    calls: int = 1
    launches: float | None = None
    flops: float | None = None
    tensor_flops: float | None = None
    passes: float | None = None
    bytes: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    bytes_per_s: float | None = None
    bound_s: float | None = None
    bound_what: str = ""
    bounds: Mapping[str, float] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    verdict: str = ""
    verdict_weak: bool = False
    findings: Mapping[str, str] | None = None
    hardware: str = ""
    lnc: int | None = None
    working_cores: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Kernel and shape: what matches across runs."""
        return f"{self.kernel}, {self.config}" if self.config else self.kernel

    @property
    def byte_kind(self) -> str:
        """The kind of bytes to show: measured before minimal before dispatched; empty if none."""
        return next((k for k in ("measured", "minimal", "dispatched") if k in self.bytes), "")

    def timing(self, clock: str) -> Timing | None:
        """Return the time on a clock."""
        return next((one for one in self.timings if one.clock == clock), None)

    def use(self, clock: str) -> Use | None:
        """Return the use in the window of a clock."""
        return next((one for one in self.uses if one.clock == clock), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything one input holds; ``label`` is its short name, ``source`` where it came from.

    ``issues`` holds what is known of the quality of its data, as (file, issue).
    """

    label: str
    source: str
    format: str
    observed: tuple[Observed, ...]
    notes: tuple[str, ...] = ()
    issues: tuple[tuple[str, Issue], ...] = ()

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels, in order."""
        return tuple(dict.fromkeys(one.kernel for one in self.observed))


def join_repeats(observed: Iterable[Observed]) -> tuple[Observed, ...]:
    """Return one entry a kernel and shape: times of the same key become samples of one.

    Counters are those of the run with the median time: no counter is an average of runs.
    """
    groups: dict[tuple[str, str, int], list[Observed]] = {}
    for one in observed:
        groups.setdefault((one.kernel, one.config, one.calls), []).append(one)
    return tuple(_joined(members) for members in groups.values())


def _joined(members: list[Observed]) -> Observed:
    if len(members) == 1:
        return members[0]
    timed = sorted((one for one in members if one.timings), key=lambda one: one.timings[0].seconds)
    middle = timed[(len(timed) - 1) // 2] if timed else members[0]
    timings = []
    for timing in middle.timings:
        same = [found for one in members if (found := one.timing(timing.clock)) is not None]
        samples = tuple(value for found in same for value in (found.samples or (found.seconds,)))
        timings.append(
            replace(timing, seconds=statistics.median(samples), samples=samples, n=len(samples))
        )
    return replace(middle, timings=tuple(timings))


def split_kernels(run: Run) -> tuple[Run, ...]:
    """Return one run a kernel of ``run``, named after it: variants of one study side by side."""
    return tuple(
        replace(
            run,
            label=kernel,
            observed=tuple(one for one in run.observed if one.kernel == kernel),
        )
        for kernel in run.kernels
    )
