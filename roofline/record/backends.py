"""The two ways to run under the profiler: on the CPU, and on a NeuronCore through TorchNeuron."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from roofline.record.schedule import Schedule

__all__ = ["Backend", "CpuBackend", "NeuronBackend", "make_backend"]

_TRACE: Final = "trace.json.gz"


class Backend(Protocol):
    """What a recording needs of a device."""

    @property
    def device(self) -> str:
        """Device string of torch."""

    def synchronize(self) -> None:
        """Wait until the device has done everything."""

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function compiled for the device."""

    def profiler(self, folder: Path, schedule: Schedule) -> Any:
        """Return a torch.profiler that leaves its files in ``folder``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuBackend:
    """The host alone: operators, shapes and dispatch, no device."""

    device: str = "cpu"

    def synchronize(self) -> None:
        """Nothing to wait for: the CPU runs operators as they are called."""

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function behind the compiler's guards, its operators as they are.

        No code is generated: what a host compiler would make of it says nothing about a device.
        """
        torch = importlib.import_module("torch")
        compiled: Callable[..., Any] = torch.compile(function, backend="aot_eager")
        return compiled

    def profiler(self, folder: Path, schedule: Schedule) -> Any:
        """Return a profiler of the CPU activity."""
        profiler = importlib.import_module("torch.profiler")
        return profiler.profile(
            activities=[profiler.ProfilerActivity.CPU],
            schedule=_plan(profiler, schedule),
            record_shapes=True,
            on_trace_ready=lambda done: done.export_chrome_trace(str(folder / _TRACE)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronBackend:
    """TorchNeuron: host operators, the runtime's events, and traces of one NeuronCore.

    Written after the documented interface; see ``docs/recording.md`` for what has run where.
    """

    core: int = 0
    modes: Sequence[str] = ("DEVICE", "RUNTIME")
    device: str = "neuron"

    def synchronize(self) -> None:
        """Wait for the device: without it the trace ends before the work does."""
        importlib.import_module("torch").neuron.synchronize()

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function compiled into one program where it can be."""
        torch = importlib.import_module("torch")
        compiled: Callable[..., Any] = torch.compile(function, backend="neuron")
        return compiled

    def profiler(self, folder: Path, schedule: Schedule) -> Any:
        """Return a profiler of the CPU and PrivateUse1 activities with the Neuron configuration."""
        profiler = importlib.import_module("torch.profiler")
        neuron = importlib.import_module("torch_neuronx.profiling")
        config = neuron.NeuronConfig(
            modes=[getattr(neuron.ProfileMode, mode) for mode in self.modes],
            capture_enabled_for_nc=str(self.core),
            profile_output_dir=str(folder / "prof"),
            neff_cache_dir=str(folder / "neff"),
        )
        return profiler.profile(
            activities=[
                profiler.ProfilerActivity.CPU,
                profiler.ProfilerActivity.PrivateUse1,
            ],
            experimental_config=config,
            schedule=_plan(profiler, schedule),
            record_shapes=True,
            on_trace_ready=neuron.NeuronProfiler(config).export_trace,
        )


def make_backend(device: str, *, core: int = 0, modes: Sequence[str] = ()) -> Backend:
    """Return the backend of a host's device."""
    if device == "neuron":
        return NeuronBackend(core=core, modes=tuple(modes) or ("DEVICE", "RUNTIME"))
    return CpuBackend()


def _plan(profiler: Any, schedule: Schedule) -> Any:
    return profiler.schedule(
        wait=schedule.wait, warmup=schedule.warmup, active=schedule.active, repeat=1
    )
