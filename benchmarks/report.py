"""The whole ``roofline report`` of a study and of a sweep against ``python -c "import torch"``.

    python benchmarks/report.py

Each figure is the best of interleaved runs, every run a new process: CPU time, and the wall clock
beside it. Only ratios are comparable between machines.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time

STUDY = "rmsnorm-4x512-bf16"
SIZES = ("--rows", "1:100", "--cols", "512:51200:+512")
RUNS = 5


def seconds(*command: str) -> tuple[float, float]:
    """CPU time and wall clock of a process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        roofline = (sys.executable, "-m", "roofline")
        report = (*roofline, "report", STUDY)
        sweep = f"{folder}/sweep.nc"
        seconds(*roofline, "sweep", "rmsnorm", *SIZES, "-o", sweep)
        commands = {
            'python -c "import torch"': (sys.executable, "-c", "import torch"),
            f"roofline report {STUDY}": report,
            f"roofline report {STUDY} -o DIR": (*report, "-o", f"{folder}/out"),
            "roofline report SWEEP (10,000 points) -o DIR": (
                *roofline,
                "report",
                sweep,
                "-o",
                f"{folder}/sweep",
            ),
            "roofline --version": (*roofline, "--version"),
            "roofline hw list": (*roofline, "hw", "list"),
        }
        best = dict.fromkeys(commands, (float("inf"), 0.0))
        for _ in range(RUNS):
            for name, command in commands.items():
                best[name] = min(best[name], seconds(*command))
    base = next(iter(best.values()))[0]
    for name, (spent, wall) in best.items():
        print(f"{name:50} {spent:6.2f} s  {spent / base:5.2f} x import torch  (wall {wall:.2f} s)")


if __name__ == "__main__":
    main()
