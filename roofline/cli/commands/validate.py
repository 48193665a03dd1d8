"""``roofline validate``: measured times against the lower bound and the estimate."""

from __future__ import annotations

import json
from pathlib import Path

import click

from roofline.cli.terminal import echo

__all__ = ["command"]


@click.command()
@click.argument("csv", type=click.Path(path_type=Path))
@click.option("--hw", "hardware", default="trn2", show_default=True, help="Where a row names none.")
@click.option("--lnc", type=int, help="Physical cores in the logical core, where a row says none.")
@click.option("--by", default="op,dtype,implementation", show_default=True, help="Group errors by.")
@click.option("--check", is_flag=True, help="Show the rows the constants were not fitted on.")
@click.option("--worst", default=10, show_default=True, help="How many of the worst rows to show.")
@click.option("--leave-one-out", is_flag=True, help="Refit without each operator, and predict it.")
@click.option("--calibrate", "refit", is_flag=True, help="Write a model file fitted to CSV to -o.")
@click.option(
    "--carry", type=click.Path(path_type=Path), multiple=True,
    help="With --calibrate: carry the constants over to this model file, as inferred.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "-o", "out", type=click.Path(path_type=Path),
    help="Write .md (the accuracy page), .csv, .json, a figure, or with --calibrate a .toml file.",
)  # fmt: skip
def command(
    csv: Path,
    hardware: str,
    lnc: int | None,
    by: str,
    check: bool,
    worst: int,
    leave_one_out: bool,
    refit: bool,
    carry: tuple[Path, ...],
    as_json: bool,
    out: Path | None,
) -> None:
    """Hold the measured times of CSV against the lower bound and the estimate.

    CSV has the columns op, shape, dtype and a time (time_us, latency_us, ... or time with its
    unit), and where known implementation, hardware, lnc, clock, calls and notes.
    """
    from roofline.report.accuracy_run import run_calibration, run_validation

    if refit:
        echo(run_calibration(csv, hardware=hardware, lnc=lnc, out=out, carry=carry))
        return
    result = run_validation(
        csv,
        hardware=hardware,
        lnc=lnc,
        by=tuple(by.split(",")),
        check=check,
        worst=worst,
        left_out=leave_one_out,
        out=out,
    )
    echo(json.dumps(result.data, indent=2) if as_json else result.text)
