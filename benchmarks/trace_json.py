"""A 200 MB trace.json to columns, shapes kept, against json.load in the same run.

Run: python benchmarks/trace_json.py [megabytes]
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
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

        ours = []
        for _ in range(2):
            start = time.perf_counter()
            capture = open_capture(path)
            rows = capture.table("cpu_ops").num_rows + capture.table("driver").num_rows
            ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        with path.open() as file:
            events = len(json.load(file)["traceEvents"])
        theirs = time.perf_counter() - start
    if rows != count or events != count:
        raise SystemExit(f"{rows} and {events} rows of {count}")
    ratio = min(ours) / theirs
    print(f"{megabytes:.0f} MB, {count} events, shapes kept")
    print(f"json.load {theirs:.2f} s, roofline {min(ours):.2f} s (first {ours[0]:.2f} s)")
    print(f"ratio {ratio:.3f} (target < {TARGET}): {'reached' if ratio < TARGET else 'missed'}")


if __name__ == "__main__":
    main()
