"""What findings look at: one execution, from its events or from counters alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofline.analysis.activity import Activity, activity
from roofline.analysis.bounds import Busy
from roofline.analysis.bounds_inputs import dma_rate, measure, working_core
from roofline.analysis.columns import codes, has, integers
from roofline.analysis.critical_path import Segment, walk_back
from roofline.analysis.graph import build_graph
from roofline.analysis.ideal import Ideal, ideal_work
from roofline.analysis.idle import Segments, idle_segments
from roofline.analysis.operands import Operands, read_operands
from roofline.analysis.signals import read_signals
from roofline.analysis.timeline import Timeline
from roofline.analysis.totals import active_times, body_time, total_time
from roofline.analysis.window import Window
from roofline.captures.capture import Capture
from roofline.engines import COMPUTE_ENGINES
from roofline.errors import CaptureError, MissingTableError
from roofline.hardware.model import Hardware

if TYPE_CHECKING:
    from roofline.intervals import Int64Array

__all__ = ["Counters", "Events", "Scene", "scene_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Totals of one execution; times in s, ``None`` where not known.

    ``window_s`` is the length the shares refer to (a summary's ``total_active_time``), ``total_s``
    the whole run. ``active_s`` maps engines and ``dma`` to merged busy time. ``input_bytes`` are
    those of inputs and weights, ``necessary_bytes`` those of outputs too. ``flops`` are Tensor
    FLOP as executed, ``dtype`` the one they were multiplied in. ``merged_cores`` is how many
    cores the times are a union of.
    """

    window_s: float
    total_s: float
    active_s: Mapping[str, float] = field(default_factory=dict)
    dma_bytes: float | None = None
    hbm_read_bytes: float | None = None
    hbm_write_bytes: float | None = None
    input_bytes: float | None = None
    necessary_bytes: float | None = None
    spill_bytes: float | None = None
    flops: float | None = None
    transpose_flops: float | None = None
    dtype: str = ""
    merged_cores: int = 1

    def share(self, resource: str) -> float | None:
        """Return the active share of the window of a resource."""
        value = self.active_s.get(resource)
        return None if value is None else value / self.window_s

    @property
    def moved_bytes(self) -> float | None:
        """Bytes over the DMA path: counted there, else read from and written to HBM."""
        if self.dma_bytes:
            return self.dma_bytes
        if self.hbm_read_bytes is None or self.hbm_write_bytes is None:
            return None
        return self.hbm_read_bytes + self.hbm_write_bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class Events:
    """The events of the working core in the window, and what was derived from them."""

    capture: Capture
    found: Activity
    core: int
    hardware: Hardware

    @property
    def all_lines(self) -> Timeline:
        """Instructions of all cores, whole capture."""
        assert self.found.instructions is not None
        return self.found.instructions

    @cached_property
    def lines(self) -> Timeline:
        """Instructions of the working core that start in the window."""
        lines, window = self.all_lines, self.found.window
        inside = (lines.core == self.core) & (lines.start >= window.start_ps)
        return lines.take(inside & (lines.start < window.end_ps))

    @cached_property
    def packets(self) -> Int64Array:
        """Rows of the DMA timeline: payload of the working core that starts in the window."""
        dma, window = self.found.dma, self.found.window
        if dma is None:
            return np.zeros(0, np.int64)
        inside = (dma.start >= window.start_ps) & (dma.start < window.end_ps)
        return np.flatnonzero(inside & dma.payload & (dma.core == self.core))

    @cached_property
    def operands(self) -> Operands | None:
        """What the operand texts say, ``None`` without them."""
        return read_operands(self.capture.instructions)

    @cached_property
    def work(self) -> Ideal:
        """Ideal cycles, modes and passes of ``lines``."""
        return ideal_work(self.capture.instructions, self.lines, self.hardware)

    @cached_property
    def busy(self) -> dict[str, Busy]:
        """Times of each resource by level."""
        return measure(self.capture, self.found, self.core, self.hardware).busy

    @cached_property
    def path(self) -> tuple[Segment, ...]:
        """The critical path; empty where the capture has no operands."""
        try:
            return tuple(walk_back(build_graph(self.capture, self.found), self.found))
        except MissingTableError:
            return ()

    def path_s(self, resource: str, *kinds: str) -> float | None:
        """Return s on the critical path of a resource (``dma`` for all queues) in some kinds.

        ``None`` where there is no path, or where too much of it is not known.
        """
        whole = sum(one.end - one.start for one in self.path)
        unknown = sum(one.end - one.start for one in self.path if one.kind == "unknown")
        if not whole or unknown > whole / 5:
            return None
        return (
            sum(
                one.end - one.start
                for one in self.path
                if (one.resource == resource or one.resource.startswith(f"{resource}:"))
                and (not kinds or one.kind in kinds)
            )
            / 1e12
        )

    @cached_property
    def idle(self) -> dict[str, Segments]:
        """Idle spans with causes by engine; empty where the capture has no operands."""
        if self.operands is None:
            return {}
        signals = read_signals(self.capture, self.all_lines, self.operands)
        return {
            engine: idle_segments(
                self.found, self.all_lines, self.operands, signals, engine, self.core
            )
            for engine in (*COMPUTE_ENGINES, "sync")
        }

    def waited_s(self, engine: str, cause: str) -> float:
        """Return s in the window an engine was idle for a cause; ``dma`` means any queue."""
        segments = self.idle.get(engine)
        if segments is None:
            return 0.0
        names = [name for name in set(segments.cause.tolist()) if name.split(":")[0] == cause]
        gaps = self.found.busy(engine, self.core).gaps(
            self.found.window.start_ps, self.found.window.end_ps
        )
        return sum(gaps.intersect(segments.of(name)).total for name in names) / 1e12

    def rows(self, chosen: npt.NDArray[Any], most: int = 5) -> tuple[int, ...]:
        """Return table rows of the longest of some rows of ``lines`` (index or mask)."""
        index = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
        lasts = (self.lines.end - self.lines.start)[index]
        order = index[np.argsort(-lasts, kind="stable")][:most]
        return tuple(int(row) for row in self.lines.row[order])


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """One execution to look at; ``events`` is ``None`` where there are only counters."""

    hardware: Hardware
    counters: Counters
    events: Events | None = None

    @property
    def window_s(self) -> float:
        """Length of the window in s."""
        return self.counters.window_s

    def share(self, seconds: float) -> float:
        """Return a time as a share of the window."""
        return seconds / self.window_s

    @property
    def dma_rate(self) -> float:
        """Theoretical B/s of one core's path to memory."""
        return dma_rate(self.hardware, "theoretical")

    def gain_s(self, resource: str, time_s: float) -> float:
        """Return what bringing one resource down to ``time_s`` can win at most.

        The window less the larger of that time and the slowest other resource, and not more than
        the resource's own time falls.
        """
        active = self.counters.active_s
        others = [value for name, value in active.items() if name != resource]
        window = self.window_s - max([time_s, *others])
        return max(0.0, min(window, active.get(resource, 0.0) - time_s))

    @property
    def busiest(self) -> str:
        """The resource with the most busy time, empty where nothing is known."""
        active = self.counters.active_s
        return max(active, key=lambda name: active[name], default="")


def scene_of(capture: Capture, hardware: Hardware, window: str | Window = "body") -> Scene:
    """Return a capture as findings see it: its events where it has them, else its counters.

    Raises ``CaptureError`` for a summary without a time.
    """
    if capture.has("instructions"):
        found = activity(capture, window)
        core = working_core(found)
        events = Events(capture=capture, found=found, core=core, hardware=hardware)
        return Scene(hardware=hardware, counters=_from_events(events), events=events)
    return Scene(hardware=hardware, counters=_from_summary(capture, window))


def _from_events(events: Events) -> Counters:
    found, core, table = events.found, events.core, events.capture.instructions
    phases = found.phases
    active = {name: found.busy(name, core).total / 1e12 for name in COMPUTE_ENGINES}
    size = None
    if found.dma is not None:
        active["dma"] = found.transfers(core).total / 1e12
        size = float(found.dma.size[events.packets].sum())
    rows = events.lines.row

    def total(name: str) -> float | None:
        return float(integers(table, name)[rows].sum()) if has(table, name) else None

    inputs, necessary = _tensor_bytes(events.capture)
    return Counters(
        window_s=found.window.seconds,
        total_s=found.total_s or (phases.last_ps - phases.first_ps) / 1e12,
        active_s=active,
        dma_bytes=size,
        hbm_read_bytes=total("hbm_read_bytes"),
        hbm_write_bytes=total("hbm_write_bytes"),
        input_bytes=inputs,
        necessary_bytes=necessary,
        spill_bytes=total("spill_reload_bytes"),
        flops=total("raw_flops"),
    )


def _tensor_bytes(capture: Capture) -> tuple[float | None, float | None]:
    summary = capture.summary
    inputs = summary.get("inputs_and_weights_size_bytes")
    necessary = summary.get("inputs_outputs_weights_size_bytes")
    if capture.has("tensors"):
        kind, names = codes(capture.tensors, "type")
        size = integers(capture.tensors, "size")
        of = {name: float(size[kind == at].sum()) for at, name in enumerate(names)}
        inputs = of.get("IN", 0.0) + of.get("WEIGHT", 0.0) or inputs
        necessary = sum(of.get(name, 0.0) for name in ("IN", "OUT", "WEIGHT")) or necessary
    return inputs or None, necessary or None


def _from_summary(capture: Capture, window: str | Window) -> Counters:
    summary = capture.summary
    total, body = total_time(summary), body_time(summary)
    if total is None:
        raise CaptureError(f"{capture.path}: a summary without a positive total_time")
    return Counters(
        window_s=body if window == "body" and body is not None else total,
        total_s=total,
        active_s=active_times(summary),
        dma_bytes=None,
        hbm_read_bytes=summary.get("hbm_read_bytes"),
        hbm_write_bytes=summary.get("hbm_write_bytes"),
        input_bytes=summary.get("inputs_and_weights_size_bytes") or None,
        necessary_bytes=summary.get("inputs_outputs_weights_size_bytes") or None,
        spill_bytes=summary.get("spill_reload_bytes"),
        flops=summary.get("hardware_flops"),
        transpose_flops=summary.get("transpose_flops"),
        merged_cores=int(capture.metadata.get("cores") or capture.metadata.get("lnc") or 1),
    )
