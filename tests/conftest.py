from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


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
