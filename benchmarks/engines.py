"""Busy time, instructions and bytes per engine of a large Parquet table, against the alternatives.

Every case runs in a process of its own, libraries imported and the file in the page cache; the
fastest of its calls counts. All have to give the same answer. Memory is the growth of the peak.

Run: python benchmarks/engines.py [million rows]
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync", "Activation2")
CALLS = 5
TARGETS = {"polars": 0.9, "duckdb": 0.35, "loop": 0.12}
PEAK_MB = 900


def write(folder: Path, rows: int, order: str) -> Path:
    """An Explorer folder with one Instruction table of eight columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    start = np.cumsum(random.integers(0, 120, rows)) + 5_000
    duration = random.integers(20, 600, rows)
    table = {
        "id": np.arange(rows),
        "start_ts": start,
        "end_ts": start + duration,
        "duration_ns": duration,
        "engine": random.integers(0, 5, rows),
        "opcode": random.integers(0, 4, rows),
        "hbm_read_bytes": random.integers(0, 65536, rows),
        "pc": random.integers(0, 1 << 20, rows),
    }
    index = np.argsort(table["end_ts"], kind="stable")
    if order == "shuffled":
        index = random.permutation(rows)
    opcodes = np.array(["MATMUL", "TENSOR_TENSOR", "ACTIVATE", "COPY"])
    columns = {name: values[index] for name, values in table.items()}
    columns["engine"] = pa.DictionaryArray.from_arrays(columns["engine"], list(ENGINES[:5]))
    columns["opcode"] = pa.DictionaryArray.from_arrays(columns["opcode"], opcodes.tolist())
    profile = folder / order / "profiles" / "global" / "bench@latest"
    profile.mkdir(parents=True)
    path = profile / "Instruction.parquet"
    arrow = pa.table(
        {
            name: values.cast(pa.string()) if name in ("engine", "opcode") else values
            for name, values in columns.items()
        }
    )
    pq.write_table(arrow, path, compression="snappy", row_group_size=1 << 20)
    return path


def ours(path: Path) -> dict[str, list[int]]:
    from roofline.analysis.busy import engine_busy
    from roofline.captures.registry import open_capture

    found = engine_busy(open_capture(path.parent)).isel(core=0)
    return {
        str(engine): [
            int(found.instructions[at]),
            int(found.hbm_bytes[at]),
            int(found.active_ps[at]) // 1000,
        ]
        for at, engine in enumerate(found.engine.values)
    }


def polars_apart(path: Path) -> dict[str, list[int]]:
    import polars as pl

    frame = pl.scan_parquet(path).select("engine", "start_ts", "end_ts", "hbm_read_bytes")
    start, end = pl.col("start_ts").sort(), pl.col("end_ts").sort()
    gap = (start.slice(1) - end.slice(0, pl.len() - 1)).clip(0).sum()
    busy = pl.col("end_ts").max() - pl.col("start_ts").min() - gap
    found = frame.group_by("engine").agg(pl.len(), pl.col("hbm_read_bytes").sum(), busy).collect()
    return {row[0].lower(): list(row[1:]) for row in found.rows()}


def polars_streaming(path: Path) -> dict[str, list[int]]:
    import polars as pl

    before = pl.col("end_ts").cum_max().shift(1).over("engine")
    found = (
        pl.scan_parquet(path)
        .select("engine", "start_ts", "end_ts", "hbm_read_bytes")
        .sort("start_ts")
        .with_columns(before.alias("before"))
        .group_by("engine")
        .agg(
            pl.len(),
            pl.col("hbm_read_bytes").sum(),
            (pl.col("end_ts") - pl.max_horizontal("start_ts", "before")).clip(0).sum(),
        )
        .collect(engine="streaming")
    )
    return {row[0].lower(): list(row[1:]) for row in found.rows()}


def duckdb_window(path: Path) -> dict[str, list[int]]:
    import duckdb

    rows = duckdb.sql(
        f"""
        with spans as (
            select engine, start_ts, end_ts, hbm_read_bytes, max(end_ts) over (
                partition by engine order by start_ts, end_ts
                rows between unbounded preceding and 1 preceding
            ) as before
            from '{path}'
        )
        select engine, count(*), sum(hbm_read_bytes),
            sum(greatest(0, end_ts - greatest(start_ts, coalesce(before, start_ts))))
        from spans group by engine
        """
    ).fetchall()
    return {row[0].lower(): [int(value) for value in row[1:]] for row in rows}


def merge_loop(path: Path) -> dict[str, list[int]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["engine", "start_ts", "end_ts", "hbm_read_bytes"])
    order = table.sort_by("start_ts")
    result: dict[str, list[int]] = {}
    until: dict[str, int] = {}
    columns = (order[name].to_pylist() for name in order.column_names)
    for engine, start, end, size in zip(*columns, strict=True):
        line = result.setdefault(engine, [0, 0, 0])
        last = until.get(engine, start)
        line[0] += 1
        line[1] += size
        if end > last:
            line[2] += end - max(start, last)
            until[engine] = end
        elif engine not in until:
            until[engine] = end
    return {engine.lower(): line for engine, line in result.items()}


CASES: dict[str, tuple[Callable[[Path], dict[str, list[int]]], int]] = {
    "roofline": (ours, CALLS),
    "polars, starts and ends apart": (polars_apart, CALLS),
    "polars, streaming": (polars_streaming, CALLS),
    "duckdb, window": (duckdb_window, 2),
    "loop, plain merge": (merge_loop, 1),
}


def run(name: str, path: Path) -> dict[str, Any]:
    function, calls = CASES[name]
    if name == "roofline":
        import xarray  # noqa: F401 - imported before timing, as the others' libraries are
    import pyarrow  # noqa: F401

    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = resident("VmRSS")
    times, work = [], []
    for _ in range(calls):
        began, spent = time.perf_counter(), time.process_time()
        answer = function(path)
        times.append(time.perf_counter() - began)
        work.append(time.process_time() - spent)
    grown = resident("VmHWM") - before
    return {
        "s": min(times),
        "first_s": times[0],
        "cpu_s": min(work),
        "mb": grown / 1024,
        "answer": answer,
    }


def resident(field: str) -> int:
    """Resident memory now (VmRSS) or at its peak (VmHWM), in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])


def alone(name: str, path: Path) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(run, (name, path))


def main() -> None:
    million = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for order in ("end order", "shuffled"):
            path = write(Path(folder), int(million * 1e6), order)
            path.read_bytes()
            found = {name: alone(name, path) for name in CASES}
            mine = found["roofline"]
            print(f"{million:g} M rows, {order}, {path.stat().st_size / 1e6:.0f} MB")
            for name, each in found.items():
                same = {k: v for k, v in each["answer"].items() if v[0]} == {
                    k: v for k, v in mine["answer"].items() if v[0]
                }
                print(
                    f"  {name:<30} {each['s']:7.3f} s  first {each['first_s']:7.3f} s  "
                    f"CPU {each['cpu_s']:7.3f} s  "
                    f"{each['mb']:6.0f} MB  ratio {mine['s'] / each['s']:5.2f}"
                    f"{'' if same else '  OTHER ANSWER'}"
                )
                failed |= not same
            for word, target in TARGETS.items():
                best = min(each["s"] for name, each in found.items() if name.startswith(word))
                met = mine["s"] <= target * best
                failed |= not met
                verdict = "met" if met else "MISSED"
                print(f"  {word}: {mine['s'] / best:.2f}, target {target} {verdict}")
            met = mine["mb"] < PEAK_MB
            failed |= not met
            print(f"  peak: {mine['mb']:.0f} MB, target {PEAK_MB} {'met' if met else 'MISSED'}")
            print(json.dumps({"order": order, **{n: round(e["s"], 4) for n, e in found.items()}}))
    sys.exit(failed)


if __name__ == "__main__":
    main()
