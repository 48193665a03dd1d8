"""Decode damaged copies of a trace in a process of its own, and report what happened as JSON.

Run as ``python -m tests.captures.ntff.hostile TRACE CUTS FLIPS``: the trace is cut at every
section boundary and at CUTS random offsets, and FLIPS single bits are turned, half of them in the
metadata.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from roofline.captures.ntff.metadata import parse_header
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError

HANG_S = 60


def boundaries(content: bytes) -> list[int]:
    header = parse_header(memoryview(content))
    cuts = {0, 1, 9, 127, 128, header.body, len(content) - 1}
    for section in header.sections:
        cuts |= {section.offset, section.offset + section.size}
    for core in header.cores:
        for memory in core.memories:
            cuts |= {memory.span.start, memory.span.end}
    return sorted(cut for cut in cuts if cut < len(content))


def damaged(content: bytes, cuts: int, flips: int) -> Iterator[bytes]:
    chance = random.Random(1)
    for cut in boundaries(content):
        yield content[:cut]
    for _ in range(cuts):
        yield content[: chance.randrange(len(content))]
    body = parse_header(memoryview(content)).body
    for number in range(flips):
        copy = bytearray(content)
        copy[chance.randrange(body if number % 2 else len(copy))] ^= 1 << chance.randrange(8)
        yield bytes(copy)


def decode(path: Path) -> None:
    capture = open_capture(path)
    _ = capture.overview_source()
    for table in capture.sources:
        _ = capture.table(table)
    _ = capture.summary
    _ = capture.quality


def main(trace: Path, cuts: int, flips: int) -> None:
    content = trace.read_bytes()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.ntff"
        path.write_bytes(content)
        decode(path)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for copy in damaged(content, cuts, flips):
            path.unlink()
            path.write_bytes(copy)
            signal.alarm(HANG_S)
            try:
                decode(path)
                outcomes["decoded"] += 1
            except CaptureError as error:
                placed = error.offset is not None or "column" in error.reason
                located = error.section is not None and placed
                outcomes["refused" if located or not copy else f"no place: {error}"] += 1
            except Exception as error:
                outcomes[f"{type(error).__name__}: {error}"] += 1
            signal.alarm(0)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = {"outcomes": outcomes, "grown_bytes": (after - before) * 1024, "size": len(content)}
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
