"""Write a capture as a timeline that ui.perfetto.dev (and chrome://tracing) opens.

The format is the JSON Trace Event Format: complete events in microseconds, counters, names. Each
engine is a track, with further lanes where instructions overlap; so is each DMA queue on each DMA
engine. Counters show the Tensor engine's limit and the DMA bandwidth.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from roofline import intervals
from roofline.captures.capture import Capture
from roofline.captures.export.lanes import lanes
from roofline.captures.plausible import LONGEST_NS
from roofline.engines import ENGINES, VENDOR_NAMES
from roofline.errors import MissingTableError
from roofline.wholefile import replace_file

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["write_perfetto"]

_CHUNK: Final = 1 << 17
_LANES: Final = 1000
"""Track numbers are 1000 times the track, plus the lane."""

_BINS: Final = 4000
_LEAST_BIN_NS: Final = 100

_INSTRUCTION_ARGS: Final = ("operands", "kind", "pc", "evt_wait_time_ns", "dtype_in", "mode")
_LIMIT: Final = ("timestamp", "duration", "k", "n")
_NEEDED: Final = {
    "instructions": ("engine", "start_ts", "duration_ns"),
    "dma": ("start_ts", "duration_ns", "transfer_bytes"),
    "throttle": _LIMIT,
}
_DMA_ARGS: Final = ("transfer_bytes", "queue_type", "source_memory", "dest_memory", "variable")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Track:
    process: int
    number: int
    name: str
    order: int


def write_perfetto(capture: Capture, path: Path) -> dict[str, int]:
    """Write the timeline of ``capture``, compressed if ``path`` ends in ``.gz``.

    Needs instructions or DMA packets; raises ``MissingTableError`` when there are neither. Returns
    the numbers of events by kind.
    """
    if not (capture.has("instructions") or capture.has("dma")):
        raise MissingTableError(f"{capture.path}: no instructions and no DMA: nothing to draw")
    path.parent.mkdir(parents=True, exist_ok=True)
    written: dict[str, int] = {}
    with replace_file(path) as temporary, _open(temporary, path.suffix == ".gz") as out:
        zero = _zero_ns(capture)
        header = {"tool": "roofline", "capture": capture.path.name, "format": capture.format}
        if zero:
            header["zero_ns"] = str(zero)
        out.write('{"displayTimeUnit":"ns","otherData":' + json.dumps(header) + ',"traceEvents":[')
        first = True
        for kind, events in _all_events(capture, zero):
            for text, count in events:
                out.write(("" if first else ",") + "\n" + text)
                first = False
                written[kind] = written.get(kind, 0) + count
        out.write("\n]}\n")
    return written


@contextmanager
def _open(path: Path, packed: bool) -> Iterator[IO[str]]:
    if packed:
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=5) as packed_file:
            yield packed_file
    else:
        with path.open("w", encoding="utf-8") as file:
            yield file


def _all_events(capture: Capture, zero: int) -> Iterator[tuple[str, Iterator[tuple[str, int]]]]:
    if capture.has("instructions"):
        table = capture.instructions
        yield (
            "instructions",
            _spans(table, zero, *_engine_tracks(table), "opcode", _INSTRUCTION_ARGS),
        )
    if capture.has("dma"):
        table = capture.dma
        tracks, of_row = _queue_tracks(table)
        yield "dma", _spans(table, zero, tracks, of_row, "queue_name", _DMA_ARGS)
        yield "counters", _bandwidth(table, zero)
    if capture.has("throttle"):
        yield "counters", _limits(capture.throttle, zero)


# Tracks ---------------------------------------------------------------------------------------


def _engine_tracks(table: pa.Table) -> tuple[list[_Track], npt.NDArray[np.int64]]:
    core = _cores(table)
    engine = _engines(table["engine"])
    tracks: list[_Track] = []
    of_row = np.full(table.num_rows, -1, dtype=np.int64)
    for index in np.unique(core).tolist():
        for order, key in enumerate(ENGINES):
            chosen = (core == index) & (engine == order)
            if chosen.any():
                of_row[chosen] = len(tracks)
                tracks.append(
                    _Track(
                        process=2 * index + 1,
                        number=order + 1,
                        name=VENDOR_NAMES[key],
                        order=order,
                    )
                )
    return tracks, of_row


def _engines(column: Any) -> npt.NDArray[np.int64]:
    """Return the place of each engine in ``ENGINES``; -1 for others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = column.cast(pa.string()).combine_chunks()
    place = pc.index_in(texts, value_set=pa.array(list(ENGINES)))
    found: npt.NDArray[np.int64] = pc.fill_null(place, -1).to_numpy().astype(np.int64)
    return found


def _queue_tracks(table: pa.Table) -> tuple[list[_Track], npt.NDArray[np.int64]]:
    core = _cores(table)
    columns = [core]
    for name in ("engine_idx", "queue_idx"):
        held = name in table.column_names
        values = table[name].fill_null(-1).to_numpy() if held else np.full(len(core), -1)
        columns.append(values.astype(np.int64))
    unique, first, of_row = np.unique(
        np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True
    )
    named = "queue_name" in table.column_names
    tracks: list[_Track] = []
    for number, (index, engine_idx, queue) in enumerate(unique.tolist()):
        label = table["queue_name"][int(first[number])].as_py() if named else None
        tracks.append(
            _Track(
                process=2 * index + 2,
                number=number + 1,
                name=f"{label or f'queue {queue}'} engine {engine_idx}",
                order=queue * 1000 + engine_idx,
            )
        )
    return tracks, of_row.reshape(-1)


def _cores(table: pa.Table) -> npt.NDArray[np.int64]:
    if "pcore_idx" not in table.column_names:
        return np.zeros(table.num_rows, dtype=np.int64)
    found: npt.NDArray[np.int64] = table["pcore_idx"].fill_null(0).to_numpy().astype(np.int64)
    return found


# Events ---------------------------------------------------------------------------------------


def _spans(
    table: pa.Table,
    zero: int,
    tracks: Sequence[_Track],
    of_row: npt.NDArray[np.int64],
    name: str,
    args: Sequence[str],
) -> Iterator[tuple[str, int]]:
    """Yield complete events in chunks of text, after the names of their tracks."""
    start, end = _picoseconds(table, zero)
    lane = np.zeros(len(start), dtype=np.int64)
    thread = np.zeros(len(start), dtype=np.int64)
    process = np.zeros(len(start), dtype=np.int64)
    for number, track in enumerate(tracks):
        rows = np.flatnonzero(of_row == number)
        lane[rows] = lanes(start[rows], end[rows])
        thread[rows] = track.number * _LANES + lane[rows]
        process[rows] = track.process
        yield from _names(track, int(lane[rows].max(initial=0)) + 1)
    drawn = np.flatnonzero((of_row >= 0) & (end >= start))
    held = [column for column in args if column in table.column_names]
    for at in range(0, len(drawn), _CHUNK):
        rows = drawn[at : at + _CHUNK]
        yield _format(table, rows, name, held, start, end, process, thread), len(rows)


def _names(track: _Track, count: int) -> Iterator[tuple[str, int]]:
    core = (track.process - 1) // 2
    what = "DMA" if track.process % 2 == 0 else "engines"
    events: list[dict[str, Any]] = [
        {
            "ph": "M",
            "name": "process_name",
            "pid": track.process,
            "args": {"name": f"core {core} {what}"},
        }
    ]
    for lane in range(count):
        thread = track.number * _LANES + lane
        label = track.name if lane == 0 else f"{track.name} ({lane + 1})"
        for kind, value in (
            ("thread_name", {"name": label}),
            ("thread_sort_index", {"sort_index": track.order * _LANES + lane}),
        ):
            events.append(
                {"ph": "M", "name": kind, "pid": track.process, "tid": thread, "args": value}
            )
    yield ",\n".join(json.dumps(event) for event in events), len(events)


def _format(
    table: pa.Table,
    rows: npt.NDArray[np.int64],
    name: str,
    args: Sequence[str],
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    process: npt.NDArray[np.int64],
    thread: npt.NDArray[np.int64],
) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    part = table.select([name, *args] if name in table.column_names else list(args)).take(rows)
    names = (
        _json_texts(part[name])
        if name in part.column_names
        else pa.array(['"unnamed"'] * len(rows))
    )
    fields: list[Any] = ['{"ph":"X","name":', pc.coalesce(names, '"unnamed"')]
    for label, values in ((',"pid":', process[rows]), (',"tid":', thread[rows])):
        fields += [label, pa.array(values).cast(pa.string())]
    fields += [',"ts":', _microseconds(start[rows])]
    fields += [',"dur":', _microseconds(end[rows] - start[rows]), ',"args":{']
    texts = []
    for column in args:
        text = _json_texts(part[column])
        texts.append(pc.binary_join_element_wise(f'"{column}":', text, ""))  # null where absent
    if texts:
        fields.append(pc.binary_join_element_wise(*texts, ",", null_handling="skip"))
    fields.append("}}")
    lines = pc.binary_join_element_wise(*fields, "")
    return ",\n".join(lines.to_pylist())


def _json_texts(column: Any) -> Any:
    """Return a column as JSON texts, each distinct string escaped once; nulls stay null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = column.combine_chunks()
    if pa.types.is_string(flat.type):
        flat = flat.dictionary_encode()
    if pa.types.is_dictionary(flat.type):
        texts = [json.dumps(text) for text in flat.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(flat.indices)
    if pa.types.is_boolean(flat.type):
        return pc.if_else(flat, "true", "false")
    return flat.cast(pa.string())


def _microseconds(ps: npt.NDArray[np.int64]) -> Any:
    """Return picoseconds as decimal microseconds, exactly."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole, rest = np.divmod(np.abs(ps), 1_000_000)
    sign = pc.if_else(pa.array(ps < 0), "-", "")
    fraction = pc.utf8_lpad(pa.array(rest).cast(pa.string()), width=6, padding="0")
    return pc.binary_join_element_wise(
        sign, pc.binary_join_element_wise(pa.array(whole).cast(pa.string()), fraction, "."), ""
    )


def _zero_ns(capture: Capture) -> int:
    """Return the ns that become zero: the first start where ps since 0 would not fit 64 bits.

    Raises ``MissingTableError`` for a table that lacks what is drawn of it.
    """
    import pyarrow.compute as pc

    held = [capture.table(name, names) for name, names in _NEEDED.items() if capture.has(name)]
    times = [
        value
        for table in held
        if "start_ts" in table.column_names
        for value in pc.min_max(table["start_ts"]).as_py().values()
        if value is not None
    ]
    return min(times) if times and max(map(abs, times)) > LONGEST_NS else 0


def _picoseconds(table: pa.Table, zero: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    if {"start_ps", "end_ps"} <= set(table.column_names):
        start, end = (table[name].to_numpy() - zero * 1000 for name in ("start_ps", "end_ps"))
        return start, end
    start = (table["start_ts"].to_numpy() - zero) * 1000
    return start, start + table["duration_ns"].to_numpy() * 1000


# Counters -------------------------------------------------------------------------------------


def _bandwidth(table: pa.Table, zero: int) -> Iterator[tuple[str, int]]:
    start, end = _picoseconds(table, zero)
    ordered = np.flatnonzero(end >= start)
    if not len(ordered):
        return
    core = _cores(table)
    low, high = int(start[ordered].min()), int(end[ordered].max())
    width = max(-(-(high - low) // _BINS), _LEAST_BIN_NS * 1000, 1)
    edges = np.arange(low, high + 2 * width, width, dtype=np.int64)
    size = table["transfer_bytes"].to_numpy().astype(np.int64)
    for index in np.unique(core[ordered]).tolist():
        rows = ordered[core[ordered] == index]
        moved = intervals.spread_binned(start[rows], end[rows], size[rows], edges)
        rate = moved * (1000.0 / width)  # bytes a ps and 1e12 ps/s over 1e9: GB/s
        changes = np.flatnonzero(np.diff(rate, prepend=np.nan) != 0)
        events = [
            _counter(
                2 * index + 2, "DMA bandwidth", "GB/s", int(edges[at]), round(float(rate[at]), 6)
            )
            for at in changes.tolist()
        ]
        yield ",\n".join(events), len(events)


def _limits(table: pa.Table, zero: int) -> Iterator[tuple[str, int]]:
    core = _cores(table).tolist()
    columns = [table[name].to_pylist() for name in _LIMIT]
    events = []
    for index, (begin, duration, k, n) in enumerate(zip(*columns, strict=True)):
        process = 2 * core[index] + 1
        events.append(
            _counter(process, "Tensor limit", "k/n", (begin - zero) * 1000, k / n if n else 1.0)
        )
        following = index + 1
        if following == len(core) or core[following] != core[index]:
            events.append(
                _counter(process, "Tensor limit", "k/n", (begin + duration - zero) * 1000, 1.0)
            )
    if events:
        yield ",\n".join(events), len(events)


def _counter(process: int, name: str, series: str, ps: int, value: float) -> str:
    whole, rest = divmod(abs(ps), 1_000_000)
    return (
        f'{{"ph":"C","name":"{name}","pid":{process},"ts":{"-" * (ps < 0)}{whole}.{rest:06d},'
        f'"args":{{"{series}":{value}}}}}'
    )
