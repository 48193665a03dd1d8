"""Run the command line in a process of its own: profilers and devices belong to a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STANDIN = Path(__file__).resolve().parent / "standin"


def roofline(
    *arguments: str, standin: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT), *([str(STANDIN)] if standin else [])]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NEURON_")}
    return subprocess.run(
        [sys.executable, "-m", "roofline", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**kept, "PYTHONPATH": os.pathsep.join(paths), **environment},
    )
