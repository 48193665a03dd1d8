"""Find the function a user names, and count it with arguments written as text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from roofline.errors import OptionalDependencyError, RooflineError, WorkError
from roofline.work.counting import count
from roofline.work.specs import parse_argument
from roofline.work.work import Work

__all__ = ["count_callable", "load_callable", "parse_arguments"]


def load_callable(target: str) -> Callable[..., Any]:
    """Return the callable ``MODULE:NAME`` or ``FILE.py:NAME``; importing runs its code.

    Modules are looked up in the working directory first. A class of ``torch.nn.Module`` is
    instantiated without arguments on ``meta``. Raises ``WorkError``.
    """
    place, separator, path = target.rpartition(":")
    if not separator or not place or not path:
        raise WorkError(f"not MODULE:FUNCTION: {target!r} (for example kernels:rmsnorm)")
    found: Any = _module(place)
    for name in path.split("."):
        if not hasattr(found, name):
            public = [key for key in vars(found) if not key.startswith("_")]
            callables = sorted(key for key in public if callable(getattr(found, key)))
            raise WorkError(
                f"{place} has no {name!r}; it has {', '.join(callables[:20]) or 'nothing to call'}"
            )
        found = getattr(found, name)
    if isinstance(found, type) and any(c.__name__ == "Module" for c in found.__mro__):
        import torch

        try:
            with torch.device("meta"):
                return found()  # type: ignore[no-any-return]
        except TypeError as error:
            raise WorkError(f"{target}: a module class needs no arguments: {error}") from error
    if not callable(found):
        raise WorkError(f"{target} is not callable but {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def _module(place: str) -> ModuleType:
    try:
        return _from_file(Path(place)) if place.endswith(".py") else _from_path(place)
    except RooflineError:
        raise
    except ImportError as error:
        if error.name == "torch":
            raise OptionalDependencyError(
                f'{place} needs torch: pip install "roofline[torch]"'
            ) from error
        raise WorkError(f"cannot import {place}: {error}") from error
    except Exception as error:
        raise WorkError(f"cannot import {place}: {type(error).__name__}: {error}") from error


def _from_path(place: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return import_module(place)


def _from_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise WorkError(f"no such file: {file}")
    # graph capture looks the module up by name
    name = f"_roofline_counted_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise WorkError(f"not a Python file: {file}")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parse_arguments(arguments: Iterable[str]) -> dict[str, Any]:
    """Return keyword arguments from ``name=4x512:bf16`` and ``name=1e-6``; raises ``WorkError``."""
    found: dict[str, Any] = {}
    for text in arguments:
        name, separator, value = text.partition("=")
        if not separator or not name.strip().isidentifier():
            raise WorkError(f"not NAME=VALUE: {text!r} (for example x=4x512:bf16 or eps=1e-6)")
        if name.strip() in found:
            raise WorkError(f"argument {name.strip()!r} is given twice")
        found[name.strip()] = parse_argument(value)
    return found


def count_callable(
    target: str,
    arguments: Iterable[str],
    *,
    mode: str = "eager",
    strict: bool = False,
    causal: str = "full",
) -> Work:
    """Return the ``Work`` of ``MODULE:FUNCTION`` with arguments written as text."""
    named = parse_arguments(arguments)
    fn = load_callable(target)
    try:
        return count(fn, mode=mode, strict=strict, causal=causal, name=target, **named)
    except WorkError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:300]
        raise WorkError(f"{target} failed on these arguments: {text}") from error
