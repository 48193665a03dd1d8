"""Findings about one execution: each is one pure function in one file of this folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Final

from roofline.analysis import findings as folder
from roofline.analysis.checks import Check, Checks
from roofline.analysis.finding import Finding
from roofline.analysis.findings.scene import Scene

__all__ = ["find", "finding", "list_findings"]

_CHECKS: Final = Checks[Scene]("an execution")
finding = _CHECKS.finding

_NOT_CHECKS: Final = frozenset({"registry", "scene"})


@cache
def list_findings() -> dict[str, Check[Scene]]:
    """Return every check of an execution by its id, in alphabetical order."""
    for module in pkgutil.iter_modules(folder.__path__):
        if module.name not in _NOT_CHECKS:
            import_module(f"{folder.__name__}.{module.name}")
    return _CHECKS.by_id


def find(scene: Scene, only: Iterable[str] | None = None) -> tuple[Finding, ...]:
    """Return the findings of a scene, those with the most time to win first.

    ``only`` names the ids to look for; an unknown one raises ``RooflineError``.
    """
    list_findings()
    return _CHECKS.run(scene, only)
