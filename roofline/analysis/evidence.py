"""Evidence: what is known about one execution when a verdict is asked for. Unknown is ``None``."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from roofline.clocks import CLOCKS, clock
from roofline.engines import COMPUTE_ENGINES, ENGINES
from roofline.errors import QueryError

__all__ = ["BASES", "MEMORY", "Evidence", "ResourceEvidence"]

MEMORY = ("dma", "hbm")
"""The two memory resources: the core's DMA path and the HBM stack behind it."""

BASES = ("capture", "summary", "time")
"""What the fractions come from: event tables, a profile's counters, or a time and counted work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceEvidence:
    """What one resource did in the window; fractions of 1, ``None`` where not known.

    ``active``: merged time with at least one instruction (engine) or packet (``dma``), over the
    window. ``working``: the part of the window it did useful work, i.e. ``active`` without queued,
    waiting, weight-load, DMA-issue, table-load and control time. ``rate``: work per second over
    the window against what the resource can reach (engines: theoretical roof of the dtype and
    mode that ran; memory: the sustained or else theoretical rate one logical core can reach).
    ``rate_low`` and ``rate_high``: the same against the highest and the lowest value that is
    documented or measured for this roof.

    Reasons need more: ``streaming`` is the share of its working time in which elements flow (the
    rest is the fixed cost of instructions), ``throttled`` the share of the window the Tensor
    engine lost to a limit while it worked, ``issue`` the share of the window in which transfers
    waited for descriptors to be made, ``bytes_per_partition`` the median contiguous bytes per
    SBUF partition and ``packet_bytes`` the mean DMA packet.
    """

    resource: str
    active: float | None = None
    working: float | None = None
    rate: float | None = None
    rate_low: float | None = None
    rate_high: float | None = None
    streaming: float | None = None
    throttled: float | None = None
    issue: float | None = None
    bytes_per_partition: float | None = None
    packet_bytes: float | None = None

    def __post_init__(self) -> None:
        if self.resource not in (*ENGINES, *MEMORY):
            raise QueryError(f"unknown resource {self.resource!r}; known: {(*ENGINES, *MEMORY)}")
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name == "resource" or value is None:
                continue
            if not math.isfinite(value) or value < 0:
                raise QueryError(
                    f"{self.resource}: {entry.name} = {value} is not a number of 0 or more; "
                    "what is not known is None"
                )

    @property
    def is_memory(self) -> bool:
        """Whether this is the DMA path or the HBM stack."""
        return self.resource in MEMORY

    @property
    def busy(self) -> float | None:
        """Working fraction, or the active one where work was not split from waiting."""
        return self.working if self.working is not None else self.active

    @property
    def known(self) -> bool:
        """Whether anything says how much this resource was used."""
        return self.busy is not None or self.rate is not None

    @property
    def rate_while_busy(self) -> float | None:
        """Rate over the time it was busy instead of over the window."""
        if self.rate is None or not self.busy:
            return self.rate
        return self.rate / self.busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One execution over one window, ready to be judged by ``decide``.

    ``time_s`` is the length of the window on ``clock``; ``basis`` says what the fractions come
    from. ``fixed_s`` is the range (low, high) of the time in this window that does not depend on
    the amount of work: launch, host, device start; ``fixed_source`` says where it comes from.
    ``union`` is set when the fractions of several cores were merged into one figure, ``cores``
    how many cores are in it. ``lost_fraction`` is the share of records known to be lost, and
    ``contradictions`` are statements of the data about itself that cannot all hold.
    """

    time_s: float
    clock: str
    basis: str
    resources: tuple[ResourceEvidence, ...] = ()
    fixed_s: tuple[float, float] | None = None
    fixed_source: str = ""
    launches: int | None = None
    cores: int | None = None
    union: bool = False
    lost_fraction: float | None = None
    contradictions: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        clock(self.clock)
        if self.basis not in BASES:
            raise QueryError(f"unknown basis {self.basis!r}; known: {', '.join(BASES)}")
        if not math.isfinite(self.time_s) or self.time_s <= 0:
            raise QueryError(f"a window has a positive time in s, not {self.time_s}")
        if self.fixed_s is not None and not 0 <= self.fixed_s[0] <= self.fixed_s[1]:
            raise QueryError(f"fixed time is a range (low, high) in s, not {self.fixed_s}")
        names = [entry.resource for entry in self.resources]
        if len(set(names)) != len(names):
            raise QueryError(f"a resource is given twice: {', '.join(names)}")

    @property
    def fixed_share(self) -> tuple[float, float] | None:
        """Fixed time over the window, low and high, at most 1; ``None`` where not known."""
        if self.fixed_s is None:
            return None
        return min(1.0, self.fixed_s[0] / self.time_s), min(1.0, self.fixed_s[1] / self.time_s)

    @property
    def on_host(self) -> bool:
        """Whether the clock contains host time."""
        return self.clock in ("host_wall", "framework_window")

    @property
    def engines(self) -> tuple[ResourceEvidence, ...]:
        """Engines with a data path of which something is known."""
        return tuple(e for e in self.resources if e.resource in COMPUTE_ENGINES and e.known)

    @property
    def memory(self) -> tuple[ResourceEvidence, ...]:
        """Memory resources of which something is known."""
        return tuple(e for e in self.resources if e.is_memory and e.known)

    def resource(self, name: str) -> ResourceEvidence:
        """Return what is known of a resource; all ``None`` where nothing is."""
        for entry in self.resources:
            if entry.resource == name:
                return entry
        return ResourceEvidence(resource=name)

    @property
    def clock_words(self) -> str:
        """The clock in words."""
        return CLOCKS[self.clock]
