from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "matplotlib", "bokeh", "xarray", "pyarrow", "pandas", "scipy")


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
    probe = f"{code}\nimport sys\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"
