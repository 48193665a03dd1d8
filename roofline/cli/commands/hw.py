"""``roofline hw``: what the hardware models say."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.once import Group
from roofline.cli.terminal import echo, echo_json

__all__ = ["command"]


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List, show and check hardware models."""
    if context.invoked_subcommand is None:
        context.invoke(list_command)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(as_json: bool = False) -> None:
    """List the known models and the names they answer to."""
    from roofline.hardware.card import show_list
    from roofline.hardware.describe import list_hardware

    if as_json:
        echo_json(list_hardware())
    else:
        echo(show_list())


@command.command("show", short_help="Show roofs, ridges, modes and fixed times.")
@click.argument("name")
@click.option(
    "--lnc",
    type=click.IntRange(min=1),
    metavar="N",
    help="Physical cores in the logical core; the chip's if not given.",
)
@click.option(
    "--working-cores",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many of them work; all if not given.",
)
@click.option("--neighbours-busy", is_flag=True, help="Other cores load the same HBM stack.")
@click.option("--values", is_flag=True, help="Print every number of the model file instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_command(
    name: str,
    lnc: int | None,
    working_cores: int | None,
    neighbours_busy: bool,
    values: bool,
    as_json: bool,
) -> None:
    """Show the roofs, ridges, modes and fixed times of NAME.

    NAME is a model, chip, core or instance name, or the path of a TOML file.
    """
    from roofline.hardware.card import show, show_values
    from roofline.hardware.describe import describe
    from roofline.hardware.load import load_hardware

    hardware = load_hardware(
        name, lnc=lnc, working_cores=working_cores, neighbours_busy=neighbours_busy
    )
    if as_json:
        echo_json(describe(hardware))
    else:
        echo(show_values(hardware) if values else show(hardware))


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check_command(file: Path, as_json: bool) -> None:
    """Check a model FILE of your own against the schema."""
    from roofline.hardware.describe import check_model

    line = check_model(file)
    if as_json:
        echo_json({"path": str(file), "ok": True})
    else:
        echo(line)
