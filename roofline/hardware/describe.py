"""What the hardware models say, as plain data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from roofline.errors import HardwareModelError
from roofline.hardware.load import list_models, load_hardware, read_model
from roofline.hardware.model import Hardware
from roofline.hardware.roof import ROOF_KINDS, Roof

__all__ = ["ceiling_or_none", "check_model", "describe", "list_hardware"]


def list_hardware() -> list[dict[str, Any]]:
    """Return one record for each known model: names, cores, and rates of one physical core."""
    records = []
    for path in list_models():
        view = load_hardware(path)
        core = load_hardware(path, lnc=view.lnc_choices[0], working_cores=1)
        records.append(
            {
                "name": view.name,
                "chip": view.chip,
                "core": read_model(path).core,
                "cores_per_chip": view.cores_per_chip,
                "lnc_choices": list(view.lnc_choices),
                "lnc_default": view.lnc,
                "tensor_bf16_flop_per_s": core.tensor_peak("bf16").value,
                "hbm_stack_bytes_per_s": view.value(
                    "memories.hbm.stack.bandwidth_bytes_per_s"
                ).value,
                "dma_link_bytes_per_s": core.memory_roofs("theoretical")[-1].value,
                "instances": list(view.instances),
                "path": str(path),
            }
        )
    return records


def describe(hardware: Hardware) -> dict[str, Any]:
    """Return everything a view of a model says as plain data: roofs, ridges, modes, numbers."""
    return {
        "schema_version": 1,
        "name": hardware.name,
        "chip": hardware.chip,
        "generation": hardware.generation,
        "instances": list(hardware.instances),
        "cores_per_chip": hardware.cores_per_chip,
        "lnc": hardware.lnc,
        "lnc_choices": list(hardware.lnc_choices),
        "working_cores": hardware.working_cores,
        "neighbours_busy": hardware.neighbours_busy,
        "path": hardware.path,
        "memory_ceilings": {
            kind: asdict(roof)
            for kind in ROOF_KINDS
            if (roof := ceiling_or_none(hardware, kind)) is not None
        },
        "ridges_flop_per_byte": {
            dtype: {
                kind: hardware.ridge(dtype, kind)
                for kind in ROOF_KINDS
                if kind != "vendor" and ceiling_or_none(hardware, kind) is not None
            }
            for dtype in hardware.tensor_dtypes()
        },
        "vendor_ridge_flop_per_byte": (
            hardware.vendor_ridge() if ceiling_or_none(hardware, "vendor") else None
        ),
        "roofs": [asdict(roof) for roof in hardware.roofs()],
        "chip_roofs": [asdict(roof) for roof in hardware.chip_roofs()],
        "modes": [asdict(rule) for rule in hardware.modes],
        "values": {path: asdict(number) for path, number in hardware.values.items()},
    }


def check_model(path: str | Path) -> str:
    """Return one line that says a model file is sound; raise naming the first key that is not.

    The file is parsed against the schema, and every view of it derives its roofs.
    """
    first = load_hardware(Path(path))
    for lnc in first.lnc_choices:
        for working in range(1, lnc + 1):
            view = load_hardware(Path(path), lnc=lnc, working_cores=working)
            view.roofs()
            view.memory_ceiling()
    return f"ok: {path}: {first.name}, {len(first.values)} numbers, {len(first.modes)} mode rules"


def ceiling_or_none(hardware: Hardware, kind: str) -> Roof | None:
    """Return the memory ceiling of a kind, or ``None`` where the model has no figure for it."""
    try:
        return hardware.memory_ceiling(kind)
    except HardwareModelError:
        return None
