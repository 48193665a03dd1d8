"""The figures of a sweep: which there are, and of which points each is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from roofline.errors import QueryError, RooflineError
from roofline.hardware.load import load_hardware
from roofline.model.stored import cores_of, sizes_of
from roofline.plots.describe_curves import Measured, describe_curves, describe_trajectory
from roofline.plots.describe_maps import Crossing, describe_map
from roofline.plots.describe_sweep import describe_roofline
from roofline.plots.sweep_view import SweepView
from roofline.report.sweep_rows import hold, spread, spread_words, sweep_rows

if TYPE_CHECKING:
    import xarray as xr

    from roofline.hardware.model import Hardware
    from roofline.plots.figure import Figure

__all__ = ["KINDS", "sweep_figure", "sweep_figures"]

KINDS: Final = ("heat", "bounds", "trajectory", "curves")
"""What a sweep can be drawn as, beside its points on the roofline."""

_VARYING: Final = {"heat": 2, "bounds": 2, "trajectory": 1, "curves": 1}


def sweep_figure(
    data: xr.Dataset,
    kind: str,
    *,
    measured: Sequence[Measured] = (),
    crossings: Sequence[Crossing] = (),
) -> Figure:
    """Return one figure of a sweep; sizes that it does not draw are at their largest.

    Raises ``QueryError`` for a kind that is not in ``KINDS`` or that too few sizes vary for.
    """
    if kind not in KINDS:
        raise QueryError(f"unknown kind of figure {kind!r}; known: {', '.join(KINDS)}")
    varying = [dim for dim in sizes_of(data) if data.sizes[dim] > 1]
    if len(varying) < _VARYING[kind]:
        what = ("needs a size that varies" if _VARYING[kind] == 1 else
                f"needs two sizes that vary, not {varying}; draw curves instead")  # fmt: skip
        raise QueryError(f"a {kind} figure {what}")
    held = hold(data, _VARYING[kind])
    view = _view(held)
    if kind == "curves":
        return describe_curves(view, measured)
    return (
        describe_trajectory(view) if kind == "trajectory" else describe_map(view, kind, crossings)
    )


def sweep_figures(data: xr.Dataset) -> Iterator[tuple[Figure, Hardware | None]]:
    """Yield the figures of a report, with the chip whose roofs a page shows on it."""
    view = _view(data)
    for name in map(str, data["hardware"].values):
        hardware = _hardware(data, name)
        plane = describe_roofline(view, hardware, name) if hardware is not None else None
        if plane is not None:
            yield plane, hardware
    varying = sum(data.sizes[dim] > 1 for dim in sizes_of(data))
    kinds = {0: (), 1: ("curves", "trajectory")}.get(varying, ("heat", "bounds", "curves"))
    counted = any(row["flops"] and row["estimate"] for row in view.rows)
    for kind in kinds:
        if kind != "trajectory" or counted:
            yield sweep_figure(data, kind), None


def _view(data: xr.Dataset) -> SweepView:
    part = spread(data)
    attrs: dict[Any, Any] = data.attrs
    return SweepView(
        rows=sweep_rows(part),
        sizes=tuple(sizes_of(data)),
        op=str(attrs.get("op", "")),
        clock=str(attrs.get("clock", "unknown")),
        part=spread_words(data, part),
    )


def _hardware(data: xr.Dataset, name: str) -> Hardware | None:
    """Return the chip of a sweep; none where its model is no longer to be found."""
    try:
        return load_hardware(name.partition("#")[0], lnc=cores_of(data).get(name))
    except RooflineError:
        return None
