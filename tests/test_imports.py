from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

from roofline.cli import commands

HEAVY = ("torch", "matplotlib", "bokeh", "xarray", "pyarrow", "pandas", "scipy")


# numpy takes longer than all of what help or a hardware table needs
LIGHT = (
    ["--help"],
    ["hw", "list"],
    ["hw", "show", "trn2"],
    *([module.name, "--help"] for module in pkgutil.iter_modules(commands.__path__)),
)


@pytest.mark.parametrize("words", LIGHT, ids=" ".join)
def test_help_and_hardware_import_nothing_heavy(words: list[str]) -> None:
    code = (
        f"from roofline.cli.main import main\n"
        f"try: main({words!r})\n"
        "except SystemExit as stop: assert not stop.code\n"
    )
    assert loaded(code, (*HEAVY, "numpy")) == "[]"


def test_the_text_of_a_study_needs_no_drawing_and_no_dataset() -> None:
    code = (
        "from roofline.cli.main import main\n"
        "try: main(['report', 'rmsnorm-4x512-bf16'])\n"
        "except SystemExit as stop: assert not stop.code\n"
    )
    assert loaded(code, HEAVY) == "[]"


@pytest.mark.parametrize(
    "code",
    [
        "import roofline",
        (
            "import runpy, sys; sys.argv = ['roofline', '--version']\n"
            "try: runpy.run_module('roofline', run_name='__main__')\n"
            "except SystemExit as stop: assert not stop.code"
        ),
    ],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    assert loaded(code, HEAVY) == "[]"


def loaded(code: str, names: tuple[str, ...]) -> str:
    """Run code in a process of its own, and return which modules it has loaded."""
    probe = f"{code}\nimport sys\nprint([m for m in {names!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    return result.stdout.splitlines()[-1]
