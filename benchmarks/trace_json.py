"""A 200 MB trace.json to columns, shapes kept, against json.load in the same run.

Run: python benchmarks/trace_json.py [megabytes]
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from roofline.captures.registry import open_capture

TARGET = 0.25
_OP = """  {{
    "ph": "X",
    "cat": "cpu_op",
    "name": "{name}",
    "pid": 8012,
    "tid": 8012,
    "ts": {ts},
    "dur": {dur}
    ,
    "args": {{
      "External id": {id},"Sequence number": 0, "Fwd thread id": 0, "Record function id": 0, \
"Concrete Inputs": ["", ""], "Input type": ["c10::BFloat16", "c10::BFloat16"], \
"Input Strides": [[{cols}, 1], [{cols}, 1]], "Input Dims": [[{rows}, {cols}], [{rows}, {cols}]], \
"Ev Idx": {id}
    }}
  }}"""
_DRIVER = """  {{
    "ph": "X",
    "cat": "privateuse1_driver",
    "name": "{name}",
    "pid": 0,
    "tid": 7,
    "ts": {ts},
    "dur": {dur}
    ,
    "args": {{
      "External id": {id}, "nrt_sequence_id": {sequence}, \
"neff_cache_key": "mul--_[{rows},{cols}]:BFloat16:S(C)_[{rows},{cols}]:BFloat16:S(C):{digest}"
    }}
  }}"""
_HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [],
  "record_shapes": 1,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
"""


def write(path: Path, megabytes: float) -> int:
    """Write events as Kineto formats them: four operators to one driver event."""
    random.seed(1)
    names = [f"aten::op{index}" for index in range(60)]
    shapes = [(1 << random.randrange(2, 8), 1 << random.randrange(5, 13)) for _ in range(80)]
    now, count, size = 5249478326578004, 0, 0
    with path.open("w") as file:
        file.write(_HEAD)
        while size < megabytes * 1e6:
            now += random.randrange(500, 30_000)
            length = random.randrange(200, 9_000)
            rows, cols = random.choice(shapes)
            event = (_DRIVER if count % 5 == 4 else _OP).format(
                name=random.choice(names),
                ts=f"{now // 1000}.{now % 1000:03d}",
                dur=f"{length // 1000}.{length % 1000:03d}",
                id=count // 5 * 4 + min(count % 5, 3) + 1,
                rows=rows,
                cols=cols,
                sequence=(1 << 48) + count,
                digest="ab" * 32,
            )
            size += file.write((",\n" if count else "") + event)
            count += 1
        file.write('\n  ],\n  "traceName": "trace.json"\n}\n')
    return count


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        count = write(path, megabytes)
        path.read_bytes()  # both find the file in memory

        ours = [_timed(lambda: _columns(path)) for _ in range(3)]
        theirs = _timed(lambda: _parsed(path))
    if {rows for rows, _, _ in (*ours, theirs)} != {count}:
        raise SystemExit(f"rows differ from the {count} written")
    elapsed = min(one[1] for one in ours) / theirs[1]
    processor = min(one[2] for one in ours) / theirs[2]
    print(f"{megabytes:.0f} MB, {count} events, shapes kept; elapsed and processor time")
    print(f"json.load {theirs[1]:.2f} s, {theirs[2]:.2f} s")
    print(f"roofline  {min(o[1] for o in ours):.2f} s, {min(o[2] for o in ours):.2f} s, best of 3")
    verdict = "reached" if processor < TARGET else "missed"
    print(f"ratio {elapsed:.3f}, {processor:.3f} (target < {TARGET}, processor time): {verdict}")


def _columns(path: Path) -> int:
    capture = open_capture(path)
    return capture.table("cpu_ops").num_rows + capture.table("driver").num_rows


def _parsed(path: Path) -> int:
    with path.open() as file:
        return len(json.load(file)["traceEvents"])


def _timed(call: Callable[[], int]) -> tuple[int, float, float]:
    """Return the result, elapsed and processor time in s; the latter is blind to neighbours."""
    start, used = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - start, time.process_time() - used


if __name__ == "__main__":
    main()
