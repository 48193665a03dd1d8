"""What a host can record: which packages, tools and cores it has."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from roofline import __version__
from roofline.captures.explorer.tool import find_tool
from roofline.errors import OptionalDependencyError

__all__ = ["Host", "probe_host"]

_TIMEOUT_S: Final = 30
_COMPILED_LNC: Final = "NEURON_LOGICAL_NC_CONFIG"
_TOOLS: Final = {
    "explorer": ("neuron-explorer", "--version"),
    "compiler": ("neuronx-cc", "--version"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """``device`` is ``neuron`` or ``cpu``; ``missing`` says why it is not neuron.

    ``lnc`` counts physical cores in a logical one, ``None`` where the host does not say it.
    """

    device: str
    versions: Mapping[str, str]
    missing: tuple[str, ...] = ()
    instance_type: str = ""
    lnc: int | None = None
    neuron_ls: Any = None
    facts: Mapping[str, str] = field(default_factory=dict)


def probe_host() -> Host:
    """Return what is here. Raises ``OptionalDependencyError`` without torch."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise OptionalDependencyError(
            'recording needs torch: pip install "roofline[torch]"'
        ) from error
    versions = {
        "roofline": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }
    missing = _missing(torch, versions)
    for name, command in _TOOLS.items():
        if text := _output(command):
            versions[name] = text.splitlines()[0].strip()
    listed = _neuron_ls()
    if listed is None:
        missing.append("neuron-ls is not on PATH: no list of Neuron devices")
    return Host(
        device="cpu" if any("neuron-ls" not in reason for reason in missing) else "neuron",
        versions=versions,
        missing=tuple(missing),
        instance_type=_instance_type(listed),
        lnc=logical_cores(os.environ, listed),
        neuron_ls=listed,
        facts={"system": platform.system(), "machine": platform.machine()},
    )


def _missing(torch: Any, versions: dict[str, str]) -> list[str]:
    """Return why the device cannot be recorded; empty where it can."""
    try:
        importlib.import_module("torch_neuronx")
    except ImportError:
        return ["torch_neuronx (TorchNeuron) is not installed: only the host side is recorded"]
    try:
        versions["torch_neuronx"] = importlib.metadata.version("torch-neuronx")
    except importlib.metadata.PackageNotFoundError:
        versions["torch_neuronx"] = "unknown"
    if not hasattr(torch, "neuron"):
        version = versions["torch_neuronx"]
        return [f"torch_neuronx {version} is the XLA package, not TorchNeuron: no torch.neuron"]
    try:
        profiling = importlib.import_module("torch_neuronx.profiling")
    except ImportError:
        return ["torch_neuronx has no profiling module: the release is too old"]
    wanted = ("NeuronConfig", "NeuronProfiler", "ProfileMode")
    absent = [name for name in wanted if not hasattr(profiling, name)]
    if absent:
        return [f"torch_neuronx.profiling has no {', '.join(absent)}"]
    if not torch.neuron.is_available():
        return ["torch.neuron.is_available() is false: no Neuron device can be used"]
    return []


def _neuron_ls() -> Any:
    text = _output(("neuron-ls", "-j"))
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}


def _instance_type(listed: Any) -> str:
    """Return the instance type if the list of devices says it."""
    rows = listed if isinstance(listed, list) else [listed]
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("instance_type"), str):
            return str(row["instance_type"])
    return ""


def logical_cores(environment: Mapping[str, str], listed: Any) -> int | None:
    """Return the logical-core setting: of the runtime's variable, else as neuron-ls lists it."""
    rows = listed if isinstance(listed, list) else [listed]
    said = [environment.get(name) for name in ("NEURON_RT_VIRTUAL_CORE_SIZE", _COMPILED_LNC)]
    said += [row.get("logical_neuroncore_config") for row in rows if isinstance(row, dict)]
    return next((int(text) for text in map(str, said) if text.isdecimal()), None)


def _output(command: tuple[str, ...]) -> str | None:
    """Return what a tool prints, ``None`` where there is none or it fails."""
    path = find_tool(command[0])
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, *command[1:]], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout or done.stderr
