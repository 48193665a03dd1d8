"""Read a full-profile JSON of 1 M records: seconds and memory against ``json.load``.

    python benchmarks/json_reader.py [RECORDS]

Each case runs in a fresh process on the same file, which is in the page cache; the best of three
runs counts. ``json.load`` is timed with the garbage collector on (as everybody calls it) and off.
Two layouts: the vendor's (instructions with all 23 fields, DMA packets with nested places), and
flat instruction records with 8 fields.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync")

TIMER = """
import gc, json, resource, sys, time
sys.path.insert(0, {root!r})
import numpy, pyarrow, msgspec
pyarrow.array([0])  # its first use imports pandas where that is installed, for 0.3 s
from roofline.captures.registry import open_capture
import roofline.captures.full_json.capture
path = {path!r}
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.perf_counter()
{body}
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([seconds, (peak - base) / 1024]))
"""
UTILIZATION = """
capture = open_capture(path)
wanted = ["start_ts", "end_ts", "engine", "opcode"] + ["pcore_idx"] * ("vendor" in path)
capture.table("instructions", wanted)
if capture.has("dma"):
    capture.table("dma", ["start_ts", "end_ts", "pcore_idx", "transfer_bytes", "queue_type"])
if capture.has("active"):
    capture.table("active")
"""
EVERYTHING = """
capture = open_capture(path)
for name in ("instructions", "dma", "active", "semaphores"):
    if name == "instructions" or capture.has(name):
        capture.table(name)
"""
CASES = {
    "json.load": "with open(path, 'rb') as file: data = json.load(file)",
    "json.load, collector off": "gc.disable()\nwith open(path, 'rb') as file: json.load(file)",
    "columns of a utilization query": UTILIZATION,
    "all columns": EVERYTHING,
}


def instruction(rng: random.Random, index: int) -> dict[str, object]:
    engine = rng.choice(ENGINES)
    matmul = engine == "Tensor" and index % 2 == 0
    record = {
        "timestamp": 100 * index,
        "duration": rng.randrange(20, 2000),
        "evt_wait_time": rng.randrange(500),
        "opcode": "MATMUL" if matmul else rng.choice(("ACTIVATE", "TENSOR_TENSOR", "DRAIN")),
        "label": "TensorMatrix" if matmul else engine,
        "subgroup": engine,
        "subgraph": f"sg0{index % 2}",
        "instruction_type": "REGULAR" if matmul else "",
        "activation_fn": "",
        "operands": f" src=bf16@0x{rng.randrange(4096):x}[1,0,0][512,1,1] dst=0x2000000[1][512] ",
        "pc": index % 5000,
        "id": rng.randrange(2**62),
        "crc_in": 65535,
        "crc_out": 65535,
        "bir_id": f"sg0000:{index % 900}",
        "raw_bir_id": index % 900,
        "bir_instruction_name": f"I-{index % 900}-1",
        "penguin_id": "",
        "raw_penguin_id": 0,
        "hlo_name": "",
        "hlo_attrs": "[]",
        "layer": "Unknown",
        "fully_qualified_subgraph": f"/sg0{index % 2}",
    }
    if matmul:
        record["elements"] = 128 * 128 * 512
    if index % 3 == 0:
        record["predecessors"] = [
            {"id": rng.randrange(2**62), "type": "FLOW_DEPENDENCE"} for _ in range(2)
        ]
    return record


def packet(rng: random.Random, index: int) -> dict[str, object]:
    return {
        "transfer_rate": 19450300000,
        "op": "",
        "source": [["unknown"]],
        "packet_aggregation_id": rng.randrange(2**62),
        "is_cc_dma": "no",
        "duplicate": "no",
        "subgraph": f"sg0{index % 2}",
        "dma_engine": str(index % 16),
        "dma_queue": "0",
        "semaphore_id": "-1",
        "id": rng.randrange(2**62),
        "transfer_size": 4096,
        "write_size": 4096,
        "crc": 41589,
        "queue_type": "software_dynamic",
        "read_size": 4096,
        "subgroup": f"Q0-E{index % 16}",
        "packet_idx": 0,
        "dest": ["unknown"],
        "aggregated": "no",
        "timestamp": 50 * index,
        "variable": "unknown",
        "duration": rng.randrange(100, 900),
    }


def flat(rng: random.Random, index: int) -> dict[str, object]:
    record = instruction(rng, index)
    names = ("timestamp", "duration", "opcode", "label", "subgroup", "operands", "id", "pc")
    return {name: record[name] for name in names}


def write_rows(file, rng, make, count: int) -> None:
    """Write an array of records, each with its keys in an order of its own, as the vendor does."""
    file.write("[")
    for index in range(count):
        items = list(make(rng, index).items())
        rng.shuffle(items)
        file.write("," * (index > 0) + json.dumps(dict(items), separators=(",", ":")))
    file.write("]")


def write_file(path: Path, layout: str, records: int) -> None:
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        file.write('{"summary":[{"instance_type":"trn2.3xlarge","total_time":0.1}],')
        file.write('"metadata":[{"num_physical_cores":2,"vnc_enabled":true}],"instruction":')
        if layout == "flat":
            write_rows(file, rng, flat, records)
        else:
            write_rows(file, rng, instruction, records * 3 // 10)
            file.write(',"dma":')
            write_rows(file, rng, packet, records * 6 // 10)
            file.write(',"active_time":[')
            for index in range(records // 10):
                row = {"engine": "tensor", "start_ts": 90 * index, "end_ts": 90 * index + 50}
                row |= {"duration_ns": 50, "pcore_idx": 0}
                file.write("," * (index > 0) + json.dumps(row, separators=(",", ":")))
            file.write("]")
        file.write("}")


def measure(path: Path, runs: int = 3) -> dict[str, tuple[float, float]]:
    """Return the least seconds of each case and the memory of that run in MB.

    Cases take turns, each in a new process, so that a busy machine disturbs all of them alike.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    for _ in range(runs):
        for name, body in CASES.items():
            code = TIMER.format(root=str(ROOT), path=str(path), body=body)
            command = [sys.executable, "-c", code]
            out = subprocess.run(command, capture_output=True, text=True, check=False)
            if out.returncode:
                sys.exit(out.stderr)
            found[name].append(tuple(json.loads(out.stdout)))
    return {name: min(times) for name, times in found.items()}


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        for layout in ("vendor", "flat"):
            path = Path(folder) / f"{layout}.json"
            write_file(path, layout, records)
            size = path.stat().st_size / 1e6
            print(f"{layout}: {records} records, {size:.0f} MB")
            results = measure(path)
            reference = results["json.load"][0]
            for name, (seconds, memory) in results.items():
                ratio = seconds / reference
                print(f"  {name:32} {seconds:7.2f} s  {ratio:5.2f} of json.load  {memory:6.0f} MB")


if __name__ == "__main__":
    main()
