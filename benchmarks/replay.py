"""Running a window again without each of its costs, by the number of instructions.

    python benchmarks/replay.py [instructions ...]

Four engines that wait for one another at random; a multiple of the time for ten times the
instructions says how the work grows (10: in proportion). CPU time of one process.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from roofline.analysis.activity import activity
from roofline.analysis.critical_path import walk_back
from roofline.analysis.graph import build_graph
from roofline.analysis.replay import replay_of
from roofline.captures.capture import Capture
from tests.analysis.synthetic import capture, instruction, update

ENGINES = {
    "tensor": ("Tensor", "MATMUL"),
    "vector": ("Vector", "COPY"),
    "scalar": ("Activation", "ACTIVATE"),
    "gpsimd": ("Pool", "IOTA"),
}
SIZES = (2_000, 20_000, 200_000)


def program(size: int) -> Capture:
    """Each instruction signals its end, and every second one waits for another engine."""
    chance = random.Random(1)
    names = list(ENGINES)
    free = dict.fromkeys(names, 0)
    count = dict.fromkeys(names, 0)
    rows, signals = [], []
    for _ in range(size):
        engine, other = chance.choice(names), chance.choice(names)
        start, operands = free[engine], ""
        if count[other] and chance.random() < 0.5:
            operands = f"S[{names.index(other)}] ({ENGINES[other][0]})>={count[other]} "
            start = max(start, free[other])
        end = start + chance.randrange(1, 9)
        count[engine] += 1
        number = names.index(engine)
        operands += f"S[{number}]++@complete "
        rows.append(instruction(engine, ENGINES[engine][1], start, end, operands))
        signals.append((end, number, count[engine], engine))
        free[engine] = end
    return capture(rows, semaphores=[update(*one) for one in sorted(signals)])


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def main() -> None:
    sizes = tuple(map(int, sys.argv[1:])) or SIZES
    before: tuple[int, float] | None = None
    for size in sizes:
        made = program(size)
        found = activity(made, "body")
        built, graph = timed(lambda made=made, found=found: build_graph(made, found))
        walked, path = timed(lambda graph=graph, found=found: walk_back(graph, found))
        ran, result = timed(
            lambda graph=graph, found=found, path=path: replay_of(graph, found, path)
        )
        assert result.attrs["unchanged_ps"] == result.attrs["window_ps"]
        whole = built + walked + ran
        grown = "" if before is None else f"  {whole / before[1]:5.1f} x for {size / before[0]:g} x"
        print(f"{size:>9,} instructions: graph {built:.2f} s, path {walked:.2f} s, "
              f"{result.sizes['cost']} costs {ran:.2f} s{grown}")  # fmt: skip
        before = size, whole


if __name__ == "__main__":
    main()
