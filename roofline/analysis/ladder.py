"""The time ladder: what each microsecond of a launch is, from the byte floor to the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from roofline.analysis.placement import Placement, element_shares
from roofline.clocks import CLOCKS
from roofline.hardware.model import Hardware
from roofline.quantity import Quantity

__all__ = ["Rung", "device_time", "ladder", "measured_rung"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One step of the ladder: a time in s with its range, what it is, and how it is known."""

    key: str
    label: str
    what: str
    low_s: float
    value_s: float
    high_s: float
    source: str
    quality: str


def ladder(placement: Placement) -> tuple[Rung, ...]:
    """Return the rungs of a placed work, shortest first as a rule, the measured time last.

    Byte floor: minimal bytes at the theoretical memory rate; bytes moved: measured ones. Engine
    passes: element-passes on the lanes that the rows can fill, from all engines in their best mode
    to the usual engine alone at 1x, and Tensor FLOP at the peak. DMA latency: one load and one
    store a launch at their fixed cost. Device start: the published floor of one execution, a
    launch. Each rung is a time of its own and not the sum of those before it.
    """
    rungs = [*_bytes(placement), *_engines(placement), *_fixed(placement)]
    if placement.time_s is not None:
        clock = placement.clock
        rungs.append(measured_rung("measured", "measured", CLOCKS[clock], placement.time_s, clock))
    return tuple(rungs)


def _bytes(placement: Placement) -> Iterator[Rung]:
    memory = placement.hardware.memory_ceiling("theoretical")
    for key, label, kind, how in (
        ("bytes", "byte floor", "minimal", "each moved once"),
        ("moved", "bytes moved", "measured", "as counted"),
    ):
        if kind in placement.bytes:
            seconds = placement.bytes[kind] / memory.value
            yield _rung(
                key,
                label,
                f"{placement.bytes[kind]:,} B, {how}, at {memory.name}",
                Quantity(value=seconds, unit="s", source=memory.source, quality="derived"),
            )


def _engines(placement: Placement) -> Iterator[Rung]:
    best, alone = _engine_seconds(placement)
    if alone <= 0:
        return
    filled, lanes = _lanes(placement)
    yield _rung(
        "engines",
        "engine passes",
        f"{placement.work.element_passes:,} element-passes, and {placement.tensor_flops:,} Tensor "
        f"FLOP, {filled} of {lanes} lanes filled; from all engines in their best "
        "mode to the usual engine alone at 1x",
        Quantity(
            value=alone, low=best, high=alone, unit="s", source="lanes x clock", quality="derived"
        ),
    )


def _fixed(placement: Placement) -> Iterator[Rung]:
    launches = placement.work.launches
    fixed = _known(placement.hardware, "dma.fixed.documented.total_s")
    if fixed is not None:
        what = f"one load and one store a launch at their fixed cost, {_launches(launches)}"
        yield _rung("dma", "DMA latency", what, _scaled(fixed, 2 * launches))
    start = _known(placement.hardware, "overheads.launch.device_execution.floor_s")
    if start is not None:
        what = f"published floor of an execution, {_launches(launches)}"
        yield _rung("device-start", "device start", what, _scaled(start, launches))


def device_time(placement: Placement) -> tuple[float, float] | None:
    """Return the range in s that all launches of a work can take on the device.

    Low: the lower end of the published floor of an execution, and no less than the lower bound.
    High: its upper end, and then everything one after the other: passes at 1x on the lanes that
    the rows fill, and all dispatched bytes at the documented DMA efficiency of their rows.
    ``None`` where the hardware model has no floor.
    """
    start = _known(placement.hardware, "overheads.launch.device_execution.floor_s")
    if start is None:
        return None
    launches = placement.work.launches
    low = start.low if start.low is not None else start.value
    high = start.high if start.high is not None else start.value
    slow = _engine_seconds(placement)[1]
    return (
        max(low * launches, placement.bound_s or 0.0),
        high * launches + slow + _slow_bytes_seconds(placement),
    )


def _slow_bytes_seconds(placement: Placement) -> float:
    """All bytes through one DMA engine where rows do not fill the lanes, else at the ceiling."""
    hardware = placement.hardware
    moved = max(placement.bytes.values(), default=0)
    rate = hardware.value("dma.link_bytes_per_s").value
    filled, lanes = _lanes(placement)
    ceiling = hardware.memory_ceiling("theoretical").value
    return moved / (rate if filled < lanes else ceiling)


def _engine_seconds(placement: Placement) -> tuple[float, float]:
    """Seconds of the engines on the lanes that are filled: spread in best modes, and one at 1x."""
    hardware, tensor = placement.hardware, placement.term_s("tensor")
    usual = sum(
        passes / hardware.element_rate(engine).value
        for engine, passes in element_shares(placement.work).items()
    )
    filled, lanes = _lanes(placement)
    best = max(tensor, placement.term_s("elements") * lanes / filled)
    return best, max(best, tensor + usual * lanes / filled)


def _lanes(placement: Placement) -> tuple[int, int]:
    """Lanes that the rows of the work can fill when rows lie on partitions, and all lanes."""
    lanes = placement.hardware.partitions
    rows = placement.work.params.get("rows")
    return (lanes if rows is None else max(1, min(lanes, rows))), lanes


def _launches(count: int) -> str:
    return "1 launch" if count == 1 else f"{count} launches"


def _known(hardware: Hardware, path: str) -> Quantity | None:
    return hardware.value(path) if path in hardware.values else None


def _scaled(quantity: Quantity, factor: float) -> Quantity:
    return Quantity(
        value=quantity.value * factor,
        low=None if quantity.low is None else quantity.low * factor,
        high=None if quantity.high is None else quantity.high * factor,
        unit=quantity.unit,
        source=quantity.source,
        quality=quantity.quality,
    )


def _rung(key: str, label: str, what: str, quantity: Quantity) -> Rung:
    return Rung(
        key=key,
        label=label,
        what=what,
        low_s=quantity.value if quantity.low is None else quantity.low,
        value_s=quantity.value,
        high_s=quantity.value if quantity.high is None else quantity.high,
        source=quantity.source,
        quality=quantity.quality,
    )


def measured_rung(key: str, label: str, what: str, seconds: float, source: str) -> Rung:
    """Return a rung of one measured time in s."""
    return Rung(
        key=key,
        label=label,
        what=what,
        low_s=seconds,
        value_s=seconds,
        high_s=seconds,
        source=source,
        quality="measured",
    )
