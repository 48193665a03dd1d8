from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# no test is timed: a busy machine is not a fault
settings.register_profile("project", deadline=None)
settings.load_profile("project")

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden with what tests give now"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with a file of tests/golden; ``--update-golden`` writes the file instead."""

    def check(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        kept = path.read_text(encoding="utf-8") if path.exists() else ""
        changes = difflib.unified_diff(
            kept.splitlines(), text.splitlines(), f"golden/{name}", "now", n=0, lineterm=""
        )
        assert kept == text, "\n".join(
            [f"{name} differs; if that is meant, run pytest --update-golden", *changes]
        )

    return check


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The public captures and measurements, which are not part of the project."""
    path = Path(os.environ.get("ROOFLINE_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"no shared data at {path}: set ROOFLINE_SHARED")
    return path
