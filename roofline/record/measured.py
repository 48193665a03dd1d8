"""The study of a recorded folder, with the times that were recorded on a device."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from roofline.captures.registry import open_capture
from roofline.clocks import Clock
from roofline.errors import HardwareModelError
from roofline.hardware.load import load_hardware
from roofline.record.manifest import TIMES, Manifest, Run, load_manifest
from roofline.study.load import load_study
from roofline.study.study import CaptureRef, Config, Measurement, OpTime, Source, Study

__all__ = ["measured_study", "study_of"]

_KEY = "recording"
_FOREIGN = frozenset({"bad-device-trace", "helper-program", "wrong-core", "wrong-lnc"})


def study_of(folder: Path) -> Study | None:
    """Return the copy of the study that was recorded, ``None`` where there is none."""
    return load_study(folder / "study") if (folder / "study").is_dir() else None


def measured_study(folder: str | Path) -> Study | None:
    """Return the study with the recorded times instead of its own; ``None`` if there are none.

    Times of a host without a device are left out: they say nothing about Trainium. Of each run the
    median of its steps stands for the device's and the dispatch window's clock, and the median of
    its unprofiled calls for the host's.
    """
    root = Path(folder)
    root = root if root.is_dir() else root.parent
    manifest = load_manifest(root)
    study = study_of(root)
    if study is None or manifest.device != "neuron":
        return None
    measurements = [one for run in manifest.run for one in _times(root, study, run)]
    if not measurements:
        return None
    return replace(
        study,
        hardware=_hardware(manifest, study),
        lnc=manifest.lnc or study.lnc,
        # what worked of a published recording says nothing about this one
        working_cores=None,
        measurements=tuple(measurements),
        captures=tuple(ref for run in manifest.run for ref in _captures(root, study, run)),
        configs=tuple(dict.fromkeys(one.config for one in measurements)),
        sources={_KEY: _source(manifest)},
    )


def _hardware(manifest: Manifest, study: Study) -> tuple[str, ...]:
    """Return the chip of the instance it was recorded on; the study's where none is known."""
    try:
        return (
            (load_hardware(manifest.instance_type).name,)
            if manifest.instance_type
            else (study.hardware)
        )
    except HardwareModelError:
        return study.hardware


def _source(manifest: Manifest) -> Source:
    versions = ", ".join(f"{name} {text}" for name, text in manifest.versions.items())
    where = manifest.instance_type or manifest.device
    return Source(key=_KEY, title=f"recorded on {where}", date=manifest.created[:10], note=versions)


def _config(run: Run) -> Config:
    return Config(params=tuple(run.params.items()), dtype=run.dtype)


def _times(root: Path, study: Study, run: Run) -> list[Measurement]:
    if run.variant not in {variant.name for variant in study.variants}:
        return []

    def time(values: Sequence[float], clock: Clock) -> list[Measurement]:
        if not values or min(values) <= 0:
            return []
        return [
            Measurement(
                variant=run.variant,
                config=_config(run),
                time_s=statistics.median(values),
                clock=clock,
                source=_KEY,
                label=clock.key,
                n=len(values),
                ops=_ops(root, run) if clock.key == "framework_window" else (),
                note=f"median of {len(values)}",
            )
        ]

    return [one for name, clock in TIMES.items() for one in time(getattr(run, name), clock)]


def _ops(root: Path, run: Run) -> tuple[OpTime, ...]:
    """Return launches and window a step of each operator."""
    from roofline.analysis.launches import launches

    result = launches(open_capture(root / run.trace), warmup=0)
    steps = max(1, result.attrs["steps_used"])
    return tuple(
        OpTime(
            name=f"{name} {shapes}",
            count=int(count) // steps,
            time_s=int(window) * 1e-9 / steps,
        )
        for name, shapes, count, window in zip(
            result["op_name"].values.tolist(),
            result["op_shapes"].values.tolist(),
            result["op_launches"].values.tolist(),
            result["op_window_ns"].values.tolist(),
            strict=True,
        )
        if count >= steps
    )


def _captures(root: Path, study: Study, run: Run) -> list[CaptureRef]:
    """Return the device trace of a run that is one launch of one program: the variant's work.

    Of a run with several launches each trace holds a part of the work, and no capture is named;
    nor is one that is known to be another program's or another core's.
    """
    known = run.variant in {variant.name for variant in study.variants}
    foreign = any(problem.id in _FOREIGN for problem in run.problems)
    profiled = [] if foreign else run.device_traces
    # one clean execution tells more than one among many
    full = [path for path in run.explorer_traces or profiled if (root / path).stat().st_size]
    if not known or run.launches != 1 or len(full) != 1:
        return []
    return [
        CaptureRef(
            variant=run.variant,
            config=_config(run),
            path=root / full[0],
            source=_KEY,
            label=full[0],
        )
    ]
