"""Run a validation or a calibration from a CSV file, and write what was asked for."""

from __future__ import annotations

import csv as csv_module
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from roofline.errors import QueryError
from roofline.hardware.load import load_hardware
from roofline.model.calibrate import calibrate, section, write_section
from roofline.model.cases import read_cases
from roofline.model.validate import Validation, leave_one_out, validate
from roofline.report.accuracy import accuracy_data, accuracy_markdown, accuracy_text
from roofline.units import format_percent
from roofline.wholefile import replace_file

__all__ = ["Result", "run_calibration", "run_validation"]


_COLUMNS: Final = (
    *("row", "op", "shape", "dtype", "implementation", "hardware", "clock", "measured_s"),
    *("lower_bound_s", "schedule_bound_s", "estimate_s", "low_s", "high_s", "error", "bound"),
    *("status", "note"),
)

_SUFFIXES: Final = (".md", ".json", ".csv", ".svg", ".png", ".pdf")


@dataclass(frozen=True, slots=True)
class Result:
    """What a validation found, as data and as text for a terminal."""

    data: dict[str, Any]
    text: str


def run_validation(
    csv: Path,
    *,
    hardware: str,
    lnc: int | None = None,
    by: Sequence[str] = ("op", "dtype", "implementation"),
    check: bool = False,
    worst: int = 10,
    left_out: bool = False,
    outputs: Sequence[Path] = (),
    width: int = 80,
) -> Result:
    """Validate the rows of ``csv``, write ``outputs``, and return data and text.

    Raises ``QueryError`` for a suffix that is none of them, before anything is written.
    """
    for out in outputs:
        if out.suffix.lower() not in _SUFFIXES:
            raise QueryError(f"{out}: write {_listed(_SUFFIXES)}")
    cases = read_cases(csv, hardware=hardware, lnc=lnc)
    validation = validate(cases)
    rows = leave_one_out(cases, data=str(csv)) if left_out else []
    data = accuracy_data(validation, by=by, source=str(csv), left_out=rows, worst=worst)
    text = accuracy_text(data, by=by, check=check, width=width)
    for out in outputs:
        _write_one(out, validation, data, by=by, source=csv.name)
    written = f"\nwrote {', '.join(map(str, outputs))}" if outputs else ""
    return Result(data, text + written)


def _write_one(
    out: Path, validation: Validation, data: dict[str, Any], *, by: Sequence[str], source: str
) -> None:
    suffix = out.suffix.lower()
    if suffix == ".md":
        _write(out, accuracy_markdown(data, by=by))
    elif suffix == ".json":
        _write(out, json.dumps(data, indent=2) + "\n")
    elif suffix == ".csv":
        _write_rows(out, validation)
    else:
        from roofline.plots.validation import Held, save_validation

        save_validation(
            [
                Held(row.case.op, row.case.time_s, row.estimate.time_s, row.lower.seconds)
                for row in validation.rows
                if row.estimate is not None and row.lower is not None
            ],
            out,
            title=f"{len(validation.rows)} measured times of {source}",
        )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def run_calibration(
    csv: Path,
    *,
    hardware: str,
    lnc: int | None = None,
    outputs: Sequence[Path] = (),
    carry: Sequence[Path] = (),
) -> str:
    """Refit the constants to ``csv``, write the model file, and return what was found."""
    if len(outputs) != 1 or outputs[0].suffix != ".toml":
        raise QueryError("--calibrate writes one model file: give it with -o FILE.toml")
    (out,) = outputs
    found = calibrate(read_cases(csv, hardware=hardware, lnc=lnc), data=str(csv))
    base = out if out.exists() else Path(load_hardware(hardware).path)
    write_section(base, section(found), out=out)
    for other in carry:
        write_section(other, section(found, inferred_for=other.stem))
    lines = [f"{path} = {found.values[path]:.4g}" for path in found.fitted]
    summary = (
        f"{len(found.fitted)} constants fitted on {found.fit_rows} rows; on the "
        f"{found.check_rows} others the median error is {format_percent(found.median_error)}, "
        f"p90 {format_percent(found.p90_error)}"
    )
    written = f"wrote {', '.join(map(str, (out, *carry)))}"
    return "\n".join([*lines, summary, written])


def _write(path: Path, text: str) -> None:
    with replace_file(path) as aside:
        aside.write_text(text, "utf-8", "backslashreplace")


def _write_rows(path: Path, validation: Validation) -> None:
    with (
        replace_file(path) as aside,
        aside.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        writer = csv_module.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row in validation.rows:
            case, found, lower = row.case, row.estimate, row.lower
            writer.writerow(
                [
                    *(case.row, case.op, case.shape, case.dtype, case.label, case.hardware),
                    *(case.clock, case.time_s, lower.seconds if lower else ""),
                    *(
                        (found.schedule_bound_s, found.time_s, found.low_s, found.high_s)
                        if found
                        else ("", "", "", "")
                    ),
                    "" if row.error is None else row.error,
                    found.bound if found else "",
                    found.status if found else "",
                    row.problem or row.reason or (found and "; ".join(found.notes)) or "",
                ]
            )
