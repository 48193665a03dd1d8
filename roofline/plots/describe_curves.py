"""Describe a sweep as curves along one size: modelled time, or rate over intensity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from roofline.errors import QueryError
from roofline.plots.figure import Axis, Curve, Figure, Point
from roofline.plots.roofs import limits
from roofline.plots.sweep_view import (
    Row,
    SweepView,
    details,
    name_of,
    series_of,
    size_axis,
    varying,
)
from roofline.units import format_count, format_time

__all__ = ["Measured", "describe_curves", "describe_trajectory"]

_SHAPES: Final = ("circle", "square", "diamond", "triangle")
_NOTE: Final = "colour: what bounds the point; band: 90 % interval; dotted: lower bound"


class Measured(NamedTuple):
    """A measured time (s) at a size, the series it belongs to, and what bounded it."""

    size: int
    time_s: float
    label: str
    series: tuple[str, ...] = ()
    verdict: str = ""


def describe_curves(view: SweepView, measured: Sequence[Measured] = ()) -> Figure:
    """Return modelled time over the size that varies, a block for each hardware and dtype.

    Hollow points are modelled, filled ones measured. Raises ``QueryError`` unless one size varies.
    """
    along = _along(view, "curves")
    sizes = [*(row[along] for row in view.rows), *(point.size for point in measured)]
    x = size_axis(along, sizes)
    times = [value for row in view.rows for name in ("lower_bound", "estimate", "estimate_high")
             if (value := row.get(name))]  # fmt: skip
    low, high = limits([*times, *(point.time_s for point in measured)] or [1e-6], below=1.6,
                       above=1.6)  # fmt: skip
    y = Axis(label="time", unit="s", low=low, high=high)
    if x.scale == "linear":
        y = Axis(label="time", unit="s", low=0.0, high=high / 1.5, scale="linear")
    blocks = series_of(view.rows, ("hardware", "dtype"))
    names = {"hollow: modelled": measured, "filled: measured": measured}
    words = "; ".join(name for name, shown in names.items() if shown)
    return Figure(
        key="curves",
        title=f"Modelled time over {along}",
        subtitle=view.title,
        x=x,
        y=y,
        curves=tuple(_curves(view, blocks, lambda row: row[along], lambda row, name: row[name])),
        points=(
            *_points(view, blocks, lambda row: row[along], lambda row: row["estimate"]),
            *_measured(view, blocks, measured),
        ),
        groups=_titles(blocks),
        notes=(f"{_NOTE}; {_shape_words(view)}", *((words,) if words else ()), *view.notes),
    )


def describe_trajectory(view: SweepView) -> Figure:
    """Return rate over intensity along the size that varies, a block for each hardware and dtype.

    Raises ``QueryError`` unless one size varies, or when no point has operations to count.
    """
    along = _along(view, "trajectory")
    counted = SweepView(rows=[row for row in view.rows if row["flops"] and row["intensity"]],
                        sizes=view.sizes, op=view.op, clock=view.clock, part=view.part)  # fmt: skip
    known = [row for row in counted.rows if row["estimate"]]
    if not known:
        raise QueryError("a trajectory needs points with FLOP and a modelled time; draw curves")
    blocks = series_of(counted.rows, ("hardware", "dtype"))
    rates = [row["flops"] / row[name] for row in known for name in ("estimate", "lower_bound")]
    low, high = limits([row["intensity"] for row in known], below=1.5, above=1.5)
    bottom, top = limits(rates, below=2.0, above=2.0)
    return Figure(
        key="trajectory",
        title=f"Rate over intensity along {along}",
        subtitle=view.title,
        x=Axis(label="intensity, FLOP per minimal byte", unit="FLOP/B", low=low, high=high),
        y=Axis(label="modelled rate", unit="FLOP/s", low=bottom, high=top),
        curves=tuple(
            _curves(counted, blocks, lambda row: row["intensity"],
                    lambda row, name: row["flops"] / row[name])
        ),
        points=tuple(
            _points(counted, blocks, lambda row: row["intensity"],
                    lambda row: row["flops"] / row["estimate"], ends=along)
        ),
        groups=_titles(blocks),
        notes=(f"{_NOTE}; {_shape_words(view)}", *view.notes),
    )  # fmt: skip


def _along(view: SweepView, kind: str) -> str:
    sizes = varying(view)
    if len(sizes) != 1:
        raise QueryError(f"{kind} need one size that varies, not {sizes}")
    return sizes[0]


def _titles(blocks: Iterable[tuple[str, ...]]) -> tuple[tuple[int, str, str], ...]:
    return tuple((at, " ".join(key), "") for at, key in enumerate(blocks))


def _variants(view: SweepView) -> list[str]:
    return list(dict.fromkeys(str(row["variant"]) for row in view.rows))


def _shape_words(view: SweepView) -> str:
    return "; ".join(
        f"{_SHAPES[at % len(_SHAPES)]}: {name}" for at, name in enumerate(_variants(view))
    )


def _curves(
    view: SweepView,
    blocks: dict[tuple[str, ...], list[Row]],
    x: Callable[[Row], float],
    y: Callable[[Row, str], float],
) -> Iterator[Curve]:
    """Yield the estimate of each variant and the lower bound; a gap where none is modelled."""
    variants = _variants(view)
    for at, rows in enumerate(blocks.values()):
        first = next((row["variant"] for row in rows if row["estimate"] is not None), None)
        for (variant,), members in series_of(rows, ("variant",)).items():
            shape = variants.index(variant)
            bounds = ("lower_bound",) if variant == first else ()  # it is of no schedule
            for known, run in groupby(members, key=lambda row: row["estimate"] is not None):
                if not known:
                    continue
                part = list(run)
                place = tuple(float(x(row)) for row in part)
                for name in ("estimate", *bounds):
                    low, high = ("estimate_low", "estimate_high") if name == "estimate" else (
                        name, name)  # fmt: skip
                    ends = [tuple(float(y(row, end if row.get(end) else name)) for row in part)
                            for end in (low, high)]  # fmt: skip
                    yield Curve(
                        key=f"{variant} {name}",
                        row=at,
                        label=variant if name == "estimate" else "lower bound",
                        role="model" if name == "estimate" else "bound",
                        x=place,
                        y=tuple(float(y(row, name)) for row in part),
                        low=tuple(map(min, *ends)),
                        high=tuple(map(max, *ends)),
                        shape=shape,
                    )


def _points(
    view: SweepView,
    blocks: dict[tuple[str, ...], list[Row]],
    x: Callable[[Row], float],
    y: Callable[[Row], float],
    ends: str = "",
) -> Iterator[Point]:
    """Yield modelled points; with ``ends`` the first and last of each series name that size."""
    variants = _variants(view)
    for at, rows in enumerate(blocks.values()):
        for (variant,), members in series_of(rows, ("variant",)).items():
            known = [row for row in members if row["estimate"] is not None]
            for number, row in enumerate(known):
                named = ends and number in (0, len(known) - 1)
                yield Point(
                    key=name_of(row, view.sizes),
                    label=f"{ends} {format_count(row[ends])}" if named else "",
                    x=float(x(row)),
                    y=float(y(row)),
                    shape=variants.index(variant),
                    tone=row["bound"] or "unknown",
                    hollow=True,
                    group=variant,
                    time_s=row["estimate"],
                    detail=details(row),
                    row=at,
                )


def _measured(
    view: SweepView, blocks: dict[tuple[str, ...], list[Row]], measured: Sequence[Measured]
) -> Iterator[Point]:
    variants, keys = _variants(view), list(blocks)
    for point in measured:
        verdict = point.verdict or "unknown"
        yield Point(
            key=f"{' '.join(point.series)}, {format_count(point.size)}: {point.label}",
            label="",
            x=float(point.size),
            y=point.time_s,
            shape=variants.index(point.series[2]),
            tone="unknown" if verdict.startswith("not ") else verdict,
            group=point.series[2],
            time_s=point.time_s,
            detail=(("time", f"{format_time(point.time_s)}; measured"), ("verdict", verdict)),
            row=keys.index(point.series[:2]),
        )
