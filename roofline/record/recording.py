"""A recording: one folder, one manifest, any number of profiled runs."""

from __future__ import annotations

import datetime as dt
import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import msgspec
import numpy as np

from roofline.analysis.finding import Finding
from roofline.analysis.launches import NO_VALUE
from roofline.errors import CaptureError, QueryError
from roofline.record.backends import Backend, make_backend
from roofline.record.collect import Collected, collect
from roofline.record.environment import DGE, RECORDED, prepare_environment
from roofline.record.host import Host, probe_host
from roofline.record.manifest import (
    SCHEMA_VERSION,
    TIMES,
    Manifest,
    ReferenceCheck,
    Run,
    Skipped,
    has_manifest,
    problem_of,
    write_manifest,
    write_text,
)
from roofline.record.reference import check_reference
from roofline.record.schedule import Schedule

__all__ = ["Recording", "Session"]

_NS: Final = 1e-9
_MODES: Final = ("DEVICE", "RUNTIME")


class Recording(AbstractContextManager["Recording"]):
    """Records runs into one folder and writes its manifest at the end.

    ::

        with Recording("out", name="mine") as recording:
            with recording.run("naive", params={"rows": 4, "cols": 512}, dtype="bf16") as session:
                session.measure(lambda: step(x))

    ``core`` is the logical NeuronCore, ``dge`` asks for notifications of dynamic DMA. Raises
    ``QueryError`` when the folder already holds a recording, or ``require_device`` is set and
    there is no Neuron device; ``OptionalDependencyError`` without torch.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        name: str,
        schedule: Schedule | None = None,
        core: int = 0,
        dge: bool = True,
        require_device: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = Path(folder)
        if has_manifest(self.folder):
            raise QueryError(f"{self.folder}: already holds a recording; give another folder")
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise QueryError(f"{self.folder}: not a new or empty folder; give another one")
        self.schedule = schedule or Schedule()
        self.core = core
        # before torch is imported: the runtime reads its variables then
        self.notes: list[str] = []
        if importlib.util.find_spec("torch_neuronx") is not None:
            self.notes = prepare_environment(self.folder.absolute(), core=core, dge=dge)
        self.host: Host = probe_host()
        if require_device and self.host.device != "neuron":
            raise QueryError(f"no Neuron device: {self.host.missing[0]}")
        self.backend: Backend = make_backend(self.host.device, core=core, modes=_MODES)
        self._about = {"name": name, **(about or {})}
        self._runs: list[Run] = []
        self._skipped: list[Skipped] = []
        self._complete = False

    @property
    def modes(self) -> tuple[str, ...]:
        """Modes of the device's profiler."""
        return _MODES if self.host.device == "neuron" else ()

    def run(
        self,
        variant: str,
        *,
        params: Mapping[str, int] | None = None,
        dtype: str = "",
        mode: str = "",
        callable: str = "",
    ) -> Session:
        """Return the session of one variant in one config."""
        shape = "x".join(str(size) for size in (params or {}).values())
        parts = [part for part in (shape, dtype) if part]
        place = Path(_safe(variant)) / _safe("-".join(parts) or "run")
        if any(run.folder == place.as_posix() for run in self._runs):
            raise QueryError(f"{variant} {' '.join(parts)} is recorded twice")
        start = Run(
            variant=variant,
            folder=place.as_posix(),
            mode=mode,
            callable=callable,
            params=dict(params or {}),
            dtype=dtype,
        )
        return Session(self, start)

    def skip(self, variant: str, why: str) -> Skipped:
        """Note that a variant cannot be run here."""
        self._skipped.append(Skipped(variant=variant, why=why))
        self.write()
        return self._skipped[-1]

    def add(self, run: Run) -> None:
        """Take a finished run; the manifest is written anew, so a later crash loses nothing."""
        self._runs.append(run)
        self.write()

    @property
    def manifest(self) -> Manifest:
        """What the manifest says so far."""
        return Manifest(
            schema_version=SCHEMA_VERSION,
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            device=self.host.device,
            complete=self._complete,
            core=self.core if self.host.device == "neuron" else None,
            lnc=self.host.lnc if self.host.device == "neuron" else None,
            instance_type=self.host.instance_type,
            missing=list(self.host.missing),
            notes=self.notes,
            versions=dict(self.host.versions),
            host=dict(self.host.facts),
            environment={
                name: value
                for name, value in sorted(os.environ.items())
                if name.startswith(RECORDED)
            },
            schedule={name: getattr(self.schedule, name) for name in Schedule.__dataclass_fields__},
            clocks={
                name: clock.key
                for name, clock in TIMES.items()
                if self.host.device == "neuron" or not clock.profiled
            },
            skipped=self._skipped,
            run=self._runs,
            **self._about,
        )

    def write(self) -> Path:
        """Write the manifest, and the list of Neuron devices beside it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.host.neuron_ls is not None:
            import json

            write_text(self.folder / "neuron-ls.json", json.dumps(self.host.neuron_ls, indent=1))
        return write_manifest(self.folder, self.manifest)

    def __enter__(self) -> Recording:
        # a recording that is killed leaves a folder that can be read
        self.write()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._complete = error is None
        self.write()


class Session(AbstractContextManager["Session"]):
    """One profiled run. Call ``measure``, or loop over ``steps`` with code of your own."""

    def __init__(self, recording: Recording, run: Run) -> None:
        self._recording = recording
        self._run = run
        self._profiler: Any = None
        self._begun_s = time.time()
        self._wall_s: list[float] = []
        self._stepped = False
        self._reference: ReferenceCheck | None = None
        self._rejected: Finding | None = None
        self.folder = recording.folder / run.folder

    def check(
        self,
        call: Callable[[], Any],
        reference: Callable[..., Any],
        inputs: Sequence[Any],
        *,
        tolerance: float | None = None,
        name: str = "reference",
    ) -> bool:
        """Compare the result of a call with its reference on the same inputs, on the CPU.

        One that differs by more than the dtype allows is a problem of the run, which then needs
        no ``measure``: times of a wrong result say nothing. Returns whether it agrees.
        """
        found = check_reference(
            call, reference, inputs, name=name, dtype=self._run.dtype or "fp32", tolerance=tolerance
        )
        self._reference = found
        if not found.passed:
            self.reject(
                Finding(
                    id="reference-mismatch",
                    what="the result differs from its reference, so it was not timed",
                    evidence=f"relative error {found.max_rel_error:.3g}, allowed "
                    f"{found.tolerance:.3g} ({name})",
                    remedy="compare the arithmetic, the inputs and the dtype; a looser `tolerance` "
                    "of the variant only where the format explains it",
                )
            )
        return found.passed

    def reject(self, finding: Finding) -> None:
        """End the run without times, for this reason."""
        self._rejected = finding

    def measure(self, call: Callable[[], Any]) -> None:
        """Warm up, time single calls without the profiler, then run them under it."""
        schedule, backend = self._recording.schedule, self._recording.backend
        for _ in range(schedule.before):
            call()
        backend.synchronize()
        for _ in range(schedule.repeats):
            begin = time.perf_counter_ns()
            call()
            backend.synchronize()
            self._wall_s.append((time.perf_counter_ns() - begin) * _NS)
        for _ in self.steps():
            call()

    def steps(self, *, synchronize: bool = True) -> Iterator[int]:
        """Yield the number of each step under the profiler.

        The device is waited for before a step ends, so that its work is in the trace.
        """
        schedule, backend = self._recording.schedule, self._recording.backend
        import torch

        with backend.profiler(self.folder, schedule) as profiler:
            for number in range(schedule.steps):
                with torch.profiler.record_function(f"roofline.{self._run.variant}"):
                    yield number
                if synchronize:
                    backend.synchronize()
                profiler.step()
        self._stepped = True

    def __enter__(self) -> Session:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            return
        recording = self._recording
        if self._rejected is not None:
            problems = [problem_of(self._rejected)]
            recording.add(
                msgspec.structs.replace(self._run, reference=self._reference, problems=problems)
            )
            return
        if not self._stepped:
            raise QueryError(f"{self._run.variant}: no step ran to its end under the profiler")
        caches = [Path(os.environ.get("TORCH_NEURONX_NEFF_CACHE_DIR", "/tmp/neff_cache"))]
        try:
            found = collect(
                self.folder,
                device=recording.host.device,
                core=recording.core if recording.host.device == "neuron" else None,
                lnc=recording.host.lnc,
                dge=os.environ.get(DGE) == "1",
                modes=recording.modes,
                started_s=self._begun_s,
                caches=caches,
            )
        except CaptureError as fault:
            found = Collected(
                trace=None, device_traces=(), programs=(), result=None,
                findings=(Finding(id="unreadable", what="cannot be read", evidence=str(fault)),),
            )  # fmt: skip
        recording.add(self._finished(found))

    def _finished(self, found: Collected) -> Run:
        root = self._recording.folder

        def relative(path: Path) -> str:
            return path.relative_to(root).as_posix()

        return msgspec.structs.replace(
            self._run,
            trace=relative(found.trace) if found.trace else "",
            device_traces=[relative(path) for path in found.device_traces],
            programs=[relative(path) for path in found.programs],
            host_wall_s=self._wall_s,
            reference=self._reference,
            problems=[problem_of(one) for one in found.findings],
            **_figures(found),
        )


def _figures(found: Collected) -> dict[str, Any]:
    """Return launches a step, and times of each step in s, as far as the trace tells."""
    result = found.result
    if result is None or not result.sizes["step"]:
        return {}
    steps = result.sizes["step"]
    figures: dict[str, Any] = {
        "launch_basis": result.attrs["basis"],
        "launches": result.attrs["launches"] / steps,
    }
    if result.attrs["basis"] == "driver":
        step = result["launch_step"].values
        window = result["launch_duration_ns"].values
        figures["window_s"] = [float(window[step == one].sum() * _NS) for one in range(steps)]
    device = result["step_device_ns"].values
    if (device != NO_VALUE).all() and np.any(device > 0):
        figures["device_s"] = [float(value * _NS) for value in device]
    return figures


def _safe(name: str) -> str:
    """Return a name that is one part of a path."""
    kept = "".join(char if char.isalnum() or char in "._-" else "-" for char in name)
    return kept.strip(".") or "run"
