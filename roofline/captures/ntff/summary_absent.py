"""Which fields of the vendor's summary a trace alone cannot tell, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roofline.captures.ntff.device import marks_transposes
from roofline.captures.ntff.header import Header
from roofline.captures.ntff.transfers import IO_RING

__all__ = ["absent_fields"]

_PROGRAM: Final = "in the compiled program only"
_TRANSPOSES: Final = "words of NeuronCore-v2 do not mark transposes"
_DIRECTION: Final = "direction of planned DMA is in the compiled program only"

_NEEDS_PROGRAM: Final = (
    *("compiler_version", "inputs_and_weights_size_bytes", "mbu_min_read_util_percent"),
    *("mfu_estimated_percent", "mfu_hlo_estimated_percent", "model_flops"),
    *("mfu_hlo_max_achievable_estimated_percent", "mfu_max_achievable_estimated_percent"),
    *("output_queue_bytes", "spill_reload_bytes", "spill_save_bytes"),
)
_NEEDS_TRANSPOSES: Final = (
    *("transpose_flops", "mm_arithmetic_intensity", "mfu_inst_estimated_percent"),
    "mfu_inst_max_achievable_estimated_percent",
)
_NEEDS_DIRECTION: Final = (
    *("hbm_read_bytes", "hbm_write_bytes", "sbuf_read_bytes", "sbuf_write_bytes"),
    *("mbu_estimated_percent", "mm_arithmetic_intensity"),
    "mfu_inst_max_achievable_estimated_percent",
)


def absent_fields(header: Header) -> Mapping[str, str]:
    """Return why fields of the vendor's summary cannot be told from a trace, by field."""
    reasons = dict.fromkeys(_NEEDS_PROGRAM, _PROGRAM)
    reasons["nd_idx"] = "number of the device, not in the trace"
    reasons["profiler_version"] = "version of the vendor's tool, not in the trace"
    if not marks_transposes(header):
        reasons.update(dict.fromkeys(_NEEDS_TRANSPOSES, _TRANSPOSES))
    if any(ring.kind == IO_RING and ring.blocks for core in header.cores for ring in core.rings):
        reasons.update(dict.fromkeys(_NEEDS_DIRECTION, _DIRECTION))
    return reasons
