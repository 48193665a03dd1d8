"""The documented profiling interface: configuration, modes, and an exporter that writes a tree."""

from __future__ import annotations

import enum
import json
import os
import shutil
from pathlib import Path

from torch._C._profiler import _ExperimentalConfig

import torch_neuronx

BASE = "i-0123456789abcdef0_pid_77"


class ProfileMode(enum.Enum):
    DEVICE = "device"
    RUNTIME = "runtime"
    CPU_UTIL = "cpu_util"
    HOST_MEMORY = "host_memory"


class NeuronConfig(_ExperimentalConfig):
    def __init__(
        self, modes=(ProfileMode.DEVICE, ProfileMode.RUNTIME), max_events_per_nc=None,
        capture_enabled_for_nc="0", profile_output_dir="prof", neff_cache_dir=None,
        precache_node_info=True,
    ):  # fmt: skip
        super().__init__(custom_profiler_config=f"profile_output_dir:{profile_output_dir}")
        self.modes = list(modes)
        self.core = capture_enabled_for_nc
        self.output = Path(profile_output_dir)
        self.cache = neff_cache_dir and Path(neff_cache_dir)


class NeuronProfiler:
    def __init__(self, config: NeuronConfig) -> None:
        self.config = config

    def export_trace(self, profiler) -> None:
        folder = self.config.output / BASE / "20261201"
        folder.mkdir(parents=True)
        path = folder / "trace.json"
        profiler.export_chrome_trace(str(path))
        if torch_neuronx.FAULT == "no_trace":
            path.unlink()
            return
        data = json.loads(path.read_text())
        if torch_neuronx.FAULT != "no_device_events":
            data["traceEvents"] += _device_events(data, self.config)
        path.write_text(json.dumps(data))
        (folder / "ntrace.pb").write_bytes(b"\x0a\x00")
        (folder / "trace_info.pb").write_bytes(b"\x0a\x00")
        if ProfileMode.DEVICE in self.config.modes:
            _device_files(folder, self.config)


def _device_events(data: dict, config: NeuronConfig) -> list[dict]:
    """A window and an execution on two physical cores for each operator that reached the device."""
    base = data["baseTimeNanoseconds"]
    waited = torch_neuronx.synchronized_at_ns
    ops = [event for event in data["traceEvents"] if event.get("cat") == "cpu_op"]
    found, sequence = [], 1 << 48
    core = 3 if torch_neuronx.FAULT == "wrong_core" else int(config.core)
    for inner in ops:
        if inner["name"] != "PythonSubclass":
            continue
        outer = [
            op for op in ops
            if op is not inner and "::" in op["name"] and op["ts"] <= inner["ts"]
            and op["ts"] + op["dur"] >= inner["ts"] + inner["dur"]
        ]  # fmt: skip
        op = max(outer, key=lambda op: op["ts"])
        start = inner["ts"] + 1
        if not any(at >= base + start * 1000 for at in waited):
            continue  # nobody waited for it: it is not in the trace
        sequence += 1
        link = {"External id": op["args"]["External id"]}
        found.append(_event("privateuse1_driver", op["name"], start, 30.0, pid=0,
                            **link, nrt_sequence_id=sequence))  # fmt: skip
        found += [
            _event("privateuse1_runtime", "nc_exec_running", start + 10, 8.0, tid=physical,
                   nrt_sequence_id=sequence, nc_idx=core, device_core_idx=physical)
            for physical in (0, 1)
        ]  # fmt: skip
        kinds, dims = op["args"].get("Input type", []), op["args"].get("Input Dims", [])
        found += [
            _event("privateuse1_runtime", "dmem_buf_copyin", start, 5.0, **link, bytes=4)
            for kind, shape in zip(kinds, dims, strict=True)
            if kind == "float" and shape == []
        ]
    return found


def _event(category: str, name: str, ts: float, dur: float, pid: int = 1, tid: int = 0, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts,
            "dur": dur, "args": args}  # fmt: skip


def _device_files(folder: Path, config: NeuronConfig) -> None:
    """What the device mode leaves: an .ntff, and its program unless the trap is to miss it."""
    core = 3 if torch_neuronx.FAULT == "wrong_core" else config.core
    trace = folder / f"profile_nc_{core}_exec_1.ntff"
    given = os.environ.get("STANDIN_NTFF")
    if torch_neuronx.FAULT == "idle_core":
        trace.write_bytes(b"")
    elif given:
        shutil.copyfile(given, trace)
    if torch_neuronx.FAULT == "missing_program" or not os.environ.get("STANDIN_NEFF"):
        return
    config.cache.mkdir(parents=True, exist_ok=True)
    program = config.cache / "neff_0123_vnc_0.neff"
    shutil.copyfile(os.environ["STANDIN_NEFF"], program)
    if torch_neuronx.FAULT == "stale_cache":
        os.utime(program, (1_000_000_000, 1_000_000_000))
