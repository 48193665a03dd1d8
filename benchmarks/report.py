"""The whole ``roofline report`` of a shipped study against ``python -c "import torch"``.

    python benchmarks/report.py

Each figure is the best of interleaved runs, every run a new process; only ratios are comparable
between machines.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

STUDY = "rmsnorm-4x512-bf16"
RUNS = 5


def seconds(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = (sys.executable, "-m", "roofline", "report", STUDY)
        commands = {
            'python -c "import torch"': (sys.executable, "-c", "import torch"),
            f"roofline report {STUDY}": report,
            f"roofline report {STUDY} -o DIR": (*report, "-o", f"{folder}/out"),
            "roofline --version": (sys.executable, "-m", "roofline", "--version"),
        }
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(RUNS):
            for name, command in commands.items():
                best[name] = min(best[name], seconds(*command))
    base = next(iter(best.values()))
    for name, value in best.items():
        print(f"{name:45} {value:6.2f} s  {value / base:5.2f} x import torch")


if __name__ == "__main__":
    main()
