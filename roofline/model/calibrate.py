"""Fit the few constants of the time model to measured times, and write them down.

Robust least squares on the logarithm of estimate over measurement: a row counts the same whether
it took 20 us or 20 ms, and single outliers do not pull. Sizes of each operator, dtype and
implementation alternate between the fit and the check, and errors are reported on the check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.errors import HardwareModelError, QueryError
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.model.cases import Case, hardware_of
from roofline.model.demand import Demand, figures, with_figures
from roofline.model.parameters import NUMBERS, PARAMETERS, Parameter
from roofline.model.rates import STREAMING, rates_for, width_of
from roofline.model.terms import times
from roofline.quantity import Quantity
from roofline.textfile import read_text
from roofline.units import format_percent
from roofline.wholefile import replace_file

__all__ = ["Calibration", "calibrate", "section", "split", "with_calibration", "write_section"]

_SOFT: Final = 0.05  # relative errors beyond this count linearly, not squared
_QUANTILES: Final = (0.05, 0.95)
_MARK: Final = f"# {'-' * 76} calibrated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Fitted constants by path below ``calibrated``, the errors they leave, and their data."""

    hardware: str
    values: Mapping[str, float]
    fitted: tuple[str, ...]
    fit_rows: int
    check_rows: int
    median_error: float
    p90_error: float
    data: str

    @property
    def complete(self) -> dict[str, float]:
        """The constants with those that follow from them: all a model needs."""
        return _complete(self.values)


def split(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Return the cases to fit and the cases to check: every other size of each kind, in order."""
    fit: list[Case] = []
    check: list[Case] = []
    seen: dict[tuple[str, str, str], int] = {}
    for case in cases:
        kind = (case.op, case.dtype, case.label)
        at = seen.get(kind, 0)
        seen[kind] = at + 1
        (fit if at % 2 == 0 else check).append(case)
    return fit, check


def with_calibration(hardware: Hardware, values: Mapping[str, float]) -> Hardware:
    """Return the hardware with calibrated constants taken from ``values``."""
    kept = {path: q for path, q in hardware.values.items() if not path.startswith("calibrated.")}
    fitted = {
        f"calibrated.{path}": Quantity(
            value=float(value), unit="1", source="fit", quality="calibrated"
        )
        for path, value in values.items()
    }
    return replace(hardware, values={**kept, **fitted})


def calibrate(
    cases: Sequence[Case], *, data: str, parameters: Sequence[Parameter] = PARAMETERS
) -> Calibration:
    """Return the constants that fit the first half of ``cases`` best, checked on the other half.

    All cases must be of one hardware and have a work. Constants the cases say nothing about (an
    operator that is not among them) are left out, not guessed. Raises ``QueryError`` when there
    is too little to fit.
    """
    from scipy.optimize import least_squares

    usable = [case for case in cases if case.demand is not None]
    views = {(case.hardware, case.lnc, case.working_cores) for case in usable}
    if len(views) != 1:
        found_views = ", ".join(sorted(map(str, views))) or "no row that is understood"
        raise QueryError(f"calibrate one hardware at a time, not {found_views}")
    fit, check = split(usable)
    used = _used(parameters, fit)
    if len(fit) < 2 * len(used):
        raise QueryError(f"{len(fit)} rows to fit are too few for {len(used)} constants")
    hardware = hardware_of(usable[0])
    groups = _grouped(fit)
    start = np.array([p.start for p in used])

    def residuals(scaled: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        values = {p.path: v for p, v in zip(used, scaled * start, strict=True)}
        return _log_errors(with_calibration(hardware, _complete(values)), groups)

    found = least_squares(
        residuals,
        np.ones(len(used)),
        bounds=([p.low / p.start for p in used], [p.high / p.start for p in used]),
        loss="soft_l1",
        f_scale=_SOFT,
        xtol=1e-10,
        ftol=1e-12,
        gtol=1e-10,
    )
    values = {p.path: _rounded(v) for p, v in zip(used, found.x * start, strict=True)}
    model = with_calibration(hardware, _complete(values))
    errors = np.abs(np.expm1(_log_errors(model, _grouped(check))))
    values.update(_residual_values(model, check))
    return Calibration(
        hardware=hardware.name,
        values=values,
        fitted=tuple(p.path for p in used),
        fit_rows=len(fit),
        check_rows=len(check),
        median_error=float(np.median(errors)),
        p90_error=float(np.quantile(errors, 0.9)),
        data=data,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _complete(values: Mapping[str, float]) -> dict[str, float]:
    """Add the intervals that a fit has not come to yet: they must be there, and be neutral."""
    found = dict(values)
    for who in ("eager", "nki"):
        found.setdefault(f"interval.{who}.low_ratio", 1.0)
        found.setdefault(f"interval.{who}.high_ratio", 1.0)
        found.setdefault(f"interval.{who}.smallest_bytes", 1.0)
        found.setdefault(f"interval.{who}.largest_bytes", 1.0)
    return found


def _used(parameters: Sequence[Parameter], cases: Sequence[Case]) -> list[Parameter]:
    """Return the parameters at least one case depends on."""
    seen: set[str] = {"device.floor_s", "device.stage_s", "hbm.efficiency_ratio"}
    for case in cases:
        if case.demand is None:
            continue
        width = width_of(case.dtype)
        seen.add(f"pass.bits{width}.vector_cycles")
        for region in case.demand.regions:
            for part in region.parts:
                shared = ("elementwise",) if part.family in STREAMING else ()
                for name in (part.name, part.family, *shared):
                    for where in (case.implementation, f"{case.implementation}_bits{width}"):
                        for number in NUMBERS:
                            seen.add(f"schedule.{name}.{where}.{number}")
                for dtype in part.tensor_flops:
                    bits = 32 if dtype == "fp32" else 16
                    seen.add(f"matmul.{case.implementation}.bits{bits}.efficiency_ratio")
    return [parameter for parameter in parameters if parameter.path in seen]


def _grouped(
    cases: Iterable[Case],
) -> list[tuple[str, str, Demand, npt.NDArray[np.float64]]]:
    """Return cases of one structure as one demand of arrays.

    Each is (dtype, implementation, demand, measured seconds).
    """
    groups: dict[Any, list[Case]] = {}
    for case in cases:
        if case.demand is not None:
            key = (case.op, case.dtype, case.implementation, tuple(figures(case.demand)))
            groups.setdefault(key, []).append(case)
    found = []
    for members in groups.values():
        first = members[0]
        rows = [figures(case.demand) for case in members if case.demand is not None]
        arrays = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}
        if first.demand is not None:
            demand = with_figures(first.demand, arrays)
            measured = np.array([case.time_s for case in members])
            found.append((first.dtype, first.implementation, demand, measured))
    return found


def _log_errors(
    hardware: Hardware, groups: Sequence[tuple[str, str, Demand, npt.NDArray[np.float64]]]
) -> npt.NDArray[np.float64]:
    rates = {key: rates_for(hardware, *key) for key in {(g[0], g[1]) for g in groups}}
    return np.concatenate(
        [
            np.log(times(demand, rates[dtype, who]).estimate / measured)
            for dtype, who, demand, measured in groups
        ]
    )


def _residual_values(hardware: Hardware, cases: Sequence[Case]) -> dict[str, float]:
    found: dict[str, float] = {}
    for who in ("eager", "nki"):
        members = [case for case in cases if case.implementation == who]
        if not members:
            members = list(cases)
        ratios = np.exp(-_log_errors(hardware, _grouped(members)))
        sizes = [float(case.demand.minimal_bytes) for case in members if case.demand is not None]
        low, high = np.quantile(ratios, _QUANTILES)
        found[f"interval.{who}.low_ratio"] = _rounded(min(float(low), 1.0))
        found[f"interval.{who}.high_ratio"] = _rounded(max(float(high), 1.0))
        found[f"interval.{who}.smallest_bytes"] = min(sizes)
        found[f"interval.{who}.largest_bytes"] = max(sizes)
    return found


def section(calibration: Calibration, *, inferred_for: str = "") -> str:
    """Return the calibrated tables of a model file as TOML.

    ``inferred_for`` names another chip the constants are carried over to: efficiencies and passes
    are ratios and cycles, so they can be, but nothing was measured there and the kind says so.
    """
    words = {parameter.path: parameter.what for parameter in PARAMETERS}
    values = calibration.complete
    kind = "inferred" if inferred_for else "calibrated"
    source = (
        f"carried over from {calibration.hardware}: nothing was measured here"
        if inferred_for
        else f"least squares on {calibration.data}"
    )
    valid = f"{calibration.hardware}; one operator a launch"
    residual = (
        f"on the {calibration.check_rows} rows not fitted: median error "
        f"{format_percent(calibration.median_error)}, p90 {format_percent(calibration.p90_error)}"
    )
    about = [
        f'data = "{calibration.data}, alternate sizes of each operator, dtype, implementation"',
        f'residual = "{residual}"',
        f'valid = "{valid}"',
    ]
    lines = [_MARK, "# Written by `make calibrate`: edit the data or the model, not these numbers."]
    tables: dict[str, list[str]] = {}
    for path in values:
        tables.setdefault(path.rpartition(".")[0], []).append(path)
    for table, paths in tables.items():
        lines += ["", f"[calibrated.{table}]"]
        for path in paths:
            lines.append(f"{path.rpartition('.')[2]} = {_number(path, values[path])}")
        lines += [f'kind = "{kind}"', f'source = "{source}"', *about]
        note = next((words[path] for path in paths if path in words), "")
        if table.startswith("interval."):
            note = "measured / estimate of the rows not fitted (5 % to 95 %), and their sizes"
        if note:
            lines.append(f'note = "{note}"')
    return "\n".join(lines) + "\n"


def _number(path: str, value: float) -> str:
    if path == "device.floor_s":
        # published intercepts of streaming operators and of RMSNorm
        low, high = min(9e-6, value), max(21.8e-6, value)
        return f"{{ value = {value:.4g}, low = {low:.4g}, high = {high:.4g} }}"
    return f"{value:.10g}"


def write_section(path: str | Path, text: str, *, out: str | Path | None = None) -> Path:
    """Write a model file with its calibrated tables replaced by ``text``; return where.

    ``out`` leaves the original as it is. The file is written aside and renamed, and must load.
    """
    source, target = Path(path), Path(out or path)
    old = read_text(source, HardwareModelError)
    head = old.split(_MARK, 1)[0].rstrip("\n")
    if "\n[calibrated" in head:
        raise HardwareModelError(f"{source}: calibrated tables outside the written section")
    with replace_file(target) as aside:
        aside.write_text(f"{head}\n\n{text}", encoding="utf-8")
        load_hardware(aside)
    return target
