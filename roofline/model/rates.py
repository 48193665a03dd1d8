"""The constants of one hardware, dtype and implementation, in the form the time model uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from roofline.dtypes import dtype_of
from roofline.engines import ELEMENT_ENGINES
from roofline.errors import HardwareModelError, QueryError
from roofline.hardware.model import Hardware
from roofline.model.demand import Part
from roofline.model.schedule import IMPLEMENTATIONS, schedule_for

__all__ = ["CLOCKS_MODELLED", "STREAMING", "EngineRate", "Rates", "rates_for", "width_of"]

CLOCKS_MODELLED: Final = ("device_execution", "device_body", "device_total", "framework_window")
"""Clocks an estimate can be given on."""

_OVERHEADS: Final = {
    "vector": ("instructions.vector.any.interval_cycles", "instructions.any.interval_floor_cycles"),
    "scalar": ("instructions.scalar.any.interval_cycles", "instructions.any.interval_floor_cycles"),
    "gpsimd": ("instructions.gpsimd.any.start_cycles", "instructions.any.interval_floor_cycles"),
}
_WIDTHS: Final = (8, 16, 32)

STREAMING: Final = ("elementwise", "special", "copy")
"""Families that stream each operand once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRate:
    """One element engine: clock (Hz), cycles per element and lane at best and as calibrated.

    ``overhead_cycles`` is what each instruction costs besides its elements.
    """

    clock_hz: float
    best_cycles: float
    cycles: float
    overhead_cycles: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Everything the core needs to turn a demand into seconds.

    Rates in B/s, FLOP/s and element/s are those of all working cores; ``floor_s`` is (low, value,
    high) per launch on ``clock``. ``passes`` holds calibrated passes per element on Vector by
    operator or family, ``operand_passes`` those per element of each operand, ``input_reads`` how
    often inputs are read by family, ``tensor_efficiency`` the calibrated part of the Tensor peak by
    dtype.
    ``residual`` is the range of measured over estimated time in the data of the fit, ``span_bytes``
    the sizes it covers. ``quality`` is the weakest of the calibrated constants.
    """

    hardware: str
    dtype: str
    implementation: str
    clock: str
    lanes: float
    tensor_rows: float
    tensor_columns: float
    memory_resource: str
    memory_bytes_per_s: float
    achieved_bytes_per_s: float
    achieved_resource: str
    transfer_engines: float
    link_bytes_per_s: float
    packet_interval_s: float
    element_floor_s: float
    passes_per_s: float
    engines: Mapping[str, EngineRate]
    tensor_peak: Mapping[str, float]
    tensor_efficiency: Mapping[str, float]
    limited_s: float
    floor_s: tuple[float, float, float]
    stage_s: float
    item_bytes: float
    passes: Mapping[str, float] = field(default_factory=dict)
    operand_passes: Mapping[str, float] = field(default_factory=dict)
    input_reads: Mapping[str, float] = field(default_factory=dict)
    residual: tuple[float, float] = (1.0, 1.0)
    span_bytes: tuple[float, float] = (0.0, float("inf"))
    capacity_bytes: float = float("inf")
    quality: str = "calibrated"

    def passes_of(self, part: Part) -> Mapping[str, float] | None:
        """Return passes per element by engine, or ``None`` where they are as counted.

        A declared schedule states them; else an operator has its own constant, its family's, or
        that of each of its operands.
        """
        if part.declared is not None:
            return part.declared.passes
        fitted = self.passes.get(part.name, self.passes.get(part.family))
        if fitted is None and part.family in STREAMING and "elementwise" in self.operand_passes:
            fitted = self.operand_passes["elementwise"] * part.operands
        known = schedule_for(part.family, self.implementation).passes
        if fitted is None:
            return known or None
        return {**known, "vector": fitted}

    def reads_of(self, family: str) -> float:
        """Return how often the inputs of a launch of this family are read."""
        known = schedule_for(family, self.implementation).input_reads
        return self.input_reads.get(family, known)


def width_of(dtype: str) -> int:
    """Return the element width class in bits: 8, 16 or 32 (wider types count as 32 and more)."""
    bits = dtype_of(dtype).bits
    return next((width for width in _WIDTHS if bits <= width), _WIDTHS[-1])


def rates_for(
    hardware: Hardware, dtype: str, implementation: str, *, clock: str = "device_execution"
) -> Rates:
    """Return the constants of ``hardware`` for elements of ``dtype``.

    ``implementation`` is ``eager`` or ``nki``. Raises ``QueryError`` for an unknown implementation
    or clock and ``HardwareModelError`` where the model has no calibrated constants.
    """
    if implementation not in IMPLEMENTATIONS:
        known = ", ".join(IMPLEMENTATIONS)
        raise QueryError(f"unknown implementation {implementation!r}; known: {known}")
    if clock not in CLOCKS_MODELLED:
        raise QueryError(f"no estimate on clock {clock!r}; known: {', '.join(CLOCKS_MODELLED)}")
    if not hardware.paths("calibrated"):
        raise HardwareModelError(
            f"{hardware.name}: no calibrated constants in {hardware.path or 'the model'}; "
            "bounds need none, an estimate does (roofline validate --calibrate writes them)"
        )
    bits, width = dtype_of(dtype).bits, width_of(dtype)
    memory = hardware.memory_ceiling("theoretical")
    achieved, resource = _achieved(hardware)
    dtypes = [key for key in hardware.tensor_dtypes() if key != "sparse"]
    residual = f"calibrated.interval.{implementation}"
    return Rates(
        hardware=hardware.name,
        dtype=dtype,
        implementation=implementation,
        clock=clock,
        lanes=hardware.value("engines.vector.lanes_count").value * hardware.working_cores,
        tensor_rows=hardware.value("engines.tensor.rows_count").value,
        tensor_columns=hardware.value("engines.tensor.columns_count").value,
        memory_resource=memory.resource,
        memory_bytes_per_s=memory.value,
        achieved_bytes_per_s=achieved,
        achieved_resource=resource,
        transfer_engines=hardware.value("dma.engines_count").value * hardware.working_cores,
        link_bytes_per_s=hardware.value("dma.link_bytes_per_s").value,
        packet_interval_s=_number(hardware, "dma.packet.interval_s", 0.0),
        element_floor_s=_number(hardware, "dma.element.to_sbuf.floor_s", 0.0),
        passes_per_s=hardware.best_element_rate(dtype),
        engines={
            engine: _engine(hardware, engine, dtype, max(1.0, bits / width), width)
            for engine in ELEMENT_ENGINES
        },
        tensor_peak={key: hardware.tensor_peak(key).value for key in dtypes},
        tensor_efficiency={
            key: _tensor_efficiency(hardware, key, implementation) for key in dtypes
        },
        limited_s=_limited(hardware),
        floor_s=_floor(hardware, clock),
        stage_s=hardware.value("calibrated.device.stage_s").value,
        item_bytes=bits / 8,
        passes=_fitted(hardware, implementation, width, "vector_passes_ratio"),
        operand_passes=_fitted(hardware, implementation, width, "vector_passes_per_operand_ratio"),
        input_reads=_fitted(hardware, implementation, width, "input_reads_ratio"),
        residual=(
            hardware.value(f"{residual}.low_ratio").value,
            hardware.value(f"{residual}.high_ratio").value,
        ),
        span_bytes=(
            hardware.value(f"{residual}.smallest_bytes").value,
            hardware.value(f"{residual}.largest_bytes").value,
        ),
        capacity_bytes=hardware.value("memories.hbm.capacity_bytes").value,
        quality=hardware.value("calibrated.device.stage_s").quality,
    )


def _number(hardware: Hardware, path: str, default: float) -> float:
    found = hardware.values.get(path)
    return default if found is None else found.value


def _achieved(hardware: Hardware) -> tuple[float, str]:
    """Return the memory rate streams reach, and the resource that limits it."""
    stack = (
        next(roof for roof in hardware.memory_roofs("theoretical") if roof.resource == "hbm").value
        * hardware.value("calibrated.hbm.efficiency_ratio").value
    )
    path = min(
        roof.value
        for kind in ("sustained", "theoretical")
        for roof in hardware.memory_roofs(kind)
        if roof.resource == "dma"
    )
    return (stack, "hbm") if stack <= path else (path, "dma")


def _engine(hardware: Hardware, engine: str, dtype: str, widening: float, width: int) -> EngineRate:
    best = max(
        rule.elements_per_lane_per_cycle
        for rule in hardware.modes
        if rule.engine == engine and ("*" in rule.dtypes or dtype in rule.dtypes)
    )
    fitted = _number(hardware, f"calibrated.pass.bits{width}.{engine}_cycles", 1.0) * widening
    path, fallback = _OVERHEADS[engine]
    overhead = _number(hardware, path, _number(hardware, fallback, 0.0))
    return EngineRate(
        clock_hz=hardware.clock_hz(engine),
        best_cycles=1.0 / best,
        cycles=max(fitted, 1.0 / best),
        overhead_cycles=overhead,
    )


def _tensor_efficiency(hardware: Hardware, dtype: str, implementation: str) -> float:
    width = "bits32" if dtype == "fp32" else "bits16"
    return _number(hardware, f"calibrated.matmul.{implementation}.{width}.efficiency_ratio", 1.0)


def _limited(hardware: Hardware) -> float:
    """Return the mean time a burst of Tensor work runs limited, in s; 0 where there is no limit.

    Windows run free of the work; one that is occupied enough lifts the limit at its end. Over a
    uniform phase the wait is 1/2 + lift occupancy windows.
    """
    window = hardware.values.get("throttle.window_cycles")
    lift = hardware.values.get("throttle.lift_occupancy_ratio")
    if window is None or lift is None:
        return 0.0
    return (0.5 + lift.value) * window.value / hardware.value("chip.clock.clock_hz").value


def _floor(hardware: Hardware, clock: str) -> tuple[float, float, float]:
    if clock == "device_body":
        return (0.0, 0.0, 0.0)
    own = "calibrated.device.floor_s"
    quantity = hardware.value(
        own if clock == "device_execution" else f"overheads.launch.{clock}.floor_s"
    )
    low = quantity.value if quantity.low is None else quantity.low
    high = quantity.value if quantity.high is None else quantity.high
    return low, quantity.value, high


def _fitted(hardware: Hardware, implementation: str, width: int, number: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for suffix in (implementation, f"{implementation}_bits{width}"):  # the narrower one wins
        for path in hardware.paths("calibrated.schedule"):
            words = path.split(".")
            if words[3] == suffix and words[-1] == number:
                found[words[2]] = hardware.value(path).value
    return found
