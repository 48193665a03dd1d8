"""``roofline bounds``: how fast this execution could have been, resource by resource."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofline.cli.once import Command
from roofline.cli.opening import capture_options, hardware_options, open_path
from roofline.cli.terminal import echo, echo_json

__all__ = ["command"]


@click.command(cls=Command, short_help="Show how fast the same run could have been.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--window",
    default="body",
    show_default=True,
    metavar="WINDOW",
    help="body, total, or from..to as in 10us..50us.",
)
@click.option(
    "--core", type=int, metavar="N", help="Physical core; the one with the most work if not given."
)
@hardware_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@capture_options
def command(
    path: Path,
    window: str,
    core: int | None,
    hardware: str | None,
    lnc: int | None,
    as_json: bool,
    **opening: Any,
) -> None:
    """Show bounds of memory, compute and every engine, and what lies above them.

    With --vendor the roofs are those the vendor's own bounds divide by.

    \b
    Example:
      roofline bounds kernel.ntff
    """
    from roofline.analysis.bounds_counters import capture_bounds
    from roofline.captures.hardware import hardware_of
    from roofline.report.bounds import bounds_text
    from roofline.report.dataset_record import dataset_record

    capture = open_path(path, **opening)
    found = capture_bounds(
        capture,
        hardware_of(capture, hardware, lnc=lnc, working_cores=1),
        window,
        roofs="vendor" if opening.get("vendor") else "theoretical",
        core=core,
    )
    if as_json:
        echo_json(dataset_record(found))
    else:
        echo(bounds_text(found))
