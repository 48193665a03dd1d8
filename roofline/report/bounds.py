"""Bounds as text for a terminal: a waterfall from the total time down to the lower bound."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

import numpy as np

from roofline.report.bars import bar, table
from roofline.units import format_percent, format_time

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["bounds_text"]

_WIDTH: Final = 30
_LEAST: Final = 0.01  # of the window

_STEP_WORDS: Final = {
    "lower_bound": "lower bound of the work",
    "work_beyond_minimum": "work beyond the minimum",
    "inefficiency": "inefficiency",
    "waiting_inside": "waiting inside",
    "serialization": "serialization",
    "start_up": "start-up",
    "tail": "tail",
}

_FAMILY_WORDS: Final = {"dma": "memory (dma)", "tensor": "compute (tensor)"}


def bounds_text(found: xr.Dataset) -> str:
    """Return what ``roofline bounds`` prints: families by level, then the waterfall."""
    at = found.attrs
    total = at["total_s"]
    lines = []
    if "capture" in at:
        lines.append(f"{at['capture']}  {at['hardware']}, core {at['core']}, {at['roofs']} roofs")
    lines.append(
        f"window {at['window']} {format_time(at['window_s'])} of {format_time(total)}, "
        f"bottleneck {at['bottleneck']} {format_time(float(found.perfect_pipeline_s))}"
    )
    if at.get("window_note"):
        lines += wrap(str(at["window_note"]), 80)
    lines += ["", *_families(found), "", *_waterfall(found, total)]
    if "saved_ps" in found and found.sizes["cost"]:
        lines += ["", *_replayed(found)]
    lines += [
        "",
        *wrap(
            "A gap is not a saving: ideals are not reachable, and another resource may set the "
            "pace. Speed-up is the window over the larger of the bound and the slowest other "
            "resource.",
            80,
        ),
    ]
    return "\n".join(lines)


def _families(found: xr.Dataset) -> list[str]:
    levels = found.level.values.tolist()
    head = ["µs", *levels, "speed-up"]
    rows = []
    for at, family in enumerate(found.family.values.tolist()):
        values = found.bound_s.values[at]
        if not any(value > 0 for value in values):
            continue
        # the best a change to this family alone can give, at its lowest known level
        gains = [gain for gain in found.speedup.values[at].tolist() if gain == gain]
        rows.append(
            [
                _FAMILY_WORDS.get(family, family),
                *("" if value != value else f"{value * 1e6:.2f}" for value in values.tolist()),
                f"{gains[-1]:.2f}x" if gains else "",
            ]
        )
    return table(head, rows)


def _replayed(found: xr.Dataset) -> list[str]:
    """Return what taking one cost away would save; what saves less than a hundredth is left out."""
    rows = []
    for at in np.argsort(-found.saved_ps.values, kind="stable").tolist():
        if found.saved_share.values[at] < _LEAST:
            continue
        rows.append(
            [
                str(found.meaning.values[at]),
                *(
                    format_time(int(found[name].values[at]) / 1e12)
                    for name in ("path_ps", "replayed_ps", "saved_ps")
                ),
                format_percent(float(found.saved_share.values[at])),
            ]
        )
    waits, unknown = (found.attrs[f"replay_{name}"] for name in ("waits", "unexplained_waits"))
    return [
        "the window again without one cost, on the dependencies it recorded",
        *table(["without", "on the path", "window", "saved", ""], rows),
        f"of {waits} waits, {unknown} stay where they were: no record says what they waited for",
    ]


def _waterfall(found: xr.Dataset, total: float) -> list[str]:
    lines = [
        f"where the {format_time(total)} go (lower bound: {found.attrs['lower_bound_source']})"
    ]
    names = found.step.values.tolist()
    values = found.step_s.values.tolist()
    before = 0.0
    for name, value in zip(names, values, strict=True):
        if value <= 0:
            continue
        left = round(before / total * _WIDTH)
        size = max(1, round((before + value) / total * _WIDTH) - left)
        drawn = (" " * min(left, _WIDTH - 1) + "█" * size)[:_WIDTH].ljust(_WIDTH)
        share = format_percent(value / total)
        lines.append(f"{_STEP_WORDS[name]:<24}{drawn} {format_time(value):>9} {share:>8}")
        before += value
    lines.append(f"{'total':<24}{bar(1.0, _WIDTH)} {format_time(total):>9}")
    return lines
