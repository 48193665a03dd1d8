from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import roofline

ROOT = Path(roofline.__file__).parent
MODULES = sorted(
    ".".join(("roofline", *path.relative_to(ROOT).with_suffix("").parts))
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_give_what_they_say(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
