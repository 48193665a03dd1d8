"""From which size on an operator is no longer limited by fixed time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roofline.analysis.placement import place
from roofline.errors import HardwareModelError
from roofline.hardware.load import list_models, load_hardware
from roofline.hardware.model import Hardware
from roofline.study.rows import Row
from roofline.study.study import Config, Study
from roofline.work.closed_form import closed_form, families

__all__ = ["Fit", "Onset", "fit_times", "fixed_time_onset"]

_LARGE_ROWS = 1 << 20  # large enough that weights and other constant terms do not matter


@dataclass(frozen=True, slots=True, kw_only=True)
class Onset:
    """Where half of a time is fixed on one hardware.

    ``fixed_s`` is the range (low, high) of the fixed time, ``pace_s`` the range of the time per
    element (low: lower bound; high: the usual engine alone at 1x), ``elements`` the range of the
    number of elements at which both are equal.
    """

    hardware: str
    lnc: int
    what: str
    fixed_s: tuple[float, float]
    pace_s: tuple[float, float]
    source: str
    quality: str

    @property
    def elements(self) -> tuple[float, float]:
        """Smallest fixed time at the slow pace, to largest fixed time at the fast pace."""
        return self.fixed_s[0] / self.pace_s[1], self.fixed_s[1] / self.pace_s[0]

    def rows(self, cols: int) -> tuple[float, float]:
        """The same as rows of ``cols`` columns."""
        low, high = self.elements
        return low / cols, high / cols


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Least-squares line through times over elements: s, s per element, and R squared."""

    label: str
    fixed_s: float
    pace_s: float
    r2: float
    n: int


def fixed_time_onset(
    study: Study, rows: Sequence[Row], measured: Sequence[Row] = ()
) -> tuple[Onset, ...]:
    """Return the onset on every known hardware, and against the host window where one was timed.

    ``measured`` are rows whose pace, a straight line through times of the same dtype, widens the
    range on their hardware. Empty for operators without a closed form in rows and columns.
    """
    config = study.configs[0]
    if study.op not in families() or set(config.shape) != {"rows", "cols"}:
        return ()
    slow = _measured_pace(config, measured)
    found = []
    for path in list_models():
        try:
            hardware = load_hardware(path.stem)
            floor = hardware.value("overheads.launch.device_execution.floor_s")
        except HardwareModelError:
            continue
        low = floor.value if floor.low is None else floor.low
        high = floor.value if floor.high is None else floor.high
        found.append(
            Onset(
                hardware=hardware.name,
                lnc=hardware.lnc,
                what="device start",
                fixed_s=(low, high),
                pace_s=_pace(study, config, hardware, slow),
                source=floor.source,
                quality=floor.quality,
            )
        )
    single = [row for row in rows if row.evidence.on_host and row.work.launches == 1]
    windows = [row.evidence.fixed_s for row in single if row.evidence.fixed_s is not None]
    if windows:
        hardware = single[0].placement.hardware
        found.append(
            Onset(
                hardware=hardware.name,
                lnc=hardware.lnc,
                what="host window",
                fixed_s=(min(low for low, _ in windows), max(high for _, high in windows)),
                pace_s=_pace(study, config, hardware, slow),
                source=single[0].evidence.fixed_source,
                quality="derived",
            )
        )
    return tuple(found)


def _measured_pace(config: Config, rows: Sequence[Row]) -> dict[tuple[str, int], float]:
    """Return the slowest measured s per element by hardware and LNC, of the config's dtype."""
    same = [row for row in rows if row.measurement.config.dtype == config.dtype]
    paces = [fit.pace_s for fit in fit_times(same)]
    if not paces:
        return {}
    hardware = same[0].placement.hardware
    return {(hardware.name, hardware.lnc): max(paces)}


def _pace(
    study: Study, config: Config, hardware: Hardware, measured: dict[tuple[str, int], float]
) -> tuple[float, float]:
    """Return s per element for a large size: the lower bound, and the usual engine at 1x.

    A slower measured pace on this hardware replaces the latter.
    """
    cols = config.shape["cols"]
    work = closed_form(study.op, dtype=config.dtype, variant="fused", rows=_LARGE_ROWS, cols=cols)
    placement = place(work, hardware)
    elements = _LARGE_ROWS * cols
    fast = (placement.bound_s or 0.0) / elements
    slow = 0.0
    if placement.headline is not None:
        slow = work.element_passes / placement.headline.compute.value / elements
    return fast, max(slow, fast, measured.get((hardware.name, hardware.lnc), 0.0))


def fit_times(rows: Sequence[Row]) -> tuple[Fit, ...]:
    """Return a line through time over elements for each variant and dtype with three sizes or more.

    Elements are the product of the parameters of a config. A line that falls, or whose fixed time
    is negative, is none that a kernel can have: such times do not follow one, and it is left out.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        label = f"{row.measurement.key}, {row.measurement.config.dtype}"
        groups.setdefault(label, []).append(row)
    found = []
    for label, members in groups.items():
        elements = np.array(
            [float(np.prod(list(row.measurement.config.shape.values()))) for row in members]
        )
        if len(np.unique(elements)) < 3:
            continue
        times = np.array([row.time_s for row in members])
        pace, fixed = np.polyfit(elements, times, 1)
        if pace <= 0 or fixed < 0:
            continue
        residual = times - (fixed + pace * elements)
        spread = times - times.mean()
        found.append(
            Fit(
                label=label,
                fixed_s=float(fixed),
                pace_s=float(pace),
                r2=float(1 - (residual @ residual) / (spread @ spread)),
                n=len(members),
            )
        )
    return tuple(found)
