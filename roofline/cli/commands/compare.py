"""``roofline compare``: what changed between runs, why, and whether it is more than noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofline.cli.once import Command
from roofline.cli.opening import capture_options, hardware_options, opener_of
from roofline.cli.terminal import echo, echo_written

__all__ = ["command"]


@click.command(cls=Command, short_help="Compare runs, and say what changed and why.")
@click.argument("paths", nargs=-1, required=True, metavar="BASE [NEW]...")
@click.option(
    "--fail-on", metavar="RULES", help="Exit with 1 where a rule like 'time > 5% and > 2us' holds."
)
@click.option(
    "--noise", metavar="SPREAD", help="Spread to assume of single runs, such as 3% or 500ns."
)
@click.option(
    "--map",
    "mapped",
    multiple=True,
    metavar="OLD=NEW",
    help="Pair kernel OLD of BASE with NEW. Repeatable.",
)
@click.option(
    "--repeats", is_flag=True, help="Take the captures of a folder as repeats of one kernel."
)
@click.option(
    "--window",
    type=click.Choice(["body", "total"]),
    default="body",
    show_default=True,
    help="Time that is compared first.",
)
@capture_options
@hardware_options
@click.option("--preset", default="vendor", show_default=True, help="Marks of the verdicts.")
@click.option("--trust", is_flag=True, help="Run the code of studies that are not shipped.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Write .html, .md, .json, .csv, .svg, .png or .pdf, or a folder with all. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    paths: tuple[str, ...],
    *,
    fail_on: str | None,
    noise: str | None,
    mapped: tuple[str, ...],
    repeats: bool,
    window: str,
    hardware: str | None,
    lnc: int | None,
    preset: str,
    trust: bool,
    outputs: tuple[Path, ...],
    as_json: bool,
    **opening: Any,
) -> None:
    """Compare runs with BASE: studies, captures, folders, tables, sweeps, baselines.

    PATH::NAME takes one kernel or variant of a path. A study alone compares its variants with
    the first one.

    \b
    Example:
      roofline compare before.ntff after.ntff --fail-on 'time > 5%'
    """
    from roofline.cli.terminal import width
    from roofline.report.compare_run import compare, write_compared
    from roofline.study.options import Options
    from roofline.wholefile import refuse_inputs

    refuse_inputs(outputs, paths)
    compared = compare(
        paths,
        options=Options(
            hardware=hardware,
            lnc=lnc,
            window=window,
            opener=opener_of(**opening),
            preset=preset,
            repeats=repeats,
            trust=trust,
        ),
        keys=dict(_split(pair) for pair in mapped),
        noise=noise,
        fail_on=fail_on,
    )
    written = [path for output in outputs for path in write_compared(compared, output)]
    echo(compared.to_json() if as_json else compared.to_text(width()), nl=False)
    if written and not as_json:
        echo_written(written)
    if not compared.passes:
        raise click.exceptions.Exit(1)


def _split(pair: str) -> tuple[str, str]:
    old, mark, new = pair.partition("=")
    if not (mark and old and new):
        raise click.UsageError(f"--map {pair!r}: write OLD=NEW")
    return old, new
