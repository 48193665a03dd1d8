"""How fast a large NTFF trace decodes, and how much memory that takes.

    python benchmarks/ntff.py [--records 10000000] [--keep FILE]

Writes a synthetic trace of the wanted number of records (instructions, events, DMA in about the
proportions of real kernels) and decodes it in fresh processes. The ratio is to unpacking records
one by one with ``struct``, the obvious way.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

RECORD = np.dtype([("what", "<u4"), ("args", "<u4"), ("time", "<u8")])

TASKS = {
    "rows": "instructions, semaphores and DMA packets, paired and timed, as arrays",
    "tables": "the same as Arrow tables: times, engine, opcode, bytes, queue",
    "summary": "words of every row, work and bytes, and the summary",
    "all": "all columns of all instructions in one table",
    "info": "what roofline info shows",
}

COLUMNS = {
    "instructions": ("start_ts", "duration_ns", "engine", "opcode", "pcore_idx"),
    "semaphores": ("timestamp", "id", "value"),
    "dma": ("start_ts", "duration_ns", "transfer_bytes", "queue_type"),
}


def write_trace(path: Path, records: int) -> None:
    from tests.captures.ntff import encoder as enc
    from tests.captures.ntff.words import direct2d, notify, tensor, unary, word

    chance = np.random.default_rng(3)
    programs = {
        0: [notify(2), *([tensor(1, 6, 128), tensor(2, 6, 512)] * 500)],
        1: [notify(2), *([unary(0x46, 512)] * 300)],
        2: [notify(2), *([direct2d(-1, 0x8020_0000_0000, 512, 128)] * 100)],
        3: [notify(2), *([unary(0x42, 512, out=1)] * 700)],
        4: [notify(2), *([word(0xA2)] * 100)],
    }
    core = enc.Core(number=4, total_ps=1 << 50)
    for engine, words in programs.items():
        core.programs[engine] = (0x8005_C000_0000 + (engine << 20), b"".join(words))
    rows, packets = records * 2 // 5 // 2, records // 2 // 3
    events = records - 2 * rows - 3 * packets
    engine = chance.integers(0, 5, rows).astype(np.uint32)
    lengths = np.array([len(words) for words in programs.values()])
    first = np.array([core.word(number, 0) for number in range(5)], dtype=np.uint32)
    ordinal = np.zeros(rows, dtype=np.int64)
    for number in range(5):  # each engine walks its program over and over
        mine = np.flatnonzero(engine == number)
        ordinal[mine] = np.arange(len(mine)) % lengths[number]
    index = first[engine] + ordinal.astype(np.uint32)
    start = np.sort(chance.integers(0, rows * 100_000, rows)) + 10_000
    end = start + chance.integers(20_000, 900_000, rows)
    for number in range(5):
        mine = np.flatnonzero(engine == number)
        end[mine] = np.maximum.accumulate(end[mine])
    both = np.empty(2 * rows, dtype=RECORD)
    both["what"][:rows] = index | (0x80 | (engine + 1) << 2) << 24
    both["what"][rows:] = index | (0x81 | (engine + 1) << 2) << 24
    both["args"] = 0xFFFF_FFFF
    both["args"][:rows] = chance.integers(0, 1 << 16, rows) << 16
    both["time"] = np.concatenate((start, end))
    core.sections[0] = both[np.argsort(both["time"], kind="stable")].tobytes()
    event = np.zeros(events, dtype=RECORD)
    event["what"] = 0x100 | chance.integers(0, 64, events) | 0x13 << 16 | 0x87 << 24
    event["time"] = np.sort(chance.integers(0, rows * 100_000, events))
    core.sections[1] = event.tobytes()
    ring_engine = chance.integers(0, 16, packets).astype(np.uint32)
    begin = np.sort(chance.integers(0, rows * 100_000, packets)) + 10_000
    done = begin + chance.integers(50_000, 400_000, packets)
    for number in range(16):
        mine = np.flatnonzero(ring_engine == number)
        done[mine] = np.maximum.accumulate(done[mine])
    moves = np.empty(3 * packets, dtype=RECORD)
    for part, (step, at) in enumerate(((1, begin), (5, done), (6, done + 1))):
        chosen = slice(part * packets, (part + 1) * packets)
        moves["what"][chosen] = ring_engine << 24 | (4096 if step == 5 else 0)
        moves["args"][chosen] = step
        moves["time"][chosen] = at
    core.sections[4] = moves[np.argsort(moves["time"], kind="stable")].tobytes()
    core.rings = [enc.Ring(64 + number, 0, "qPoolDynamic") for number in range(16)]
    file = enc.File(version=6, cores=[core], window=(0, 1 << 62))
    path.write_bytes(file.encode())


def decode(path: Path, task: str) -> None:
    """Do one task and print seconds and memory; runs in a process of its own."""
    import pyarrow.compute  # noqa: F401 - imports are not decoding

    import roofline.captures.ntff.capture  # noqa: F401
    from roofline.captures.info import describe
    from roofline.captures.ntff.decoded import Decoded
    from roofline.captures.ntff.trace import open_trace
    from roofline.captures.registry import list_readers, open_capture
    from roofline.hardware.load import load_hardware

    list_readers()
    load_hardware("trn2")
    before = peak_bytes()
    began, busy = time.perf_counter(), time.process_time()
    if task == "rows":
        decoded = Decoded(open_trace(path))
        held = (decoded.instructions, decoded.events, decoded.dma)
        count = sum(len(next(iter(rows.values()))) for rows in held)
    elif task == "tables":
        capture = open_capture(path)
        count = sum(capture.table(name, columns).num_rows for name, columns in COLUMNS.items())
    elif task == "all":
        count = open_capture(path).instructions.num_rows
    elif task == "summary":
        capture = open_capture(path)
        count = capture.table("instructions", ["opcode", "operands", "kind"]).num_rows
        count += len(capture.summary)
    else:
        count = len(describe(open_capture(path)).counts)
    spent, used = time.perf_counter() - began, time.process_time() - busy
    found = {"seconds": spent, "cpu_seconds": used, "count": count, "bytes": peak_bytes() - before}
    print(json.dumps(found))


def peak_bytes() -> int:
    """Peak resident memory, the mapped pages of the file included."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def one_by_one(path: Path, records: int = 200_000) -> float:
    """Records a second of a loop that unpacks each record."""
    content = path.read_bytes()[-16 * records :]
    unpack = struct.Struct("<HBBHHQ").unpack_from
    open_at: dict[int, int] = {}
    began = time.perf_counter()
    for at in range(0, len(content), 16):
        ident, flag, kind, a, _, raw = unpack(content, at)
        key = kind << 4 | a >> 4
        if a & 15 == 1:
            open_at[key] = raw
        elif a & 15 == 5:
            _ = (open_at.get(key), raw, ident | flag << 16)
    return records / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--decode", nargs=2, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.decode:
        decode(Path(wanted.decode[0]), wanted.decode[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        path = wanted.keep or Path(folder) / "large.ntff"
        if not path.exists():
            write_trace(path, wanted.records)
        size = path.stat().st_size
        loop = one_by_one(path)
        print(f"{wanted.records:,} records, {size / 1e6:.0f} MB; one by one {loop / 1e6:.2f} M/s")
        for task, what in TASKS.items():
            command = [sys.executable, __file__, "--decode", str(path), task]
            best = min(
                (json.loads(subprocess.check_output(command)) for _ in range(3)),
                key=lambda result: result["seconds"],
            )
            rate = wanted.records / best["seconds"]
            print(
                f"{task:8} {best['seconds']:7.3f} s (CPU {best['cpu_seconds']:.3f})  "
                f"{rate / 1e6:7.1f} M records/s  "
                f"{rate / loop:6.1f} x one by one  peak {best['bytes'] / 1e6:7.0f} MB = "
                f"{best['bytes'] / size:.2f} x file  ({what})"
            )


if __name__ == "__main__":
    main()
