"""``roofline report``: where a kernel sits on the roofline, and what holds it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofline.cli.once import Command
from roofline.cli.opening import capture_options, hardware_options, opener_of
from roofline.cli.terminal import echo, echo_report, width

__all__ = ["command"]


@click.command(cls=Command, short_help="Place kernels on the roofline, with findings.")
@click.argument("paths", nargs=-1)
@click.option(
    "-o",
    "--output",
    "output",
    type=click.Path(path_type=Path),
    help="Write the report to this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@hardware_options
@click.option(
    "--window",
    type=click.Choice(["body", "total"]),
    default="body",
    show_default=True,
    help="What is judged: the kernel's body, or all of it with start-up.",
)
@click.option("--preset", default="vendor", show_default=True, help="Marks of the verdict.")
@click.option("--trust", is_flag=True, help="Run the code of a study that is not shipped.")
@capture_options
@click.option(
    "--work",
    "target",
    metavar="NAME",
    help="Join this work with the capture or the time: a closed form (rmsnorm:fused, with its "
    "sizes) or a torch function MODULE:FUNCTION, whose code is run.",
)
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument of --work: a size (rows=512) and dtype=bf16 of a closed form, an operand "
    "(x=4x512:bf16) or a value (eps=1e-6) of a function. Repeatable.",
)
@click.option("--mode", default="fused", show_default=True, help="How --work is counted.")
@click.option("--time", "time", metavar="TIME", help="An unprofiled time to place, such as 33us.")
@click.option("--clock", help="What --time measures, such as device_execution.")
def command(
    paths: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    vendor: bool,
    via: str | None,
    neffs: tuple[Path, ...],
    program: str | None,
    **settings: Any,
) -> None:
    """Report on each PATH: a study, a capture, a folder of captures, a trace.json or a sweep.

    A study is a folder or the name of a shipped one; a sweep is a .nc or .zarr result.

    Without -o a compact report is printed; with it report.md, report.json, points.csv, the
    figures and index.html are written.

    \b
    Example:
      roofline report rmsnorm-4x512-bf16
      roofline report kernel.ntff -o report
    """
    from roofline.report.run import Settings, report

    opener = opener_of(vendor=vendor, via=via, neffs=neffs, program=program)
    wanted = Settings(opener=opener, **settings)
    for text in report(paths, wanted, output=output, as_json=as_json, width=width()):
        (echo if as_json else echo_report)(text, nl=False)
