"""``roofline baseline``: keep what a run gave, and hold later runs against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofline.cli.once import Group
from roofline.cli.opening import hardware_options
from roofline.cli.terminal import echo, echo_written
from roofline.units import format_counted

__all__ = ["command"]


@click.group(cls=Group)
def command() -> None:
    """Save a baseline, and check later runs against it."""


def _observing(function: Any) -> Any:
    for option in (
        hardware_options,
        click.option(
            "--window",
            type=click.Choice(["body", "total"]),
            default="body",
            show_default=True,
            help="Time that is compared first.",
        ),
        click.option(
            "--repeats",
            is_flag=True,
            help="Take all paths as repeats of one kernel: noise is measured.",
        ),
    ):
        function = option(function)
    return function


@command.command()
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "output",
    type=click.Path(path_type=Path),
    required=True,
    help="The baseline file, .json.",
)
@_observing
def save(
    paths: tuple[str, ...],
    *,
    output: Path,
    repeats: bool,
    window: str,
    hardware: str | None,
    lnc: int | None,
) -> None:
    """Save what PATHS hold. Several times of one kernel and shape are repeats."""
    from roofline.report.compare_run import save_baseline
    from roofline.study.options import Options
    from roofline.wholefile import refuse_inputs

    if output.suffix != ".json":
        raise click.UsageError(f"-o {output}: a baseline is a .json file")
    refuse_inputs([output], paths)
    run = save_baseline(
        paths,
        output,
        options=Options(hardware=hardware, lnc=lnc, window=window, repeats=repeats),
    )
    most = max(len(t.samples) or 1 for one in run.observed for t in one.timings[:1] or ())
    echo(
        f"{output}: {format_counted(len(run.observed), 'kernel')}, "
        f"{'one run' if most == 1 else f'up to {most} runs'} of each"
    )


@command.command(short_help="Hold runs against a baseline; exit with 1 if worse.")
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--fail-on",
    metavar="RULES",
    help="Exit with 1 where this holds; 'time > 5% and > 2us' if not given.",
)
@click.option(
    "--noise", metavar="SPREAD", help="Spread to assume of single runs, such as 3% or 500ns."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Write .html, .md, .json, .csv, .svg, .png or .pdf, or a folder with all. Repeatable.",
)
@_observing
def check(
    baseline: Path,
    paths: tuple[str, ...],
    *,
    fail_on: str | None,
    noise: str | None,
    as_json: bool,
    outputs: tuple[Path, ...],
    repeats: bool,
    window: str,
    hardware: str | None,
    lnc: int | None,
) -> None:
    """Hold PATHS against BASELINE; the exit code is 1 when something got worse."""
    from roofline.analysis.gate import DEFAULT_RULES
    from roofline.cli.terminal import width
    from roofline.report.compare_run import check_baseline, write_compared
    from roofline.study.options import Options

    compared = check_baseline(
        baseline,
        paths,
        options=Options(hardware=hardware, lnc=lnc, window=window, repeats=repeats),
        noise=noise,
        fail_on=fail_on or DEFAULT_RULES,
    )
    written = [path for output in outputs for path in write_compared(compared, output)]
    echo(compared.to_json() if as_json else compared.to_text(width()), nl=False)
    if written and not as_json:
        echo_written(written)
    if not compared.passes:
        raise click.exceptions.Exit(1)
