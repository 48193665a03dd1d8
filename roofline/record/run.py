"""Record the variants of a study."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from roofline.errors import StudyError
from roofline.record.manifest import Run
from roofline.record.recording import Recording
from roofline.record.schedule import Schedule
from roofline.study.callables import digest, load_callable
from roofline.study.load import load_study
from roofline.study.study import Config, Study, Variant

__all__ = ["record"]

_COMPILED = "compiled"
_SEED = 0


def record(
    study: str | Path,
    output: str | Path,
    *,
    variants: Sequence[str] = (),
    configs: Sequence[str] = (),
    schedule: Schedule | None = None,
    core: int = 0,
    dge: bool = True,
    require_device: bool = False,
    trust: bool = False,
) -> Iterator[Run]:
    """Record every variant of a study that can be run, in every config; yield each as it is done.

    ``variants`` and ``configs`` (keys such as ``4x512 bf16``) leave out the others.
    The folder ``output`` then holds ``manifest.toml``, the traces, and a copy of the study.
    Code of a study is run only if the study ships with the project or is trusted. Raises
    ``StudyError`` for a study that cannot be run, and what ``Recording`` raises.
    """
    held = load_study(study)
    chosen, shapes = _chosen(held, variants), _shapes(held, configs)
    if not held.inputs:
        raise StudyError(f"{held.path}: no [inputs] callable makes the inputs of the variants")
    with Recording(
        output,
        name=held.name,
        schedule=schedule,
        core=core,
        dge=dge,
        require_device=require_device,
        about={
            "title": held.title,
            "op": held.op,
            "hardware": list(held.hardware),
            "study_sha256": digest(held.path),
        },
    ) as recording:
        make = load_callable(held, held.inputs, trust=trust)
        _copy(held, recording.folder)
        for variant in chosen:
            function = load_callable(held, variant.callable, trust=trust)
            for config in shapes:
                yield _one(recording, variant, config, make, function)


def _chosen(study: Study, names: Sequence[str]) -> list[Variant]:
    runnable = [variant for variant in study.variants if variant.callable]
    known = ", ".join(variant.name for variant in runnable) or "none"
    for name in names:
        if name not in {variant.name for variant in runnable}:
            raise StudyError(f"{study.path}: no variant {name!r} that can be run; known: {known}")
    if not runnable:
        raise StudyError(f"{study.path}: no variant has a callable")
    return [variant for variant in runnable if not names or variant.name in names]


def _shapes(study: Study, keys: Sequence[str]) -> list[Config]:
    known = {config.key: config for config in study.configs}
    for key in keys:
        if key not in known:
            held = ", ".join(list(known)[:6]) + (", ..." if len(known) > 6 else "")
            raise StudyError(f"{study.path}: no config {key!r}; known: {held}")
    return [config for key, config in known.items() if not keys or key in keys]


def _one(
    recording: Recording,
    variant: Variant,
    config: Config,
    make: Callable[..., Any],
    function: Callable[..., Any],
) -> Run:
    backend = recording.backend
    inputs = _inputs(make, config, backend.device)
    call = backend.compile(function) if variant.mode == _COMPILED else function
    with recording.run(
        variant.name,
        params=config.shape,
        dtype=config.dtype,
        mode=variant.mode,
        callable=variant.callable,
    ) as session:
        session.measure(lambda: call(*inputs))
    return recording.manifest.run[-1]


def _inputs(make: Callable[..., Any], config: Config, device: str) -> tuple[Any, ...]:
    """Return inputs with values, made on the CPU so that making them launches nothing."""
    import torch

    wanted = {"device": "cpu"} if "device" in inspect.signature(make).parameters else {}
    made = make(**config.shape, dtype=config.dtype, **wanted)
    values = made if isinstance(made, tuple | list) else (made,)
    generator = torch.Generator().manual_seed(_SEED)
    for value in values:
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel():
            # half-precision formats have no random fill of their own everywhere
            noise = torch.randn(value.shape, generator=generator)
            value.copy_(noise)
    if device == "cpu":
        return tuple(values)
    return tuple(value.to(device) if isinstance(value, torch.Tensor) else value for value in values)


def _copy(study: Study, folder: Path) -> None:
    """Keep the study beside its recording: what was run can be read later."""
    target = folder / "study"
    target.mkdir(exist_ok=True)
    for file in sorted(study.path.iterdir()):
        if file.is_file() and file.suffix in (".toml", ".py", ".csv"):
            shutil.copyfile(file, target / file.name)
