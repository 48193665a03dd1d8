"""The registry of findings: each is one pure function in one file of this folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Final

from roofline.analysis import findings as folder
from roofline.analysis.finding import Finding, rank
from roofline.analysis.findings.scene import Scene
from roofline.errors import RooflineError

__all__ = ["Check", "find", "finding", "list_findings"]

Check = Callable[[Scene], Iterable[Finding]]

_CHECKS: dict[str, Check] = {}

_NOT_CHECKS: Final = frozenset({"registry", "scene", "words"})


def finding(identity: str) -> Callable[[Check], Check]:
    """Register a function of a scene under the id its findings carry; an id is taken once."""

    def register(check: Check) -> Check:
        if identity in _CHECKS:
            raise RooflineError(f"finding {identity!r} is registered twice")
        _CHECKS[identity] = check
        return check

    return register


@cache
def list_findings() -> dict[str, Check]:
    """Return every check by its id, in alphabetical order."""
    for module in pkgutil.iter_modules(folder.__path__):
        if module.name not in _NOT_CHECKS:
            import_module(f"{folder.__name__}.{module.name}")
    return dict(sorted(_CHECKS.items()))


def find(scene: Scene, only: Iterable[str] | None = None) -> tuple[Finding, ...]:
    """Return the findings of a scene, those with the most time to win first.

    ``only`` names the checks to run; an unknown id raises ``RooflineError``.
    """
    checks = list_findings()
    wanted = list(checks) if only is None else list(only)
    unknown = [name for name in wanted if name not in checks]
    if unknown:
        raise RooflineError(f"unknown finding {unknown[0]!r}; known: {', '.join(checks)}")
    return rank(one for name in wanted for one in checks[name](scene))
