"""Record the variants of a study."""

from __future__ import annotations

import importlib.util
import inspect
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from roofline.analysis.finding import Finding
from roofline.errors import StudyError
from roofline.record.backends import Backend
from roofline.record.manifest import Run, Skipped
from roofline.record.recording import Recording, Session
from roofline.record.schedule import Schedule
from roofline.study.callables import digest, load_callable
from roofline.study.load import load_study
from roofline.study.study import Config, Study, Variant

__all__ = ["record", "unavailable"]

_COMPILED = "compiled"
_SEED = 0
_LONGEST = 500  # characters of an error that go into the manifest


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
) -> Iterator[Run | Skipped]:
    """Record every variant of a study that can be run, in every config; yield each as it is done.

    ``variants`` and ``configs`` (keys such as ``4x512 bf16``) leave out the others. A variant that
    needs a device or a module that is not here is skipped; one that fails, or whose result differs
    from its reference, is kept with its problem and without times.
    The folder ``output`` then holds ``manifest.toml``, the traces, and a copy of the study.
    Code of a study is run only if the study ships with the project or is trusted. Raises
    ``StudyError`` for a study that cannot be run, and what ``Recording`` raises.
    """
    held = load_study(study)
    chosen, shapes = _chosen(held, variants), _shapes(held, configs)
    if not held.inputs:
        raise StudyError(f"{held.path}: no [inputs] callable makes the inputs of the variants")
    recording = Recording(
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
    )
    reasons = {variant.name: unavailable(variant, recording.host.device) for variant in chosen}
    if all(reasons.values()):
        said = "; ".join(f"{name}: {why}" for name, why in reasons.items())
        raise StudyError(f"{held.path}: nothing can be recorded here: {said}")
    make = load_callable(held, held.inputs, trust=trust)
    functions = {
        variant.name: (
            load_callable(held, variant.callable, trust=trust),
            load_callable(held, variant.reference, trust=trust) if variant.reference else None,
        )
        for variant in chosen
        if not reasons[variant.name]
    }
    with recording:
        _copy(held, recording.folder)
        for variant in chosen:
            if reasons[variant.name]:
                yield recording.skip(variant.name, reasons[variant.name])
                continue
            for config in shapes:
                yield _one(recording, variant, config, make, *functions[variant.name])


def unavailable(variant: Variant, device: str) -> str:
    """Return why a variant cannot run on this host with this device; empty where it can."""
    lacks = [f"the module {name}" for name in variant.requires if not _installed(name)]
    if variant.device and variant.device != device:
        lacks.insert(0, f"a {variant.device} device")
    return f"needs {' and '.join(lacks)}, not on this host" if lacks else ""


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # a parent package that is not there, or broken
        return False


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
    reference: Callable[..., Any] | None,
) -> Run:
    with recording.run(
        variant.name,
        params=config.shape,
        dtype=config.dtype,
        mode=variant.mode,
        callable=variant.callable,
    ) as session:
        try:
            _measure(session, recording.backend, variant, config, (make, function, reference))
        except MemoryError:
            raise  # full memory is no fault of the variant, nor is a full disk
        except OSError as error:
            if error.errno is None:
                raise
            place = error.filename or str(session.folder)
            raise OSError(error.errno, error.strerror, place) from error
        except Exception as error:  # code of a variant may raise anything
            if (stop := _interruption(error)) is not None:
                raise stop from error
            session.reject(
                Finding(
                    id="variant-failed",
                    what="the variant failed, so it was not timed",
                    evidence=f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}",
                    remedy="run it alone, outside the recording",
                )
            )
    return recording.manifest.run[-1]


def _interruption(error: BaseException) -> BaseException | None:
    """Return the interrupt behind an error: a profiler that is left half-way raises its own."""
    seen: BaseException | None = error
    while isinstance(seen, Exception):
        seen = seen.__cause__ or seen.__context__
    return seen


def _measure(
    session: Session,
    backend: Backend,
    variant: Variant,
    config: Config,
    code: tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any] | None],
) -> None:
    """Check a variant where it has a reference, then time and profile it."""
    make, function, reference = code
    given = _inputs(make, config)
    inputs = _moved(given, backend.device)
    compiled = backend.compile(function) if variant.mode == _COMPILED else function

    def call() -> Any:
        return compiled(*inputs)

    if reference is None or session.check(
        call, reference, given, tolerance=variant.tolerance, name=variant.reference
    ):
        session.measure(call)


def _inputs(make: Callable[..., Any], config: Config) -> tuple[Any, ...]:
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
    return tuple(values)


def _moved(values: tuple[Any, ...], device: str) -> tuple[Any, ...]:
    """Return the inputs on the device."""
    import torch

    if device == "cpu":
        return values
    return tuple(value.to(device) if isinstance(value, torch.Tensor) else value for value in values)


def _copy(study: Study, folder: Path) -> None:
    """Keep the study beside its recording: what was run can be read later."""
    target = folder / "study"
    target.mkdir(exist_ok=True)
    for file in sorted(study.path.iterdir()):
        if file.is_file() and file.suffix in (".toml", ".py", ".csv"):
            shutil.copyfile(file, target / file.name)
