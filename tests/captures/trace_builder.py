"""Traces in the shape that TorchNeuron is documented to write.

No public trace.json of TorchNeuron exists. What is documented: the Chrome-trace schema of Kineto,
the categories ``privateuse1_runtime`` and ``privateuse1_driver``, the arguments ``External id``,
``nrt_sequence_id`` and ``neff_cache_key`` of a driver event, and the names of the runtime chain.
The driver's pid is a guess.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BASE_NS = 1790857026000000000
HOST, STREAM = 100, 7


def microseconds(ns: int) -> str:
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


@dataclass
class Trace:
    """A trace under construction; times are int ns after the base."""

    events: list[str] = field(default_factory=list)
    head: dict[str, Any] = field(
        default_factory=lambda: {
            "schemaVersion": 1,
            "deviceProperties": [],
            "record_shapes": 1,
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": BASE_NS,
        }
    )

    def add(
        self, name: str, start: int, duration: int | None, category: str | None = None,
        phase: str = "X", pid: Any = HOST, tid: Any = HOST, **more: Any,
    ) -> None:  # fmt: skip
        args = more.pop("args", None)
        parts = {"ph": phase, "cat": category, "name": name, "pid": pid, "tid": tid, **more}
        text = ", ".join(
            f"{json.dumps(k)}: {json.dumps(v)}" for k, v in parts.items() if v is not None
        )
        text += f', "ts": {microseconds(start)}'
        if duration is not None:
            text += f', "dur": {microseconds(duration)}'
        if args is not None:
            text += f', "args": {json.dumps(args)}'
        self.events.append("{" + text + "}")

    def op(self, name: str, start: int, duration: int, external: int, dims: Any = None,
           types: Any = None, concrete: Any = None, **more: Any) -> None:  # fmt: skip
        args: dict[str, Any] = {"External id": external}
        if dims is not None:
            args |= {
                "Concrete Inputs": concrete or [""] * len(dims),
                "Input type": types,
                "Input Strides": [[] for _ in dims],
                "Input Dims": dims,
            }
        self.add(name, start, duration, "cpu_op", args=args, **more)

    def driver(self, name: str, start: int, duration: int, external: int | None = None,
               sequence: int | None = None, key: str | None = None) -> None:  # fmt: skip
        args = {"External id": external, "nrt_sequence_id": sequence, "neff_cache_key": key}
        args = {k: v for k, v in args.items() if v is not None}
        self.add(name, start, duration, "privateuse1_driver", pid=0, tid=STREAM, args=args)

    def device(self, name: str, start: int, duration: int, core: int = 4, **args: Any) -> None:
        args = {"device_core_idx": core, **args}
        self.add(name, start, duration, "privateuse1_runtime", pid=1, tid=core, args=args)

    def step(self, number: int, start: int, duration: int) -> None:
        self.add(f"ProfilerStep#{number}", start, duration, "user_annotation")

    def text(self, separator: str = ",\n  ") -> str:
        head = ", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in self.head.items())
        head = head + ", " if head else ""
        events = separator.join(self.events)
        return "{" + head + '"traceEvents": [\n  ' + events + '\n], "traceName": "trace.json"}\n'

    def write(self, path: Path) -> Path:
        data = self.text().encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path


OPS = ("mul", "mean", "add", "rsqrt", "mul", "mul")
WINDOWS_US = (388, 416, 433, 415, 388, 388)
SHAPES: tuple[tuple[Any, Any], ...] = (
    ([[4, 512], [4, 512]], ["c10::BFloat16", "c10::BFloat16"]),
    ([[4, 512], [], [], []], ["c10::BFloat16", "ScalarList", "Scalar", ""]),
    ([[4, 1], [], []], ["c10::BFloat16", "float", "Scalar"]),
    ([[4, 1]], ["c10::BFloat16"]),
    ([[4, 512], [4, 1]], ["c10::BFloat16", "c10::BFloat16"]),
    ([[4, 512], [512]], ["c10::BFloat16", "c10::BFloat16"]),
)


def naive_rmsnorm(steps: int = 1, *, cpu_epsilon: bool = True, cores: int = 2) -> Trace:
    """The six launches of a naive RMSNorm: window, and execution on each physical core."""
    trace = Trace()
    external, sequence = 1, (1 << 48) + 20
    start = 1_000_000
    for step in range(steps):
        begin, external = start, external + 1
        for op, window, (dims, types) in zip(OPS, WINDOWS_US, SHAPES, strict=True):
            external, sequence = external + 1, sequence + 1
            written = [t if cpu_epsilon else t.replace("float", "Scalar") for t in types]
            trace.op(f"aten::{op}", start, 20_800, external, dims, written)
            if op == "add" and cpu_epsilon:
                trace.add("dmem_buf_copyin", start + 30_000, 9_000, "privateuse1_runtime",
                          args={"bytes": 4, "External id": external})  # fmt: skip
            tensors = "".join(
                f"_[{','.join(map(str, shape))}]:BFloat16:S(C)"
                for shape, kind in zip(dims, types, strict=True)
                if kind == "c10::BFloat16"
            )
            key = f'"{op}--{tensors}:{"ab" * 32}"'
            trace.driver(f"aten::{op}", start + 25_000, window * 1000, external, sequence, key)
            for core in range(cores):
                trace.device("nc_exec_running", start + 200_000 + 500 * core, 20_000 - 4_000 * core,
                             core=4 + core, nrt_sequence_id=sequence)  # fmt: skip
            start += (window + 40) * 1000
        trace.step(step + 3, begin - 5_000, start - begin)
        start += 50_000
    return trace
