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
        fault = torch_neuronx.fault()
        folder = self.config.output / BASE / "20261201"
        folder.mkdir(parents=True)
        path = folder / "trace.json"
        profiler.export_chrome_trace(str(path))
        data = json.loads(path.read_text())
        if fault == "cpu_fallback":
            _fall_back(data)
        if fault != "no_device_events":
            data["traceEvents"] += _device_events(data, self.config)
        path.write_text(json.dumps(data))
        if fault == "no_trace":
            path.unlink()
        if fault == "two_processes":
            other = folder.parent.with_name("i-0123456789abcdef0_pid_78")
            shutil.copytree(folder, other)
        if fault == "cut_trace":
            path.write_bytes(path.read_bytes()[:-200])
        if ProfileMode.RUNTIME in self.config.modes:
            (folder / "ntrace.pb").write_bytes(b"\x0a\x00")
            (folder / "trace_info.pb").write_bytes(b"\x0a\x00")
        if ProfileMode.DEVICE in self.config.modes and fault != "no_device_trace":
            _device_files(folder, self.config)


def _fall_back(data: dict) -> None:
    """Make the last operator of each name one that ran on the CPU: copied, and not launched."""
    ops = [event for event in data["traceEvents"] if event.get("cat") == "cpu_op"]
    for op in ops:
        if op["name"] == "PythonSubclass":
            op["name"] = (
                "aten::_to_copy" if _around(op, ops)["name"] == "aten::mean" else op["name"]
            )


def _around(inner: dict, ops: list[dict]) -> dict:
    """The innermost operator around an event."""
    outer = [
        op for op in ops
        if op is not inner and "::" in op["name"] and op["ts"] <= inner["ts"]
        and op["ts"] + op["dur"] >= inner["ts"] + inner["dur"]
    ]  # fmt: skip
    return max(outer, key=lambda op: op["ts"])


def _device_events(data: dict, config: NeuronConfig) -> list[dict]:
    """A window and an execution on two physical cores for each operator that reached the device."""
    fault = torch_neuronx.fault()
    base = data["baseTimeNanoseconds"]
    waited = torch_neuronx.synchronized_at_ns
    ops = [event for event in data["traceEvents"] if event.get("cat") == "cpu_op"]
    found, sequence = [], 1 << 48
    core = 3 if fault == "wrong_core" else int(config.core)
    for number, inner in enumerate(op for op in ops if op["name"] == "PythonSubclass"):
        op = _around(inner, ops)
        start = inner["ts"] + 1
        if not any(at >= base + start * 1000 for at in waited):
            continue  # nobody waited for it: it is not in the trace
        sequence += 1
        link = {"External id": op["args"]["External id"]}
        found.append(_event("privateuse1_driver", op["name"], start, 30.0, pid=0,
                            **link, nrt_sequence_id=sequence))  # fmt: skip
        if ProfileMode.RUNTIME not in config.modes or fault == "no_executions":
            continue
        if fault != "dropped_executions" or number % 2 == 0:
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


TRACES = {"helper_program": "helper", "lost_records": "lost", "no_dma_notifications": "unlinked"}
PROGRAMS = {"other_program": "other", "no_debug": "bare"}


def _device_files(folder: Path, config: NeuronConfig) -> None:
    """What the device mode leaves: an .ntff, and its program in the profile's cache.

    ``STANDIN_FILES`` is a folder of such files.
    """
    fault, given = torch_neuronx.fault(), Path(os.environ["STANDIN_FILES"])
    core = 3 if fault == "wrong_core" else config.core
    mode = "session_0" if fault == "session" else "exec_1"
    trace = folder / f"profile_nc_{core}_{mode}.ntff"
    content = (given / f"{TRACES.get(fault, 'good')}.ntff").read_bytes()
    trace.write_bytes({"idle_core": b"", "damaged_trace": content[:300]}.get(fault, content))
    if fault == "missing_program":
        return
    config.cache.mkdir(parents=True, exist_ok=True)
    program = config.cache / "neff_0123_vnc_0.neff"
    shutil.copyfile(given / f"{PROGRAMS.get(fault, 'good')}.neff", program)
    if fault == "stale_cache":
        os.utime(program, (1_000_000_000, 1_000_000_000))
