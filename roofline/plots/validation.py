"""Measured times against the estimate and the lower bound, as one figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from roofline.errors import QueryError
from roofline.plots import style
from roofline.plots.canvas import FORMATS, settings, write_canvas

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Held", "save_validation"]

_COLOURS: Final = tuple(dict.fromkeys(style.TONES.values()))
_MOST: Final = 12  # operators with a colour of their own; the rest share one


class Held(NamedTuple):
    """One measured row: operator, and measured, estimated and lower-bound seconds."""

    op: str
    measured_s: float
    estimate_s: float
    lower_s: float


def save_validation(rows: Sequence[Held], path: Path, *, title: str = "") -> None:
    """Draw measured time against the ratios estimate / measured and lower bound / measured."""
    if path.suffix.removeprefix(".") not in FORMATS:
        raise QueryError(f"{path}: write {', '.join('.' + name for name in FORMATS)}")
    if not rows:
        raise QueryError("no row has an estimate: there is nothing to draw")
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    with settings():
        canvas = Figure(figsize=(9.0, 4.4), layout="constrained")
        left, right = canvas.subplots(1, 2, sharex=True)
        ops = list(dict.fromkeys(row.op for row in rows))
        for at, op in enumerate(ops):
            own = [row for row in rows if row.op == op]
            colour = _COLOURS[at % len(_COLOURS)] if at < _MOST else style.MUTED
            label = op if at < _MOST else ("other" if at == _MOST else None)
            times = [row.measured_s * 1e6 for row in own]
            ratios = (
                (left, [row.estimate_s / row.measured_s for row in own]),
                (right, [row.lower_s / row.measured_s for row in own]),
            )
            for axes, values in ratios:
                axes.plot(
                    times, values, linestyle="none", markersize=3.5, color=colour, alpha=0.7,
                    marker=style.MARKERS[at % len(style.MARKERS)],
                    label=label if axes is left else None,
                )  # fmt: skip
        for axes, name in ((left, "estimate / measured"), (right, "lower bound / measured")):
            axes.axhline(1.0, color=style.INK, linewidth=1.0)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("measured time, µs")
            axes.set_ylabel(name)
            axes.yaxis.set_major_formatter("{x:.3g}")
            axes.yaxis.set_minor_formatter("{x:.3g}" if axes is left else NullFormatter())
            axes.tick_params(axis="y", which="minor", labelsize=7.5)
            axes.grid(color=style.FAINT, linewidth=0.6)
        right.set_title("nothing may lie above 1", fontsize=9)
        left.set_title("1 is right", fontsize=9)
        canvas.legend(loc="outside lower center", ncols=min(5, len(ops)), fontsize=8)
        canvas.suptitle(title, fontsize=10)
        write_canvas(canvas, path)
