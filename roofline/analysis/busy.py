"""Instructions, bytes and busy time per engine and core of tables of any size, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.analysis.columns import codes, has, integers
from roofline.analysis.dataset import Builder, ratio
from roofline.analysis.narrow import rows_of
from roofline.analysis.timeline import PS_PER_NS, WAIT_OPCODES
from roofline.captures.capture import Capture
from roofline.captures.streaming import column_names, iter_pieces
from roofline.engines import ENGINES
from roofline.errors import CaptureError, MissingTableError
from roofline.intervals import Int64Array, totals_of_keys

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray as xr

__all__ = ["engine_busy"]

_TIME_BITS: Final = 55
_MIDDLE: Final = 1 << (_TIME_BITS - 1)
_GROUPS: Final = 1 << (63 - _TIME_BITS)
_BYTES: Final = ("hbm_read_bytes", "hbm_write_bytes")


class _Groups:
    """Numbers for (core, engine) pairs, given in the order in which they are first seen."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[int, str], int] = {}

    def number(self, core: int, engine: str) -> int:
        if (core, engine) not in self.numbers and len(self.numbers) == _GROUPS:
            raise CaptureError(f"more than {_GROUPS} pairs of core and engine")
        return self.numbers.setdefault((core, engine), len(self.numbers))


def engine_busy(capture: Capture, window: tuple[int, int] | None = None) -> xr.Dataset:
    """Return instructions, bytes and merged busy time per engine and core.

    Reads five columns, row group by row group, and keeps 16 bytes a row: one key for the start and
    one for the end, group and time in one integer, so two sorts serve all groups. ``window`` is
    ``(begin, end)`` in ns. Waits are left out as in ``utilization``. Dims ``engine``, ``core``;
    int64 ps, bytes and counts. Raises ``MissingTableError`` when the capture has no instructions.
    """
    if not capture.has("instructions"):
        raise MissingTableError(f"{capture.path}: a {capture.format} capture has no instructions")
    held = column_names(capture, "instructions")
    wanted = ["engine", "start_ts", "end_ts"]
    wanted += [name for name in ("pcore_idx", "opcode", *_BYTES) if name in held]
    groups = _Groups()
    rows = rows_of(capture, "instructions")
    start, end = np.empty(rows, np.int64), np.empty(rows, np.int64)
    moved: dict[int, int] = {}
    base: int | None = None
    filled = 0
    with ThreadPoolExecutor(2) as pool:
        for piece in _ahead(iter_pieces(capture, "instructions", wanted, window), pool):
            if not piece.num_rows:
                continue
            if base is None:
                base = int(integers(piece, "start_ts")[0]) - _MIDDLE
            first, last, offset = _keys(piece, groups, base, window, moved)
            place = slice(filled, filled + len(first))
            np.add(first, offset, out=start[place])
            np.add(last, offset, out=end[place])
            filled = place.stop
            del piece, first, last, offset
        start, end = start[:filled], end[:filled]
        for done in [pool.submit(each.sort) for each in (start, end)]:
            done.result()
    length = totals_of_keys(start, end, _TIME_BITS, max(1, len(groups.numbers)))
    edges = np.arange(len(groups.numbers) + 1, dtype=np.int64) << _TIME_BITS
    count = np.diff(np.searchsorted(start, edges))
    return _dataset(capture, groups, length, count, moved, window)


def _ahead(pieces: Iterator[pa.Table], pool: ThreadPoolExecutor) -> Iterator[pa.Table]:
    """Read the next piece while the last one is worked on."""
    coming = pool.submit(next, pieces, None)
    while (piece := coming.result()) is not None:
        coming = pool.submit(next, pieces, None)
        yield piece


def _keys(
    piece: pa.Table,
    groups: _Groups,
    base: int,
    window: tuple[int, int] | None,
    moved: dict[int, int],
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return starts, ends, and what makes keys of them: group bits less the base."""
    engine, names = codes(piece, "engine")
    names = [*names, "unknown"]
    if has(piece, "pcore_idx"):
        core = integers(piece, "pcore_idx")
        cores = np.unique(core).tolist()
    else:
        core, cores = np.zeros(0, np.int64), [0]
    pairs = [groups.number(int(one), name) for one in cores for name in names]
    pair = np.where(engine < 0, len(names) - 1, engine) if np.any(engine < 0) else engine
    if len(cores) > 1:
        pair = pair + np.searchsorted(cores, core) * len(names)
    start, end = integers(piece, "start_ts"), integers(piece, "end_ts")
    keep = _kept(piece, start, end, window)
    if keep is not None:
        pair, start, end = pair[keep], start[keep], end[keep]
    if window is not None:
        start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
    if len(start) and (
        int(start.min()) < base or int(end.max()) - base >= 1 << _TIME_BITS or np.any(end < start)
    ):
        raise CaptureError(
            f"instruction times from {start.min()} to {end.max()} ns do not fit one execution"
        )
    for name in _BYTES:
        if has(piece, name):
            size = integers(piece, name)
            total = np.zeros(len(pairs), np.int64)
            np.add.at(total, pair, size if keep is None else size[keep])
            for number, amount in zip(pairs, total.tolist(), strict=True):
                moved[number] = moved.get(number, 0) + amount
    # group and time do not share a bit, so that adding both is joining them
    offset = ((np.array(pairs, np.int64) << _TIME_BITS) - base)[pair]
    return start, end, offset


def _kept(
    piece: pa.Table, start: Int64Array, end: Int64Array, window: tuple[int, int] | None
) -> Int64Array | None:
    """Return the rows that count, ``None`` for all of them."""
    keep: Any = None
    if has(piece, "opcode"):
        opcode, names = codes(piece, "opcode")
        waits = [at for at, name in enumerate(names) if name in WAIT_OPCODES]
        for at in waits:
            keep = opcode != at if keep is None else keep & (opcode != at)
    if window is not None:
        inside = (end > window[0]) & (start < window[1])
        keep = inside if keep is None else keep & inside
    return None if keep is None else np.flatnonzero(keep)


def _dataset(
    capture: Capture,
    groups: _Groups,
    length: Int64Array,
    count: Int64Array,
    moved: dict[int, int],
    window: tuple[int, int] | None,
) -> xr.Dataset:
    cores = sorted({core for core, _ in groups.numbers}) or [0]
    seen = {engine for _, engine in groups.numbers}
    engines = [*ENGINES, *sorted(seen - {*ENGINES, "unknown"})]
    shape = (len(engines), len(cores))
    busy, rows, size = (np.zeros(shape, np.int64) for _ in range(3))
    for (core, engine), number in groups.numbers.items():
        if engine in engines:
            place = engines.index(engine), cores.index(core)
            busy[place], rows[place] = length[number] * PS_PER_NS, count[number]
            size[place] = moved.get(number, 0)
    out = Builder()
    out.coord("engine", engines, "1", "engine of the NeuronCore")
    out.coord("core", cores, "1", "physical core in the logical core")
    dims = ("engine", "core")
    out.add("active_ps", dims, busy, "ps", "merged time with an instruction, waits excluded")
    out.add("instructions", dims, rows, "1", "instructions, waits excluded")
    if moved:
        out.add("hbm_bytes", dims, size, "B", "bytes read from and written to HBM")
    span = None if window is None else (window[1] - window[0]) * PS_PER_NS
    if span:
        out.add("active_share", dims, ratio(busy, span), "1", "active time over the window")
    return out.build({"capture": str(capture.path), "format": capture.format})
