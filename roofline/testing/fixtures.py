"""A pytest plugin: ``pytest -p roofline.testing.fixtures``, or in the top conftest.py
``pytest_plugins = ["roofline.testing.fixtures"]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import pytest

from roofline.analysis.observed import Run
from roofline.report.compare_run import save_baseline
from roofline.study.options import Options
from roofline.testing.asserting import Path as AnyPath
from roofline.testing.asserting import assert_roofline

__all__ = ["pytest_addoption", "roofline_gate"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add where baselines are kept, and how they are renewed."""
    group = parser.getgroup("roofline")
    group.addoption(
        "--roofline-baselines", default="baselines", help="folder of baselines (default: baselines)"
    )
    group.addoption(
        "--roofline-update", action="store_true", help="write baselines instead of checking them"
    )


@pytest.fixture
def roofline_gate(request: pytest.FixtureRequest) -> Callable[..., Run]:
    """Return a function that holds a run against the baseline of this test.

    It takes what ``assert_roofline`` takes, without ``baseline``: that is a file named after the
    test. With ``--roofline-update`` the file is written instead; without a file the test fails.
    """
    folder = request.config.rootpath / request.config.getoption("--roofline-baselines")
    file = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', request.node.name)}.json"

    def gate(path: AnyPath | Sequence[AnyPath], **asked: Any) -> Run:
        if request.config.getoption("--roofline-update"):
            paths = [path] if isinstance(path, (str, PathLike)) else list(path)
            options = asked.get("options") or Options(repeats=len(paths) > 1)
            return save_baseline([str(one) for one in paths], file, options=options)
        if not file.exists():
            pytest.fail(f"no baseline {file}: run pytest --roofline-update and commit it")
        return assert_roofline(path, file, **asked)

    return gate
