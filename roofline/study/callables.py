"""Run the code of a study to count it: only what ships with the project, or what is trusted."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from roofline.errors import OptionalDependencyError, StudyError
from roofline.resources import shipped
from roofline.study.load import list_studies
from roofline.study.study import Config, Study, Variant
from roofline.work.work import Work

__all__ = ["code_file", "count_variant", "digest", "is_shipped", "load_callable"]

_SHIPPED = "captures"


def digest(folder: Path) -> str:
    """Return the SHA-256 of a study: names and content of its TOML, Python and CSV files."""
    total = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".toml", ".py", ".csv") and file.is_file():
            total.update(f"{file.relative_to(folder).as_posix()}\0".encode())
            total.update(file.read_bytes() + b"\0")
    return total.hexdigest()


@cache
def _shipped_digests() -> frozenset[str]:
    return frozenset(digest(shipped("captures") / name) for name in list_studies())


def is_shipped(study: Study) -> bool:
    """Whether a study is one that ships with the project, recognised by content and not by name."""
    return digest(study.path) in _shipped_digests()


def load_callable(study: Study, name: str, *, trust: bool = False) -> Callable[..., Any]:
    """Return ``file.py:function`` or ``module:function`` of a study; this runs its code.

    A file beginning with ``captures/`` that the study does not hold is one that ships with the
    project, and needs no trust. Raises ``StudyError`` for any other code of a study that neither
    ships with the project nor is trusted, and for a name that leads to no function.
    """
    where, _, attribute = name.partition(":")
    file, with_project = code_file(study.path, where)
    if not trust and not with_project and not is_shipped(study):
        raise StudyError(
            f"{study.path}: counting {name!r} runs code of this study, which does not ship with "
            "roofline; read it, then give --trust"
        )
    if not attribute:
        raise StudyError(f"{study.path}: {name!r} is not of the form file.py:function")
    try:
        module = _file(file) if where.endswith(".py") else import_module(where)
    except ImportError as error:
        if (error.name or "").split(".")[0] == "torch":
            raise OptionalDependencyError(
                'counting code needs torch: pip install "roofline[torch]"'
            ) from error
        raise StudyError(f"{study.path}: {name!r} cannot be imported: {error}") from error
    found = getattr(module, attribute, None)
    if not callable(found):
        raise StudyError(f"{study.path}: no function {attribute!r} in {where}")
    return found  # type: ignore[no-any-return]


def code_file(folder: Path, where: str) -> tuple[Path, bool]:
    """Return the file of a callable, and whether it ships with the project.

    ``captures/...`` is how a study spells a kernel that several studies share.
    """
    parts = Path(where).parts
    if not (folder / where).is_file() and parts[:1] == (_SHIPPED,) and ".." not in parts:
        return shipped(_SHIPPED).joinpath(*parts[1:]), True
    return folder / where, False


def count_variant(study: Study, variant: Variant, config: Config, *, trust: bool = False) -> Work:
    """Return the work of a variant, counted by running its callable on tensors without data.

    A kernel cannot be run so: it is counted as its reference.
    """
    if not study.inputs:
        raise StudyError(f"{study.path}: no [inputs] callable makes the inputs of the variants")
    make = load_callable(study, study.inputs, trust=trust)
    function = load_callable(study, variant.reference or variant.callable, trust=trust)
    count = import_module("roofline.work").count
    inputs = make(**config.shape, dtype=config.dtype)
    work: Work = count(function, *inputs, mode=variant.mode)
    return work


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise StudyError(f"{path}: no such file")
    name = f"roofline_study_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise StudyError(f"{path}: not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
