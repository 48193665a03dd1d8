"""Describe a comparison: base and new points on one roofline, joined by arrows."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.analysis.comparison import Comparison, Pair
from roofline.analysis.observed import Observed
from roofline.clocks import clock_label
from roofline.errors import QueryError
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.plots.figure import Axis, Figure, Line, Point
from roofline.plots.labels import shorten
from roofline.plots.roofs import limits, roof_lines
from roofline.units import format_count, format_time

__all__ = ["describe_compare", "plane_hardware", "title_of"]

_MOST_NAMED = 8  # arrows with a label each
_MOST_DRAWN = 200  # pairs, the largest changes first
_MOST_TITLES = 4  # runs in the title
_WORK = {
    "tensor_flops": "Tensor FLOP without transposes per HBM byte",
    "passes": "element-passes per HBM byte",
    "flops": "FLOP of all classes per HBM byte",
}


def describe_compare(comparison: Comparison) -> Figure | None:
    """Return the roofline of a comparison, or ``None`` where no pair has a place on one.

    The plane is that of matrix products (Tensor FLOP) where a pair has them, else that of
    element-passes, else of FLOP of all classes. Roofs are those of ``plane_hardware``. An arrow
    goes from each base to its new point.
    """
    work, placed = _placed(comparison)
    hardware = plane_hardware(comparison)
    return None if hardware is None else _figure(comparison, placed, hardware, work)


def plane_hardware(comparison: Comparison) -> Hardware | None:
    """Return the hardware of the roofline: that of the base of the largest change on it."""
    for pair in sorted(_placed(comparison)[1], key=_size):
        if pair.base is not None and pair.base.hardware:
            return load_hardware(
                pair.base.hardware, lnc=pair.base.lnc, working_cores=pair.base.working_cores
            )
    return None


def _placed(comparison: Comparison) -> tuple[str, list[Pair]]:
    """Return what counts as work, and the pairs that have it: of many the largest changes."""
    pairs = [pair for pair in comparison.pairs if pair.change_s is not None]
    for work in ("tensor_flops", "passes", "flops"):
        found = [pair for pair in pairs if _at(pair, "base", work) and _at(pair, "new", work)]
        if found:
            return work, found if len(found) <= _MOST_DRAWN else sorted(found, key=_size)[
                :_MOST_DRAWN
            ]
    return "", []


def _size(pair: Pair) -> float:
    return -abs(pair.change_s or 0.0)


def _at(pair: Pair, side: str, work: str) -> tuple[float, float] | None:
    """Return (work per byte, work per s) of one side, with bytes both sides count the same way."""
    one, seconds = (pair.base, pair.base_s) if side == "base" else (pair.new, pair.new_s)
    if one is None or pair.base is None or pair.new is None or not seconds:
        return None
    kind = _kind(pair.base, pair.new)
    amount: float | None = getattr(one, work)
    if not kind or not amount:
        return None
    return amount / one.bytes[kind], amount / seconds


def _kind(base: Observed, new: Observed) -> str:
    kinds = ("measured", "dispatched", "minimal")
    return next((k for k in kinds if base.bytes.get(k) and new.bytes.get(k)), "")


def _figure(comparison: Comparison, pairs: Sequence[Pair], hardware: Hardware, work: str) -> Figure:
    passes = work == "passes"
    unit = "pass" if passes else "FLOP"
    points, arrows = [], []
    names = list(dict.fromkeys(pair.key for pair in pairs))
    bases: set[tuple[str, float, float]] = set()
    for pair in pairs:
        start, end = _at(pair, "base", work), _at(pair, "new", work)
        if start is None or end is None or pair.base is None or pair.new is None:
            continue
        named = len(pairs) <= _MOST_NAMED
        shape = names.index(pair.key) if len(comparison.versus) == 1 else 0
        if (pair.base.key, *start) not in bases:
            bases.add((pair.base.key, *start))
            points.append(
                _point(pair, "base", start, shape, _group(comparison, pair, "base"), named=named)
            )
        points.append(_point(pair, "new", end, shape, _group(comparison, pair, "new"), named=named))
        if start != end:
            arrows.append(
                Line(
                    key=f"arrow:{_group(comparison, pair, 'new')}",
                    label="",
                    role="arrow",
                    x=(start[0], end[0]),
                    y=(start[1], end[1]),
                )
            )
    ceiling = hardware.memory_ceiling("theoretical")
    compute = (
        [r for k in ("vector", "scalar", "gpsimd") for r in hardware.roofs("theoretical", k)]
        if passes
        else [r for r in hardware.roofs("theoretical", "tensor") if r.dtype != "sparse"]
    )
    memory = [r for r in hardware.memory_roofs() if not r.direction and r.kind != "vendor"]
    top = max(roof.value for roof in compute)
    xs, ys = [point.x for point in points], [point.y for point in points]
    low, high = limits([*xs, top / ceiling.value])
    x = Axis(
        label=_WORK[work],
        unit=f"{unit}/B",
        low=low,
        high=high,
    )
    y = Axis(label="achieved rate", unit=f"{unit}/s", low=min(ys) / 4, high=max(top, *ys) * 3)
    cores = "one core" if hardware.working_cores == 1 else f"LNC {hardware.lnc}"
    return Figure(
        key="roofline",
        title=title_of(comparison),
        subtitle=f"on {hardware.name}, {cores}; arrows go from the base to the new point",
        x=x,
        y=y,
        lines=(*roof_lines(compute, memory, x, ceiling), *arrows),
        points=tuple(points),
        notes=tuple(_notes(comparison, pairs, hardware, passes=passes)),
    )


def title_of(comparison: Comparison) -> str:
    """Return the names of the runs, cut to fit above a figure."""
    labels = [versus.run.label for versus in comparison.versus]
    others = ", ".join(labels) if len(labels) <= _MOST_TITLES else f"{len(labels)} others"
    return f"{shorten(comparison.base.label, 32)} against {shorten(others, 32)}"


def _group(comparison: Comparison, pair: Pair, side: str) -> str:
    """Return what shows together: both ends of a pair, or a base that several runs share alone."""
    one = pair.base if side == "base" else pair.new
    if len(comparison.versus) == 1 or one is None:
        return pair.key
    return one.key


def _point(
    pair: Pair,
    side: str,
    at: tuple[float, float],
    shape: int,
    group: str,
    *,
    named: bool,
) -> Point:
    one, seconds = (pair.base, pair.base_s) if side == "base" else (pair.new, pair.new_s)
    if one is None or pair.base is None or pair.new is None:
        raise QueryError(f"{pair.key}: a pair without both sides has no arrow")
    kind = _kind(pair.base, pair.new)
    detail = [
        ("side", side if side == "base" else f"new: {pair.words}"),
        ("time", f"{format_time(seconds)}, {clock_label(pair.clock)}"),
        ("bytes", f"{format_count(one.bytes[kind])} B, {kind}"),
        ("verdict", one.verdict or "unknown"),
        *((("bound", f"{format_time(one.bound_s)}, {one.bound_what}"),) if one.bound_s else ()),
    ]
    return Point(
        key=f"{side}: {one.key}",
        label=f"{one.kernel}  {format_time(seconds)}" if named else "",
        x=at[0],
        y=at[1],
        shape=shape,
        tone=one.verdict.split(":")[0] or "unknown",
        hollow=side == "base",
        group=group,
        detail=tuple(detail),
    )


def _notes(
    comparison: Comparison, pairs: Sequence[Pair], hardware: Hardware, *, passes: bool
) -> list[str]:
    kinds = {_kind(p.base, p.new) for p in pairs if p.base is not None and p.new is not None}
    notes = [f"hollow: base; filled: new; bytes are {' or '.join(sorted(kinds))}"]
    absent = len(comparison.pairs) - len(pairs)
    if absent:
        why = "the largest changes" if len(pairs) == _MOST_DRAWN else "the others have no place"
        notes.append(f"{len(pairs)} of {len(comparison.pairs)} pairs: {why}")
    others = {
        one.hardware for p in pairs for one in (p.base, p.new) if one is not None and one.hardware
    }
    if others - {hardware.name}:
        notes.append(f"points of {', '.join(sorted(others - {hardware.name}))} have other roofs")
    if passes:
        notes.append("an element-pass: one element through a lane by one instruction")
    return notes
