"""Sweeps against the bare numpy expression of the same model, and 1e8 points in bounded memory.

    python benchmarks/sweep.py [--large]

Ratios of one run; the model is RMSNorm, one launch, two dtypes and two chips.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from roofline.analysis.verdict import LABELS
from roofline.model.demand import Part
from roofline.model.store import store
from roofline.model.sweep import dataset, plan

ROWS, COLS = 2500, 1000
HBM, VECTOR, SCALAR, START = (
    np.int8(LABELS.index(label))
    for label in (
        "hbm:bandwidth",
        "vector:throughput",
        "scalar:throughput",
        "overhead:device-start",
    )
)


def bare(plan_, rows, cols):
    """The same arithmetic written out for one operator: estimate and bound."""
    results = []
    for at in np.ndindex(2, 2, 1):
        r = plan_.combinations[at].rates
        passes = r.passes_of(Part(name="rms_norm", family="norm", rows=rows, columns=cols))
        moved = r.item_bytes * (2.0 * rows * cols + cols)
        row_bytes = cols * r.item_bytes
        each = np.maximum(r.element_floor_s, row_bytes / r.link_bytes_per_s + r.packet_interval_s)
        dma = moved * np.maximum(
            1 / r.achieved_bytes_per_s, each / (row_bytes * r.transfer_engines)
        )
        waves = np.ceil(rows / r.lanes)
        pieces = np.maximum(1.0, cols / 2048)
        vector, scalar = (
            waves
            * (passes[e] * (cols * r.engines[e].cycles + pieces * r.engines[e].overhead_cycles))
            / r.engines[e].clock_hz
            for e in ("vector", "scalar")
        )
        slowest = np.maximum(np.maximum(dma, vector), scalar)
        fixed = r.floor_s[1] + 4 * r.stage_s
        estimate = fixed + (dma + vector + scalar - slowest) / waves + slowest
        bound = np.where(vector > dma, VECTOR, HBM)
        bound = np.where(scalar > np.maximum(dma, vector), SCALAR, bound)
        results.append((estimate, np.where(fixed >= 0.5 * estimate, START, bound)))
    return results


def best(function, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
        del result
    return min(times)


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true", help="also 1e8 points into a store")
    large = parser.parse_args().large
    ready = plan(
        "rmsnorm", hardware=["trn2", "trn3"], dtype=["bf16", "fp32"],
        rows=f"1:{ROWS}", cols=f"1:{COLS}", variables=("estimate", "bound"),
    )  # fmt: skip
    rows = np.arange(1, ROWS + 1, dtype=np.float64)[:, None]
    cols = np.arange(1, COLS + 1, dtype=np.float64)[None, :]
    found = dataset(ready)
    for at, (estimate, _) in zip(np.ndindex(2, 2), bare(ready, rows, cols), strict=True):
        np.testing.assert_allclose(found["estimate"].values[at[0], at[1], 0], estimate, rtol=1e-9)
    ours, plain = best(lambda: dataset(ready)), best(lambda: bare(ready, rows, cols))
    print(f"{ready.points:,} points: sweep {ours:.3f} s, bare numpy {plain:.3f} s")
    print(f"sweep / bare numpy = {ours / plain:.2f} (target: at most 1.2)")
    if not large:
        return
    del found
    folder = Path(tempfile.mkdtemp())
    try:
        ready = plan(
            "rmsnorm", hardware=["trn2"], dtype=["bf16"], rows="1:10000", cols="1:10000",
            variables=("estimate", "bound"),
        )  # fmt: skip
        before, start = peak_mb(), time.perf_counter()
        store(ready, folder / "large.zarr")
        took = time.perf_counter() - start
        print(f"{ready.points:,} points into a store: {took:.1f} s, {ready.points / took:,.0f}/s")
        print(f"peak memory of the whole process {peak_mb():.0f} MB (before: {before:.0f} MB)")
        start = time.perf_counter()
        total = float(dataset(ready, chunks={"rows": 500})["estimate"].sum())
        took = time.perf_counter() - start
        print(f"the same reduced with dask: {took:.1f} s (sum {total:.6g} s)")
        print(f"peak memory {peak_mb():.0f} MB (target: under 1000 MB)")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
