"""The DMA part of a utilization: packets by class, queue and path, rates and sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from roofline.analysis.activity import Activity
from roofline.analysis.columns import codes, has
from roofline.analysis.dataset import Builder, ratio
from roofline.analysis.grouping import Groups, labelled
from roofline.analysis.operands import read_operands
from roofline.analysis.timeline import DmaTimeline
from roofline.captures.capture import Capture
from roofline.intervals import Int64Array

__all__ = ["add_dma"]

_ELEMENT: Final = ("dma_element", "dma_bytes")


def add_dma(
    out: Builder,
    capture: Capture,
    found: Activity,
    edges: Int64Array,
    extra: Sequence[str],
    bins: int | None,
) -> set[str]:
    """Add the DMA variables to ``out`` and return the names of ``extra`` that packets have.

    Dims ``core``, the names of ``extra``, ``bin``; by class, by path and as a distribution only
    where nothing extra is asked for.
    """
    dma = found.dma
    if dma is None:
        return set()
    more = labelled(capture.dma, extra, dma.row)
    if extra and not more:
        return set()
    core = np.searchsorted(found.cores, dma.core)
    for name, _, names in more:
        if name not in ("engine", "core"):
            out.coord(name, names, "1", f"{name} of the DMA packets")
    last = ("bin",) if bins else ()
    shape = (len(found.cores), *(len(names) for *_, names in more))
    _add_packets(
        out,
        dma,
        np.ravel_multi_index((core, *(code for _, code, _ in more)), shape),
        shape,
        edges,
        ("core", *(name for name, *_ in more), *last),
        "dma",
        found.window.length_ps,
        bins,
    )
    if not extra and dma.classes:
        classes = [*dma.classes, "unknown"] if np.any(dma.kind < 0) else list(dma.classes)
        shape = (len(found.cores), len(classes))
        out.coord("dma_class", classes, "1", "who built the descriptors")
        kind = np.where(dma.kind < 0, len(classes) - 1, dma.kind)
        _add_packets(
            out,
            dma,
            np.ravel_multi_index((core, kind), shape),
            shape,
            edges,
            ("core", "dma_class", *last),
            "dma_class",
            found.window.length_ps,
            bins,
        )
    if not extra:
        _add_paths(out, capture, dma, core, found, edges, bins)
        _add_distribution(out, capture, dma, found)
    return {name for name, *_ in more}


def _add_packets(
    out: Builder,
    dma: DmaTimeline,
    group: Any,
    shape: tuple[int, ...],
    edges: Int64Array,
    dims: tuple[str, ...],
    prefix: str,
    length_ps: int,
    bins: int | None,
) -> None:
    groups = Groups(
        group=np.asarray(group, np.int64),
        start=dma.start,
        end=dma.end,
        count=math.prod(shape),
        edges=edges,
    )
    rows = np.arange(len(dma))

    def shaped(values: Int64Array) -> Int64Array:
        return values.reshape(*shape, bins) if bins else values.reshape(shape)

    active, size = shaped(groups.merged(rows)), shaped(groups.spread(rows, dma.size))
    plain = shaped(groups.summed(rows))
    length = np.diff(edges) if bins else np.array(length_ps)
    out.add(f"{prefix}_active_ps", dims, active, "ps", "time with at least one packet in flight")
    out.add(f"{prefix}_active_share", dims, ratio(active, length), "1", "active over the window")
    out.add(f"{prefix}_bytes", dims, size, "B", "bytes of all packets")
    out.add(f"{prefix}_packets", dims, shaped(groups.started(rows)), "1", "packets that start here")
    out.add(f"{prefix}_packet_ps", dims, plain, "ps", "packet durations added up")
    out.add(
        f"{prefix}_bytes_per_s",
        dims,
        ratio(size, active) * 1e12,
        "B/s",
        "bytes over the time a packet was in flight",
    )
    out.add(
        f"{prefix}_mean_depth",
        dims,
        ratio(plain, active),
        "1",
        "mean packets in flight when active",
    )


def _add_paths(
    out: Builder,
    capture: Capture,
    dma: DmaTimeline,
    core: Any,
    found: Activity,
    edges: Int64Array,
    bins: int | None,
) -> None:
    """Add bytes by source and destination memory, where the capture knows them."""
    if not has(capture.dma, "source_memory", "dest_memory"):
        return
    (source, froms), (dest, tos) = (
        codes(capture.dma, name) for name in ("source_memory", "dest_memory")
    )
    source, dest = source[dma.row], dest[dma.row]
    names = [f"{a}->{b}" for a in [*froms, "unknown"] for b in [*tos, "unknown"]]
    source = np.where(source < 0, len(froms), source)
    dest = np.where(dest < 0, len(tos), dest)
    used, path = np.unique(source * (len(tos) + 1) + dest, return_inverse=True)
    shape = (len(found.cores), len(used))
    groups = Groups(
        group=np.ravel_multi_index((core, path), shape).astype(np.int64),
        start=dma.start,
        end=dma.end,
        count=math.prod(shape),
        edges=edges,
    )
    values = groups.spread(np.arange(len(dma)), dma.size)
    out.coord("path", [names[i] for i in used.tolist()], "1", "memory read and memory written")
    out.add(
        "dma_path_bytes",
        ("core", "path", *(("bin",) if bins else ())),
        values.reshape(*shape, bins) if bins else values.reshape(shape),
        "B",
        "bytes of packets by source and destination memory",
    )


def _add_distribution(out: Builder, capture: Capture, dma: DmaTimeline, found: Activity) -> None:
    inside = (dma.start < found.window.end_ps) & (dma.end > found.window.start_ps)
    sizes = dma.size[np.flatnonzero(inside & dma.payload)]
    points = np.array([0, 10, 25, 50, 75, 90, 100])
    out.coord("percentile", points, "percent", "percentile over packets that carry data")
    values = (
        np.percentile(sizes, points, method="inverted_cdf")
        if len(sizes)
        else np.full(len(points), np.nan)
    )
    out.add("dma_packet_size", ("percentile",), values, "B", "bytes a packet with data")
    element = _partition_bytes(capture, found)
    if element is not None:
        size, weight = element
        order = np.argsort(size, kind="stable")
        done = np.cumsum(weight[order])
        # of the bytes moved, not of the transfers: the share in pieces of at most this size
        at = np.searchsorted(done, points / 100 * done[-1], "left")
        out.add(
            "dma_partition_bytes",
            ("percentile",),
            size[order][np.minimum(at, len(size) - 1)],
            "B",
            "contiguous bytes a partition of the transfers issued, weighted by their bytes",
        )
    start, end = np.sort(dma.start[inside]), np.sort(dma.end[inside])
    depth = np.arange(1, len(start) + 1) - np.searchsorted(end, start, "right")
    out.add(
        "dma_greatest_depth",
        (),
        int(depth.max()) if len(depth) else 0,
        "1",
        "most packets in flight at once",
    )


def _partition_bytes(capture: Capture, found: Activity) -> tuple[Any, Any] | None:
    """Return contiguous bytes and all bytes of each transfer issued in the window."""
    lines = found.instructions
    operands = read_operands(capture.instructions) if lines is not None else None
    if lines is None or operands is None:
        return None
    inside = (lines.start >= found.window.start_ps) & (lines.start < found.window.end_ps)
    element, size = (operands.integers(name)[lines.row[inside]] for name in _ELEMENT)
    known = (element > 0) & (size > 0)
    return (element[known], size[known]) if known.any() else None
