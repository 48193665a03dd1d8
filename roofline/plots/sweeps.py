"""Figures of sweeps: heat map, map of bounds, trajectory, and curves on measured points.

They draw what a dataset holds; nothing is computed here but positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from roofline.analysis.verdict import LABELS
from roofline.errors import QueryError
from roofline.plots import style
from roofline.plots.draw import FORMATS, settings, write_canvas
from roofline.units import format_count

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["KINDS", "Crossing", "Point", "draw_sweep", "save_sweep"]

KINDS: Final = ("heat", "bounds", "trajectory", "curves")
"""What a sweep can be drawn as."""

_LINE: Final = ("#1b63c6", "#c76a00", "#237a3b", "#b3261e", "#6d45a8", "#3d4652")
_DASHES: Final = ("-", "--", ":", "-.")
_NEAR: Final = 0.02  # of the axis, under which two sizes would print their labels on each other


Crossing = tuple[str, Mapping[str, Any], int, "int | None", "int | None"]
"""(dim, where and from what to what, at, low, high) of a change of bound."""


class Point(NamedTuple):
    """A measured time (s) at sizes, with the series it belongs to and what bounded it."""

    sizes: Mapping[str, int]
    time_s: float
    label: str
    series: tuple[str, ...] = ()
    verdict: str = ""


def save_sweep(
    data: xr.Dataset,
    path: Path,
    *,
    kind: str = "heat",
    measured: Sequence[Point] = (),
    crossings: Iterable[Crossing] = (),
    title: str = "",
) -> None:
    """Draw a sweep and write it as SVG, PNG or PDF, by the suffix of ``path``."""
    if path.suffix.removeprefix(".") not in FORMATS:
        raise QueryError(f"{path}: write {', '.join('.' + name for name in FORMATS)}")
    with settings():
        canvas = draw_sweep(data, kind=kind, measured=measured, crossings=crossings, title=title)
        write_canvas(canvas, path)


def draw_sweep(
    data: xr.Dataset,
    *,
    kind: str = "heat",
    measured: Sequence[Point] = (),
    crossings: Iterable[Crossing] = (),
    title: str = "",
) -> Canvas:
    """Return a matplotlib figure of a sweep: ``heat``, ``bounds``, ``trajectory`` or ``curves``.

    ``crossings`` are (dim, sizes, at, low, high) as ``crossovers`` gives them. ``heat`` and
    ``bounds`` need two sizes that vary; of more, the others are held at their first value, and the
    title says so.
    """
    if kind not in KINDS:
        raise QueryError(f"unknown kind of figure {kind!r}; known: {', '.join(KINDS)}")
    sizes = [str(d) for d in data.dims if d not in ("hardware", "dtype", "variant")]
    varying = [dim for dim in sizes if data.sizes[dim] > 1]
    if kind in ("heat", "bounds"):
        if len(varying) < 2:
            raise QueryError(
                f"a {kind} map needs two sizes that vary, not {varying}; draw curves instead"
            )
        return _maps(data, kind, varying[:2], sizes, list(crossings), title)
    if not varying:
        raise QueryError(f"a {kind} figure needs a size that varies")
    if kind == "trajectory":
        return _trajectory(data, varying[-1], sizes, title)
    along = max(varying, key=lambda dim: data.sizes[dim])
    return _curves(data, along, sizes, measured, title)


def _series(data: xr.Dataset) -> list[tuple[dict[str, str], xr.Dataset]]:
    found = []
    for chip in data["hardware"].values:
        for dtype in data["dtype"].values:
            for variant in data["variant"].values:
                key = {"hardware": str(chip), "dtype": str(dtype), "variant": str(variant)}
                found.append((key, data.sel(key)))
    return found


def _held(data: xr.Dataset, sizes: Sequence[str], kept: Sequence[str]) -> tuple[xr.Dataset, str]:
    """Return the dataset with every other size at its first value, and words for it."""
    others = [dim for dim in sizes if dim not in kept]
    words = ", ".join(f"{dim} = {format_count(int(data[dim].values[0]))}" for dim in others)
    return data.isel(dict.fromkeys(others, 0)), words


def _canvas(width: float, height: float) -> Canvas:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _columns(canvas: Canvas, entries: int) -> int:
    """Return how many columns of a legend fit: an entry needs about 2.4 inches."""
    return max(1, min(4, entries, int(canvas.get_figwidth() / 2.4)))


def _edges(values: Any) -> Any:
    """Return cell edges between sizes, halfway on a logarithmic axis."""
    logs = np.log2(np.asarray(values, dtype=float))
    middle = (logs[1:] + logs[:-1]) / 2
    first = logs[0] - (middle[0] - logs[0])
    last = logs[-1] + (logs[-1] - middle[-1])
    return 2.0 ** np.concatenate([[first], middle, [last]])


def _ticks(axes: Axes, which: str, values: Any) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    sizes = [int(value) for value in values]
    span = max(np.log2(sizes[-1] / sizes[0]), 1e-9)
    kept: list[int] = []
    for size in sizes:
        if not kept or np.log2(size / kept[-1]) / span >= max(_NEAR, 1 / 9):
            kept.append(size)
    axis.set_ticks(kept, [format_count(size) for size in kept])
    axis.set_ticks([], minor=True)


def _maps(
    data: xr.Dataset,
    kind: str,
    kept: Sequence[str],
    sizes: Sequence[str],
    crossings: Sequence[Crossing],
    title: str,
) -> Canvas:
    down, across = kept
    series = _series(data)
    columns = len(series) if len(series) <= 3 else 2 if len(series) == 4 else 3
    rows = -(-len(series) // columns)
    canvas = _canvas(1.3 + 3.5 * columns, 1.1 + 3.0 * rows)
    grid = canvas.subplots(rows, columns, squeeze=False)
    words = ""
    present: set[int] = set()
    mesh: Any = None
    for at, (key, part) in enumerate(series):
        axes = grid[at // columns][at % columns]
        plane, words = _held(part, sizes, kept)
        plane = plane.transpose(down, across)
        x, y = _edges(plane[across].values), _edges(plane[down].values)
        if kind == "heat":
            mesh = axes.pcolormesh(
                x, y, plane["percent_of_roof"].values, cmap="cividis", vmin=0, vmax=100
            )
        else:
            codes = plane["bound"].values
            present |= {int(code) for code in np.unique(codes) if code >= 0}
            _bound_cells(axes, x, y, codes)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlim(x[0], x[-1])
        axes.set_ylim(y[0], y[-1])
        _crossing_lines(axes, key, down, across, crossings)
        _ticks(axes, "x", plane[across].values)
        _ticks(axes, "y", plane[down].values)
        axes.set_xlabel(across)
        axes.set_ylabel(down)
        axes.set_title(f"{key['hardware']}  {key['dtype']}  {key['variant']}", fontsize=9)
        axes.tick_params(axis="x", labelrotation=35)
    for at in range(len(series), rows * columns):
        grid[at // columns][at % columns].set_visible(False)
    if kind == "heat" and mesh is not None:
        canvas.colorbar(mesh, ax=grid.ravel().tolist(), label="percent of roof", shrink=0.8)
    else:
        _bound_legend(canvas, present, lines=bool(crossings))
    canvas.suptitle(_title(data, title, words), fontsize=10)
    return canvas


def _title(data: xr.Dataset, title: str, words: str) -> str:
    base = title or f"{data.attrs.get('op', '')}: modelled, clock {data.attrs.get('clock', '')}"
    return f"{base} ({words})" if words else base


def _tone(code: int) -> Any:
    from matplotlib.colors import to_rgb

    resource, _, reason = LABELS[code].partition(":")
    red, green, blue = to_rgb(style.TONES.get(resource, style.TONES["unknown"]))
    # a second reason of the same resource is the same hue, lighter
    fade = 0.0 if reason in ("bandwidth", "throughput", "device-start", "") else 0.45
    return tuple(value + (1 - value) * fade for value in (red, green, blue))


def _bound_cells(axes: Axes, x: Any, y: Any, codes: Any) -> None:
    from matplotlib.colors import BoundaryNorm, ListedColormap

    colours = [(1.0, 1.0, 1.0), *(_tone(code) for code in range(len(LABELS)))]
    norm = BoundaryNorm(np.arange(-1.5, len(LABELS)), len(colours))
    axes.pcolormesh(x, y, codes, cmap=ListedColormap(colours), norm=norm, alpha=0.85)


def _bound_legend(canvas: Canvas, present: set[int], *, lines: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(facecolor=_tone(code), alpha=0.85, label=LABELS[code]) for code in sorted(present)
    ]
    if lines:
        handles.append(Line2D([], [], color=style.INK, linewidth=1.6, label="crossover, solved"))
        handles.append(
            Patch(facecolor="none", edgecolor=style.INK, hatch="////", linewidth=0.0,
                  label="over the published range of floors")
        )  # fmt: skip
    canvas.legend(handles=handles, loc="outside lower center", ncols=_columns(canvas, len(handles)))


def _crossing_lines(
    axes: Axes,
    key: Mapping[str, str],
    down: str,
    across: str,
    crossings: Sequence[Crossing],
) -> None:
    for along, other in ((across, down), (down, across)):
        own = [
            c
            for c in crossings
            if c[0] == along and all(c[1].get(name) == value for name, value in key.items())
        ]
        own.sort(key=lambda c: c[1][other])
        for change in dict.fromkeys(c[1].get("change", "") for c in own):
            line = [c for c in own if c[1].get("change", "") == change]
            _crossing_line(axes, line, other, sideways=along == down)


def _crossing_line(axes: Axes, line: Sequence[Crossing], other: str, *, sideways: bool) -> None:
    """Draw one solved change of bound, and its span over the published floors."""
    places = [c[1][other] for c in line]
    sizes = [c[2] for c in line]
    end = (axes.get_ylim() if sideways else axes.get_xlim())[1]
    low = [c[3] if c[3] is not None else c[2] for c in line]
    high = [c[4] if c[4] is not None else end for c in line]
    x, y = (places, sizes) if sideways else (sizes, places)
    axes.plot(x, y, color=style.INK, linewidth=1.6)
    if len(line) > 1 and low != high:
        fill = axes.fill_between if sideways else axes.fill_betweenx
        fill(places, low, high, facecolor="none", edgecolor=style.INK, hatch="////", linewidth=0.0,
             alpha=0.35)  # fmt: skip


def _trajectory(data: xr.Dataset, along: str, sizes: Sequence[str], title: str) -> Canvas:
    canvas = _canvas(7.2, 4.8)
    axes = canvas.subplots()
    words = ""
    for at, (key, part) in enumerate(_series(data)):
        line, words = _held(part, sizes, [along])
        x = line["intensity"].values
        y = line["flops"].values / line["estimate"].values
        top = line["flops"].values / line["lower_bound"].values
        if not np.any(np.isfinite(x) & (x > 0) & np.isfinite(y)):
            continue
        colour = _LINE[at % len(_LINE)]
        label = f"{key['hardware']} {key['dtype']} {key['variant']}"
        axes.plot(x, y, color=colour, marker="o", markersize=3.5, linewidth=1.2, label=label)
        axes.plot(x, top, color=colour, linestyle=":", linewidth=1.0)
        for end in (0, -1):
            axes.annotate(
                f"{along} {format_count(int(line[along].values[end]))}",
                (x[end], y[end]), xytext=(5, -9 if end == 0 else 5), textcoords="offset points",
                fontsize=7.5, color=colour,
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("intensity, FLOP per minimal byte")
    axes.set_ylabel("FLOP/s (dots: modelled; dotted line: lower bound)")
    axes.grid(color=style.FAINT, linewidth=0.6)
    axes.margins(x=0.12)
    axes.legend(frameon=False, fontsize=8)
    axes.set_title(_title(data, title, words), fontsize=10)
    return canvas


def _curves(
    data: xr.Dataset, along: str, sizes: Sequence[str], measured: Sequence[Point], title: str
) -> Canvas:
    chips = [str(name) for name in data["hardware"].values]
    dtypes = [str(name) for name in data["dtype"].values]
    canvas = _canvas(1.0 + 3.9 * len(dtypes), 1.2 + 3.2 * len(chips))
    grid = canvas.subplots(len(chips), len(dtypes), squeeze=False, sharex=True)
    words = ""
    for row, chip in enumerate(chips):
        for column, dtype in enumerate(dtypes):
            axes = grid[row][column]
            panel = data.sel(hardware=chip, dtype=dtype)
            words = _curve_panel(axes, panel, along, sizes, measured, (chip, dtype))
            axes.set_title(f"{chip}  {dtype}", fontsize=9)
            axes.set_xlabel(along)
            axes.set_ylabel("time, µs")
            top = axes.get_ylim()[1]
            axes.set_ylim(0, top * (1.18 if measured else 1.0))
            axes.grid(color=style.FAINT, linewidth=0.6)
    first, last = (float(data[along].values[end]) for end in (0, -1))
    room = (last - first) * (0.3 if measured else 0.03)  # for the names of the verdict strips
    grid[0][0].set_xticks([tick for tick in grid[0][0].get_xticks() if 0 <= tick <= last])
    grid[0][0].set_xlim(first - room, last + (last - first) * 0.03)
    named: dict[str, Any] = {}
    for axes in grid.ravel():
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    canvas.legend(
        list(named.values()),
        list(named),
        loc="outside lower center",
        ncols=_columns(canvas, len(named)),
    )
    canvas.suptitle(_title(data, title, words), fontsize=10)
    return canvas


def _curve_panel(
    axes: Axes,
    panel: xr.Dataset,
    along: str,
    sizes: Sequence[str],
    measured: Sequence[Point],
    place: tuple[str, str],
) -> str:
    words = ""
    for at, variant in enumerate(panel["variant"].values):
        line, words = _held(panel.sel(variant=variant), sizes, [along])
        colour, x = _LINE[at % len(_LINE)], line[along].values
        axes.plot(x, line["estimate"].values * 1e6, color=colour, linewidth=1.4,
                  label=f"{variant}: estimate and interval")  # fmt: skip
        axes.fill_between(
            x, line["estimate_low"].values * 1e6, line["estimate_high"].values * 1e6,
            color=colour, alpha=0.15, linewidth=0,
        )  # fmt: skip
        points = [p for p in measured if p.series == (*place, str(variant))]
        axes.plot([p.sizes[along] for p in points], [p.time_s * 1e6 for p in points],
                  linestyle="none", marker=style.MARKERS[at], markersize=4.5, color=colour,
                  markeredgecolor="white", markeredgewidth=0.5,
                  label=f"{variant}: measured" if points else None)  # fmt: skip
        _verdicts(axes, points, along, row=at)
        if at == 0:
            axes.plot(x, line["lower_bound"].values * 1e6, color=style.MUTED, linewidth=1.0,
                      linestyle=_DASHES[2], label="lower bound")  # fmt: skip
    return words


def _verdicts(axes: Axes, points: Sequence[Point], along: str, *, row: int) -> None:
    """Draw the verdict on each measured point as a strip of squares above the curves."""
    judged = [point for point in points if point.verdict]
    if not judged:
        return
    height = 0.965 - 0.055 * row
    across = axes.get_xaxis_transform()  # sizes across, fractions of the axes up
    for verdict in dict.fromkeys(point.verdict for point in judged):
        axes.plot(
            [p.sizes[along] for p in judged if p.verdict == verdict],
            [height] * sum(p.verdict == verdict for p in judged),
            transform=across, linestyle="none", marker="s", markersize=6, clip_on=False,
            markeredgecolor=style.MUTED, markeredgewidth=0.6, color=_verdict_tone(verdict),
            label=f"verdict: {verdict}",
        )  # fmt: skip
    axes.annotate(
        judged[0].label, (0.01, height), xycoords="axes fraction", fontsize=7, va="center",
        color=_LINE[row % len(_LINE)],
    )  # fmt: skip


def _verdict_tone(verdict: str) -> str:
    if verdict.startswith("not "):
        return "white"
    return style.TONES.get(verdict.partition(":")[0], style.TONES["unknown"])
