"""Shipped data is found in a checkout, in an editable install and in a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from roofline import resources
from roofline.errors import RooflineError
from roofline.resources import shipped, shipped_names

MODELS = ["inf2.toml", "trn1.toml", "trn2.toml", "trn3.toml"]


def test_checkout(root: Path):
    assert shipped("hw_models") == root / "hw_models"
    assert shipped_names("hw_models", "*.toml") == MODELS


def test_what_is_not_shipped_is_an_error():
    with pytest.raises(RooflineError, match="'hardware' not found beside or inside roofline"):
        shipped("hardware")


def test_a_folder_of_that_name_beside_an_installed_package_is_not_taken(tmp_path, monkeypatch):
    """Beside site-packages/roofline may lie anything; only a checkout has a pyproject.toml."""
    package = tmp_path / "site-packages" / "roofline"
    inside = package / "_data" / "hw_models"
    beside = package.parent / "hw_models"
    inside.mkdir(parents=True)
    beside.mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", package)
    assert shipped("hw_models") == inside
    (package.parent / "pyproject.toml").touch()
    assert shipped("hw_models") == beside


def pip(*args: str | Path, env: Path | None = None) -> None:
    target = ["--python", str(env / "bin" / "python")] if env else []
    result = subprocess.run(
        [sys.executable, "-m", "pip", *target, *map(str, args)],
        capture_output=True,
        text=True,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        check=False,
    )
    if "No matching distribution found for hatchling" in result.stderr:
        pytest.skip("no package index to fetch the build backend from")
    assert result.returncode == 0, result.stderr


def empty_environment(path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path)], check=True)
    # click is all that this command needs besides the standard library
    site = next(path.glob("lib/python*/site-packages"))
    (site / "click").symlink_to(Path(click.__file__).parent, target_is_directory=True)
    return path


def run(env: Path, cwd: Path, *args: str) -> str:
    """Run the installed command outside the checkout, without this one's search path."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    result = subprocess.run(
        [env / "bin" / "roofline", *args],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=variables,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.slow
def test_wheel(tmp_path: Path, root: Path):
    pip("wheel", root, "--no-deps", "--wheel-dir", tmp_path)
    (wheel,) = tmp_path.glob("roofline-*.whl")
    env = empty_environment(tmp_path / "env")
    pip("install", "--no-deps", wheel, env=env)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    listed = run(env, elsewhere, "hw", "list", "--json")
    for model in MODELS:
        assert f'site-packages/roofline/_data/hw_models/{model}"' in listed
    assert str(root) not in listed
    assert "trn2.3xlarge" in run(env, elsewhere, "hw", "list")
    assert "219.4" in run(env, elsewhere, "hw", "show", "trn2")


@pytest.mark.slow
def test_editable_install(tmp_path: Path, root: Path):
    env = empty_environment(tmp_path / "env")
    pip("install", "--no-deps", "--editable", root, env=env)
    listed = run(env, tmp_path, "hw", "list", "--json")
    for model in MODELS:
        assert f'"{root / "hw_models" / model}"' in listed
