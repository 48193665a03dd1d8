"""Placement: one execution of a work against the roofs of a hardware."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from roofline.analysis.lower_bound import LowerBound, lower_bound
from roofline.clocks import clock as checked_clock
from roofline.engines import ELEMENT_ENGINES, VENDOR_NAMES
from roofline.errors import QueryError, WorkError
from roofline.hardware.model import Hardware, Roof
from roofline.units import format_number, format_si, format_time
from roofline.work.work import Work

__all__ = ["BYTE_KINDS", "Pair", "Placement", "element_shares", "place", "usable_modes"]

_PER_BYTE = {"FLOP": "FLOP/B", "pass": "passes/B"}

BYTE_KINDS = ("minimal", "dispatched", "measured")
"""Ways to count bytes, from what must move to what was counted by the hardware."""

_ABOVE = {
    "theoretical": "more cores than assumed, data kept on chip, or a time that does not wait",
    "sustained": "an average under load, which good moments exceed",
    "measured": "an average of traces, which good moments exceed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One compute roof against one memory roof.

    ``unit`` is the unit of work (``FLOP`` on the Tensor engine, ``pass`` for element-passes);
    ``intensity`` is work per byte, ``ridge`` the intensity at which the roofs meet, ``attainable``
    the lower of the two roofs at this intensity in work per second, ``achieved`` what the time
    gives (``None`` without a time). ``side`` is ``memory`` left of the ridge, else ``compute``.
    """

    compute: Roof
    memory: Roof
    unit: str
    intensity: float
    ridge: float
    attainable: float
    achieved: float | None

    @property
    def side(self) -> str:
        """Left or right of the ridge."""
        return "memory" if self.intensity < self.ridge else "compute"

    @property
    def fraction(self) -> float | None:
        """Achieved over attainable rate."""
        return None if self.achieved is None else self.achieved / self.attainable


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A work with its time, against the roofs of one hardware.

    ``time_s`` is ``None`` where the work was not timed. ``bytes`` maps the kinds of
    ``BYTE_KINDS`` that are known to bytes; ``flops`` counts all classes together, ``tensor_flops``
    those of the Tensor engine, ``passes`` element-passes. ``headline`` is the pair of the engine
    that does most of the work and the memory ceiling that binds, ``None`` where nothing is
    computed or no bytes are known; ``pairs`` holds every pair.
    ``vendor_ridge`` (FLOP/B, one core's Tensor peak over a whole stack) is the vendor's figure.
    ``bound`` is the schedule-free lower bound, which nothing may beat; ``None`` where neither
    minimal bytes nor anything computed is known.
    """

    work: Work
    hardware: Hardware
    time_s: float | None
    clock: str
    bytes: Mapping[str, int]
    flops: int
    tensor_flops: int
    passes: int
    headline: Pair | None
    pairs: tuple[Pair, ...]
    vendor_ridge: float
    bound: LowerBound | None
    notes: tuple[str, ...] = ()

    @property
    def byte_kind(self) -> str:
        """The kind of bytes the headline uses: measured where known, else minimal."""
        return "measured" if "measured" in self.bytes else "minimal"

    @property
    def bound_s(self) -> float | None:
        """The lower bound in s, ``None`` where there is none."""
        return self.bound.seconds if self.bound is not None and self.bound.seconds > 0 else None

    def term_s(self, name: str) -> float:
        """Return a term of the lower bound in s: ``tensor``, ``elements`` or ``memory``."""
        return 0.0 if self.bound is None else self.bound.terms_s[name]

    def intensity(self, kind: str) -> float | None:
        """Return FLOP per byte with the bytes of a kind, ``None`` where they are not known."""
        moved = self.bytes.get(kind)
        return self.flops / moved if moved else None

    def pass_intensity(self, kind: str) -> float | None:
        """Return element-passes per byte with the bytes of a kind."""
        moved = self.bytes.get(kind)
        return self.passes / moved if moved else None

    @property
    def flops_per_s(self) -> float | None:
        """Achieved FLOP/s of all classes together."""
        return None if self.time_s is None else self.flops / self.time_s

    @property
    def passes_per_s(self) -> float | None:
        """Achieved element-passes per second."""
        return None if self.time_s is None else self.passes / self.time_s

    def bytes_per_s(self, kind: str) -> float | None:
        """Return achieved B/s with the bytes of a kind."""
        moved = self.bytes.get(kind)
        return None if self.time_s is None or moved is None else moved / self.time_s

    @property
    def side(self) -> str:
        """``memory`` or ``compute``: the side of the headline pair.

        Work that only moves bytes is on the memory side, work without bytes on the compute side.
        """
        if self.headline is None:
            return "memory" if self.bytes else "compute"
        return self.headline.side

    @property
    def bound_fraction(self) -> float | None:
        """Lower bound over time: how close to what no schedule can beat."""
        if self.time_s is None or self.bound_s is None:
            return None
        return self.bound_s / self.time_s

    @property
    def headroom(self) -> float | None:
        """Time over lower bound: the largest speed-up this hardware allows."""
        fraction = self.bound_fraction
        return 1 / fraction if fraction else None

    @property
    def side_words(self) -> str:
        """The side in a sentence, with the roofs on which it depends."""
        if self.headline is None:
            known = "it moves bytes and computes nothing" if self.bytes else "no bytes are known"
            return f"on the {self.side} side: {known}"
        memory = self.headline.memory
        pairs = [pair for pair in self.pairs if pair.memory is memory]
        if len({pair.side for pair in pairs}) == 1:
            intensity = f"{format_number(self.headline.intensity)} {_PER_BYTE[self.headline.unit]}"
            return f"on the {self.side} side of every roof pair at {intensity}"
        groups: dict[tuple[str, str], list[str]] = {}
        for pair in pairs:
            at = f"at {format_number(pair.intensity)} {_PER_BYTE[pair.unit]}"
            name = f"{pair.compute.name} (ridge {format_number(pair.ridge)})"
            groups.setdefault((pair.side, at), []).append(name)
        return "; ".join(
            f"{at} on the {side} side of {', '.join(names)}"
            for (side, at), names in sorted(groups.items())
        )


def place(
    work: Work, hardware: Hardware, *, time_s: float | None = None, clock: str = "modelled"
) -> Placement:
    """Return where ``work``, done in ``time_s`` seconds on ``clock``, sits on ``hardware``.

    Raises ``QueryError`` for a time that is not positive, and ``WorkError`` for a work that
    neither moves nor computes anything, or that measured zero bytes.
    """
    checked_clock(clock)
    if time_s is not None and not (math.isfinite(time_s) and time_s > 0):
        raise QueryError(f"a time is a number of more than 0 s, not {time_s}")
    moved = _known_bytes(work)
    computes = bool(work.tensor_flops or work.element_passes)
    if not moved and not computes:
        raise WorkError(f"work {work.name!r} moves and computes nothing: it has no place")
    bound = lower_bound(work, hardware) if computes or work.minimal_bytes else None
    base = moved.get("measured", moved.get("minimal", 0))
    tensor = work.tensor_flops
    tensor_s = sum(flops / hardware.tensor_peak(dtype).value for dtype, flops in tensor.items())
    shares = element_shares(work)
    engine = max(shares, key=lambda key: shares[key], default="")
    element_s = shares[engine] / hardware.element_rate(engine).value if engine else 0.0
    ceiling = hardware.memory_ceiling("theoretical")
    engines = [
        *((hardware.tensor_peak(dtype), flops) for dtype, flops in tensor.items()),
        *(
            (hardware.element_rate(key, mode), work.element_passes)
            for key in (ELEMENT_ENGINES if work.element_passes else ())
            for mode in usable_modes(hardware, key, work.dtype)
        ),
    ]
    pairs = tuple(
        _pair(compute, memory, amount, base, time_s)
        for memory in _memory_roofs(hardware, ceiling)
        for compute, amount in engines
        if base
    )
    working = "tensor" if tensor_s >= element_s else engine
    headline = max(
        (pair for pair in pairs if pair.memory is ceiling and pair.compute.resource == working),
        key=lambda pair: (pair.intensity, -pair.compute.mode),
        default=None,
    )
    return Placement(
        work=work,
        hardware=hardware,
        time_s=time_s,
        clock=clock,
        bytes=moved,
        flops=work.total_flops,
        tensor_flops=sum(tensor.values()),
        passes=work.element_passes,
        headline=headline,
        pairs=pairs,
        vendor_ridge=hardware.vendor_ridge(),
        bound=bound,
        notes=_notes(work, hardware, bound, moved, base, time_s),
    )


def _known_bytes(work: Work) -> dict[str, int]:
    """Return the bytes of each kind that are known; zero bytes moved are no knowledge."""
    moved: dict[str, int] = {}
    if work.minimal_bytes:
        moved["minimal"] = work.minimal_bytes
    if work.dispatched_bytes:
        moved["dispatched"] = work.dispatched_bytes
    if work.measured_bytes is not None:
        if work.measured_bytes == 0 and work.minimal_bytes:
            raise WorkError(f"work {work.name!r}: zero bytes were measured")
        if work.measured_bytes:
            moved["measured"] = work.measured_bytes
    return moved


def element_shares(work: Work) -> dict[str, int]:
    """Return element-passes by the engine that usually takes them."""
    found: dict[str, int] = {}
    for op in work.ops:
        if op.element_passes:
            found[op.usual_engine] = found.get(op.usual_engine, 0) + op.element_passes
    return found


def usable_modes(hardware: Hardware, engine: str, dtype: str) -> tuple[int, ...]:
    """Return the modes (elements per lane and cycle) of an engine that some rule gives a dtype."""
    found = {
        rule.elements_per_lane_per_cycle
        for rule in hardware.modes
        if rule.engine == engine and ("*" in rule.dtypes or dtype in rule.dtypes)
    }
    return tuple(mode for mode in hardware.element_modes(engine) if mode in found)


def _memory_roofs(hardware: Hardware, ceiling: Roof) -> tuple[Roof, ...]:
    """Return the binding ceiling first, then every other memory roof without a direction."""
    others = [roof for roof in hardware.memory_roofs() if not roof.direction and roof != ceiling]
    return (ceiling, *(roof for roof in others if roof.kind != "vendor"))


def _pair(compute: Roof, memory: Roof, amount: int, moved: int, time_s: float | None) -> Pair:
    intensity = amount / moved
    return Pair(
        compute=compute,
        memory=memory,
        unit="FLOP" if compute.resource == "tensor" else "pass",
        intensity=intensity,
        ridge=compute.value / memory.value,
        attainable=min(compute.value, intensity * memory.value),
        achieved=None if time_s is None else amount / time_s,
    )


def _notes(
    work: Work,
    hardware: Hardware,
    bound: LowerBound | None,
    moved: Mapping[str, int],
    base: int,
    time_s: float | None,
) -> tuple[str, ...]:
    """Return what a reader must know beside the figures: points above a roof, partial counts."""
    notes = []
    if work.partial:
        notes.append(f"no formula for {', '.join(work.unknown_ops)}: the counts are partial")
    if 0 < moved.get("measured", 0) < moved.get("minimal", 0):
        notes.append(
            f"{moved['measured']:,} bytes were measured, fewer than the minimum of "
            f"{moved['minimal']:,}: data kept on chip, a wrong shape, or lost counters"
        )
    if time_s is None:
        return tuple(notes)
    if bound is not None and time_s < bound.seconds:
        notes.append(
            f"{format_time(time_s)} is faster than the lower bound of "
            f"{format_time(bound.seconds)} ({VENDOR_NAMES.get(bound.binding, bound.binding)}): "
            "more cores than assumed, a wrong shape or dtype, or a time that does not wait for "
            "completion"
        )
    rate = base / time_s
    notes += [
        f"{format_si(rate, 'B/s')} is above the roof {roof.name} of "
        f"{format_si(roof.value, 'B/s')} ({roof.kind}): {_ABOVE[roof.kind]}"
        for roof in hardware.memory_roofs()
        if not roof.direction and roof.kind in _ABOVE and rate > roof.value
    ]
    return tuple(notes)
