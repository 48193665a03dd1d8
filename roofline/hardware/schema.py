"""What a hardware model file may hold and what it must hold, as data.

A rule is a path with ``*`` for any one name. A key that no rule names is an error, so a new
constant is one new line here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from roofline.engines import COMPUTE_ENGINES, ELEMENT_ENGINES, ENGINES

__all__ = ["REQUIRED", "SCHEMA_VERSION", "TREES", "UNITS", "is_number_path", "unit_of"]

SCHEMA_VERSION: Final = 1

UNITS: Final = {
    "elements_per_lane_per_cycle": "element/cycle",
    "cycles_per_column": "cycle",
    "macs_per_pe_per_cycle": "MAC/cycle",
    "elements_per_cycle": "element/cycle",
    "elements_per_s": "element/s",
    "flop_per_s": "FLOP/s",
    "bytes_per_s": "B/s",
    "elements": "element",
    "bytes": "B",
    "cycles": "cycle",
    "count": "1",
    "ratio": "1",
    "hz": "Hz",
    "s": "s",
}
"""Suffix of a key -> unit of its number; the longest suffix that fits counts."""

REQUIRED: Final = (
    "chip.cores_count",
    "lnc.choices_count",
    "lnc.default_count",
    "engines.tensor.rows_count",
    "engines.tensor.columns_count",
    "engines.tensor.rates.fp32.macs_per_pe_per_cycle",
    "engines.tensor.rates.bf16.macs_per_pe_per_cycle",
    *(f"engines.{engine}.clock_hz" for engine in ENGINES),
    *(f"engines.{engine}.lanes_count" for engine in ELEMENT_ENGINES),
    "memories.hbm.capacity_bytes",
    "memories.hbm.stacks_count",
    "memories.hbm.cores_per_stack_count",
    "memories.hbm.stack.bandwidth_bytes_per_s",
    "memories.sbuf.capacity_bytes",
    "memories.sbuf.partitions_count",
    "memories.sbuf.partition_bytes",
    "memories.psum.capacity_bytes",
    "memories.psum.partitions_count",
    "memories.psum.partition_bytes",
    "dma.engines_count",
    "dma.link_bytes_per_s",
)
"""Numbers without which no roof can be drawn. Anything else may be left out where not known."""


def _printed(where: str) -> tuple[str, ...]:
    kinds = ("bf16", "fp8", "mxfp8", "fp32", "int8", "sparse")
    return tuple(f"{where}.{kind}_flop_per_s" for kind in kinds)


TREES: Final[Mapping[str, tuple[str, ...]]] = {
    "chip": ("cores_count", "clock.clock_hz", *_printed("printed")),
    "lnc": ("choices_count", "default_count"),
    "instances": ("*.chips_count",),
    "engines": (
        "*.clock_hz",
        *_printed("*.vendor_printed"),
        "tensor.rows_count",
        "tensor.columns_count",
        "tensor.rates.*.macs_per_pe_per_cycle",
        "tensor.measured.*.flop_per_s",
        *(
            f"tensor.tile.{number}_count"
            for number in (
                "contraction",
                "fp8_contraction",
                "mx_contraction",
                "stationary_columns",
                "moving_columns",
                "moving_columns_bf16_out",
                "smallest_pe_tile",
            )
        ),
        "vector.lanes_count",
        "scalar.lanes_count",
        "gpsimd.lanes_count",
        "gpsimd.processors_count",
    ),
    "memories": (
        "*.capacity_bytes",
        "*.partitions_count",
        "*.partition_bytes",
        "hbm.stacks_count",
        "hbm.cores_per_stack_count",
        "hbm.stack.bandwidth_bytes_per_s",
        "hbm.printed.chip_bandwidth_bytes_per_s",
        "hbm.vendor.bandwidth_bytes_per_s",
        "hbm.measured.bandwidth_bytes_per_s",
        "sbuf.usable.partition_bytes",
        *(f"sbuf.ports.{engine}_elements_per_cycle" for engine in COMPUTE_ENGINES),
        "sbuf.strided.rate_ratio",
        "sbuf.strided.stride_bytes",
        "sbuf.access.latency_cycles",
        "psum.banks_count",
        "psum.bank_fp32_elements",
    ),
    "dma": (
        "engines_count",
        "link_bytes_per_s",
        "queues_per_engine_count",
        "sustained.engine_bytes_per_s",
        "vendor.bandwidth_bytes_per_s",
        "measured.*.bandwidth_bytes_per_s",
        "packet.fixed_s",
        "packet.interval_s",
        "packet.static_bytes",
        "element.*.floor_s",
        "fixed.*.total_s",
        "fixed.*.trigger_to_first_packet_s",
        "fixed.*.issue_s",
        "completion.packet_to_semaphore_s",
        "completion.semaphore_to_consumer_s",
        "completion.packet_to_consumer_s",
        "size.overhead_bound_bytes",
        "size.recommended_bytes",
        "size.saturating_bytes",
        "size.transfer_target_bytes",
        "efficiency_curve.partition_bytes",
        "efficiency_curve.relative_ratio",
        "efficiency_model.saturation_bytes",
        "transpose.hbm_to_sbuf_ratio",
        "transpose.sbuf_to_sbuf_ratio",
        "accumulate.rate_ratio",
        "gpsimd.bandwidth_bytes_per_s",
    ),
    "instructions": (
        *(
            f"{where}.{number}"
            for where in ("any", "*.*")
            for number in (
                "interval_floor_cycles",
                "dynamic_address_floor_cycles",
                "interval_cycles",
                "latency_cycles",
                "start_cycles",
                "pair_floor_cycles",
                "passes_count",
                "streaming_cycles_per_column",
                "documented_cycles_per_column",
            )
        ),
    ),
    "overheads": (
        "hop.*.latency_s",
        "table_load.duration_s",
        "start.to_body_s",
        "start.to_first_byte_s",
        "start.documented.to_first_byte_s",
        "tear_down.duration_s",
        "tear_down.documented.duration_s",
        "first_execution.extra_s",
        "launch.*.floor_s",
        "launch.*.duration_s",
        "process.start_s",
    ),
    "throttle": (
        "window_cycles",
        "start_rate_ratio",
        "limited_rate_ratio",
        "lift_occupancy_ratio",
        "rearm_occupancy_ratio",
        "documented.start_rate_ratio",
        "documented.ramp_s",
        "documented.rearm_occupancy_ratio",
    ),
}
"""First word of a path -> the rest of every path below it."""

_PATHS: Final = re.compile(
    "|".join(
        f"{tree}.{rule}".replace(".", r"\.").replace("*", r"[^.]+")
        for tree, rules in TREES.items()
        for rule in rules
    )
)


def is_number_path(path: str) -> bool:
    """Return whether a number may stand at a path; below ``calibrated`` any name may."""
    return path.startswith("calibrated.") or _PATHS.fullmatch(path) is not None


def unit_of(path: str) -> str | None:
    """Return the unit that the last word of a path names, or ``None`` if it names none.

    >>> unit_of("dma.link_bytes_per_s"), unit_of("dma.packet.fixed_s"), unit_of("dma.speed")
    ('B/s', 's', None)
    """
    key = path.rsplit(".", 1)[-1]
    for suffix, unit in UNITS.items():
        if key == suffix or key.endswith(f"_{suffix}"):
            return unit
    return None
