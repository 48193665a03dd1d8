"""Environment variables of the Neuron runtime and compiler, set before torch is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from roofline.errors import QueryError

__all__ = ["DGE", "RECORDED", "neuron_environment", "prepare_environment"]

_DEBUG: Final = {
    "NEURON_FRAMEWORK_DEBUG": "1",
    "XLA_IR_DEBUG": "1",
    "XLA_HLO_DEBUG": "1",
    "NKI_DEBUG_INFO": "True",
}
"""Names of operators, layers and source lines are compiled in, so these come before compilation."""

DGE: Final = "NEURON_RT_ENABLE_DGE_NOTIFICATIONS"

_LNC: Final = ("NEURON_RT_VIRTUAL_CORE_SIZE", "NEURON_LOGICAL_NC_CONFIG")

RECORDED: Final = ("NEURON_", "TORCH_NEURONX_", "XLA_IR_DEBUG", "XLA_HLO_DEBUG", "NKI_")
"""Variables whose name begins so go into the manifest."""


def neuron_environment(folder: Path, *, core: int = 0, dge: bool = True) -> dict[str, str]:
    """Return what a recording in ``folder`` sets.

    A cache of its own keeps programs out that were compiled without debug information. ``dge``
    asks for notifications of dynamic DMA: names of what moved, at the price of more traffic.
    """
    return {
        **_DEBUG,
        "TORCH_NEURONX_NEFF_CACHE_DIR": str(folder / "neff-cache"),
        "NEURON_RT_VISIBLE_CORES": str(core),
        **({DGE: "1"} if dge else {}),
    }


def prepare_environment(
    folder: Path,
    *,
    core: int = 0,
    dge: bool = True,
    environment: MutableMapping[str, str] | None = None,
    loaded: Mapping[str, object] | None = None,
) -> list[str]:
    """Set the variables; what the user has set stays. Return what the recording should know.

    Raises ``QueryError`` for a second way to start the profiler, which breaks the first, and for
    two logical-core settings.
    """
    held = os.environ if environment is None else environment
    modules = sys.modules if loaded is None else loaded
    if held.get("NEURON_RT_INSPECT_ENABLE", "0") not in ("", "0"):
        raise QueryError(
            "NEURON_RT_INSPECT_ENABLE is set: it must not be combined with torch.profiler; unset it"
        )
    runtime, compiled = (held.get(name) for name in _LNC)
    if runtime and compiled and runtime != compiled:
        raise QueryError(
            f"{_LNC[0]}={runtime} and {_LNC[1]}={compiled}: programs are compiled for the logical "
            "core that the runtime gives them; set both to the same"
        )
    notes = []
    for name, value in neuron_environment(folder, core=core, dge=dge).items():
        given = held.setdefault(name, value)
        if given != value:
            notes.append(f"{name}={given} was set before; {value} is usual for a recording")
    if "torch_neuronx" in modules:
        notes.append(
            "torch_neuronx was imported before the recording began: its environment variables may "
            "have come too late for it"
        )
    return notes
