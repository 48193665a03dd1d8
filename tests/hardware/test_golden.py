"""Every number of the shipped models, kept twice: to edit one is to break a test."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roofline.errors import HardwareModelError
from roofline.hardware.parse import Model, parse_model

MODELS = ("inf2", "trn1", "trn2", "trn3")


def read(root: Path, name: str) -> dict[str, Any]:
    return tomllib.loads((root / "hw_models" / f"{name}.toml").read_text(encoding="utf-8"))


def digest(model: Model) -> Iterator[str]:
    """One line a fact: number with unit, kind and spread, or the conditions of a mode."""
    yield f"names = {[model.chip, model.core, model.generation, *model.aliases]}"
    yield f"instances = {list(model.instances)}"
    for path, number in model.values.items():
        if path.startswith("calibrated."):
            continue  # a fit, held against its data by the tests of the time model
        spread = "" if number.low is None else f" from {number.low!r}"
        spread += "" if number.high is None else f" to {number.high!r}"
        yield f'"{path}" = "{number.value!r} {number.unit} {number.quality}{spread}"'
    for rule in model.modes:
        conditions = [*rule.operations, *rule.dtypes, *rule.operands]
        conditions += [f"contiguous={rule.contiguous}", f"broadcast={rule.broadcast}"]
        yield f'"{rule.path} allows" = {conditions}'


def test_numbers_of_the_shipped_models(root: Path, golden: Callable[[str, str], None]):
    lines = [
        "# Every number of hw_models, as pytest --update-golden last saw it. Not read by the tool."
    ]
    for name in MODELS:
        lines += ["", f"[{name}]", *digest(parse_model(read(root, name), name))]
    text = "\n".join(lines) + "\n"
    assert len(tomllib.loads(text)["trn2"]) > 150
    golden("hw_models.toml", text)


def numbers(node: Any, trail: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from numbers(value, (*trail, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from numbers(value, (*trail, index))
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield trail


@pytest.mark.parametrize("name", MODELS)
def test_no_number_escapes_the_golden_table(root: Path, name: str):
    """Change each number of a file by itself: the digest changes, or the file is refused."""
    data = read(root, name)
    kept = list(digest(parse_model(data, name)))
    trails = [trail for trail in numbers(data) if trail[0] != "calibrated"]
    assert len(trails) > 150
    for trail in trails:
        changed = copy.deepcopy(data)
        node = changed
        for key in trail[:-1]:
            node = node[key]
        node[trail[-1]] *= 3
        try:
            now = list(digest(parse_model(changed, name)))
        except HardwareModelError:
            continue
        assert now != kept, trail
