"""No command prints a number that cannot be: every JSON answer is walked, key by key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from roofline.cli.main import main
from tests.captures.explorer_folder import tables
from tests.captures.ntff.test_hostile import sample
from tests.captures.vendor_json import profile, write_json

COMMANDS = ("info", "engines", "bounds", "report", "compare")

_MEAN = re.compile(r"average|mean|per_")

_SIGNED = re.compile(
    r"change|difference|delta|gain|margin|slack|low_|_low|gap|error|start|begin|from"
)
"""Keys of times and amounts that may lie on both sides of zero."""

_TIME = re.compile(r"(^|_)(time|duration|wait|active|busy|span|idle)?_?(s|ns|ps)$")
_BYTES = re.compile(r"(^|_)bytes$")
_SHARE = re.compile(r"(^|_)share$|_fraction$")
_ABOVE_ONE = re.compile(r"of_roof|of_bound|of_peak|attained|efficiency")
"""Shares of a roof: a point above a roof is shown and explained, not clipped."""

_TEXT = re.compile(r"(?<![\w.])(nan|inf|infinity|none)(?![\w.-])", re.IGNORECASE)


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number with the keys that lead to it."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield from numbers(held, f"{path}.{key}")
    elif isinstance(value, list):
        for held in value:
            yield from numbers(held, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def impossible(document: Any) -> list[str]:
    """Return what cannot be in an answer of SI units in its names."""
    explained = "faster-than-bound" in json.dumps(document)
    found = []
    for path, number in numbers(document):
        key = path.rsplit(".", 1)[-1]
        signed = _SIGNED.search(path)
        if not math.isfinite(number):
            found.append(f"{path} is {number}")
        elif _TIME.search(key) and number < 0 and not signed:
            found.append(f"{path}: a time of {number}")
        elif (
            _BYTES.search(key)
            and not signed
            and (number < 0 or (number != int(number) and not _MEAN.search(key)))
        ):
            found.append(f"{path}: {number} bytes")
        elif (
            _SHARE.search(key)
            and not signed
            and not _ABOVE_ONE.search(path)
            and not (number > 1 and explained)
            and not 0 <= number <= 1 + 1e-9
        ):
            found.append(f"{path}: a share of {number}")
    return found


def generated(folder: Path) -> dict[str, Path]:
    (folder / "tables").mkdir()
    for name, table in tables().items():
        pq.write_table(table, folder / f"tables/{name}.parquet")
    (folder / "new.ntff").write_bytes(sample(6))
    (folder / "old.ntff").write_bytes(sample(5))
    summary = {"total_time": 1e-4, "total_active_time": 8e-5, "vector_engine_active_time": 5e-5,
               "hbm_read_bytes": 4096, "hbm_write_bytes": 4096}  # fmt: skip
    return {
        "new trace": folder / "new.ntff",
        "old trace": folder / "old.ntff",
        "tables": folder / "tables",
        "profile": write_json(folder, profile(rows=40)),
        "summary": write_json(folder, {"n_" + "a" * 40: summary}, "summary.json"),
    }


def check(command: str, path: Path | str, capsys: pytest.CaptureFixture[str]) -> int:
    """Walk one answer, as JSON and as text; return the numbers seen, 0 where it is refused."""
    words = [command, *[str(path)] * (1 + (command == "compare"))]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--json"])
    out, err = capsys.readouterr()
    if stop.value.code == 2:
        assert err.count("\n") == 1, err
        return 0
    assert stop.value.code in (0, None, 1), err
    document = json.loads(out, parse_constant=lambda name: pytest.fail(f"{words}: {name}"))
    assert not impossible(document), (words, impossible(document)[:10])
    with pytest.raises(SystemExit):
        main(words)
    text = capsys.readouterr().out
    assert not (wrong := [line for line in text.splitlines() if _TEXT.search(line)]), wrong
    return sum(1 for _ in numbers(document))


def test_the_walker_finds_what_it_is_for() -> None:
    wrong = {"a_s": -1, "n_bytes": 1.5, "x_share": 1.2, "y": float("nan"), "z_bytes": -1}
    assert len(impossible({"rows": [wrong]})) == 5
    right = {"change_s": -1, "n_bytes": 2.0, "x_share": 1, "of_roof": {"share": 1.1}}
    assert not impossible([right])


@pytest.mark.parametrize("command", COMMANDS)
def test_generated_captures(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = {name: check(command, path, capsys) for name, path in generated(tmp_path).items()}
    assert sum(count > 5 for count in seen.values()) >= 3, seen


def test_shipped_studies(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for study in sorted((root / "captures").glob("*/study.toml")):
        for command in ("report", "compare"):
            if command == "compare":
                with pytest.raises(SystemExit) as stop:
                    main([command, str(study.parent), "--json"])
                out = capsys.readouterr().out
                assert stop.value.code in (0, 2)
                assert not impossible(json.loads(out) if out else {})
            else:
                assert check(command, study.parent, capsys) > 20


@pytest.mark.parametrize("command", COMMANDS)
def test_shared_captures(shared: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [
        path
        for folder in sorted((shared / "captures").iterdir())
        if folder.is_dir()
        for path in sorted(folder.iterdir())[:2]
    ]
    seen = [check(command, path, capsys) for path in paths]
    assert sum(count > 5 for count in seen) >= len(paths) // 2
