"""``roofline validate``: measured times against the lower bound and the estimate."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.once import Command
from roofline.cli.terminal import echo, echo_json, width
from roofline.hardware.assumed import ASSUMED

__all__ = ["command"]


@click.command(cls=Command, short_help="Hold measured times against bounds and estimates.")
@click.argument("csv", type=click.Path(path_type=Path))
@click.option(
    "--hw",
    "hardware",
    default=ASSUMED,
    show_default=True,
    metavar="NAME",
    help="Chip or instance where a row names none.",
)
@click.option(
    "--lnc",
    type=click.IntRange(min=1),
    metavar="N",
    help="Physical cores in the logical core where a row says none.",
)
@click.option(
    "--by",
    default="op,dtype,implementation",
    show_default=True,
    metavar="COLUMNS",
    help="Group errors by these columns.",
)
@click.option("--check", is_flag=True, help="Show the rows the constants were not fitted on.")
@click.option(
    "--worst", default=10, show_default=True, metavar="N", help="Show so many of the worst rows."
)
@click.option("--leave-one-out", is_flag=True, help="Refit without each operator, and predict it.")
@click.option("--calibrate", "refit", is_flag=True, help="Write a model file fitted to CSV to -o.")
@click.option(
    "--carry", type=click.Path(path_type=Path), multiple=True,
    help="With --calibrate: carry the constants over to this model file, as inferred.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "-o", "--output", "outputs", multiple=True, type=click.Path(path_type=Path),
    help="Write .md (the accuracy page), .csv, .json, a figure, or with --calibrate a .toml file. "
    "Repeatable.",
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
    outputs: tuple[Path, ...],
) -> None:
    """Hold the measured times of CSV against the lower bound and the estimate.

    CSV has the columns op, shape, dtype and a time (time_us, latency_us, ... or time with its
    unit), and where known implementation, hardware, lnc, clock, calls and notes.

    \b
    Example:
      roofline validate times.csv --by op
    """
    from roofline.report.accuracy_run import run_calibration, run_validation
    from roofline.wholefile import refuse_inputs

    refuse_inputs(outputs, [csv])
    if refit:
        echo(run_calibration(csv, hardware=hardware, lnc=lnc, outputs=outputs, carry=carry))
        return
    result = run_validation(
        csv,
        hardware=hardware,
        lnc=lnc,
        by=tuple(by.split(",")),
        check=check,
        worst=worst,
        left_out=leave_one_out,
        outputs=outputs,
        width=width(),
    )
    if as_json:
        echo_json(result.data)
    else:
        echo(result.text)
