"""``roofline engines``: what each engine did, when, and why it waited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofline.cli.once import Command
from roofline.cli.opening import capture_options, hardware_options, open_path
from roofline.cli.terminal import echo, echo_json

__all__ = ["command"]


@click.command(cls=Command, short_help="Show what each engine did, when, and why it waited.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Split also by opcode, kind, layer, source, queue, class, dma_engine, variable or a "
    "text column. Repeatable.",
)
@click.option(
    "--where",
    metavar="EXPRESSION",
    help="""Keep only rows for which this holds, like 'opcode == "MATMUL"'.""",
)
@click.option(
    "--window",
    default="body",
    show_default=True,
    metavar="WINDOW",
    help="body, total, or from..to as in 10us..50us.",
)
@click.option(
    "--bins",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cut the window into N bins of equal length.",
)
@click.option(
    "--sql", metavar="QUERY", help="Run a read-only DuckDB query over the tables instead."
)
@hardware_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@capture_options
def command(
    path: Path,
    by: tuple[str, ...],
    where: str | None,
    window: str,
    bins: int | None,
    sql: str | None,
    hardware: str | None,
    lnc: int | None,
    as_json: bool,
    as_csv: bool,
    **opening: Any,
) -> None:
    """Show active time, what it was spent on, and what idle engines waited for.

    The window is the kernel's body, from its first to its last useful instruction or byte.

    \b
    Example:
      roofline engines kernel.ntff --by opcode --window 10us..50us
    """
    capture = open_path(path, **opening)
    if sql is not None:
        from roofline.analysis.sql import query
        from roofline.report.sql import table_csv, table_record, table_text

        found = query(capture, sql)
        shown = table_csv(found) if as_csv else table_text(found)
        if as_json:
            echo_json(table_record(found))
        else:
            echo(shown)
        return
    from roofline.analysis.engine_view import engine_view
    from roofline.captures.hardware import hardware_of, named_hardware
    from roofline.report.dataset_record import dataset_csv, dataset_record
    from roofline.report.engines import busy_text, engines_text, totals_text

    # without a chip the shares stand as they are, only what needs its clocks is not known
    chip = hardware_of(capture, hardware, lnc=lnc) if hardware or named_hardware(capture) else None
    view = engine_view(capture, window=window, by=by, where=where, bins=bins, hardware=chip)
    if as_json:
        record = dataset_record(view.use)
        if view.idle is not None:
            record["idle"] = dataset_record(view.idle)
        echo_json(record)
    elif as_csv:
        echo(dataset_csv(view.use, view.dims), nl=False)
    elif view.totals:
        echo(totals_text(view.use))
    elif view.brief:
        echo(busy_text(view.use))
    else:
        echo(engines_text(view.use, view.idle, view.by))
