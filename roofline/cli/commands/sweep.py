"""``roofline sweep``: modelled times over sizes, dtypes, variants and chips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofline.cli.once import Command
from roofline.cli.terminal import echo, echo_json, progress, width
from roofline.hardware.assumed import ASSUMED

__all__ = ["command"]


@click.command(
    cls=Command,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    options_metavar="[--DIMENSION SIZES]... [OPTIONS]",
    short_help="Sweep an operator over sizes, dtypes and chips.",
)
@click.argument("op")
@click.option(
    "--hw",
    "hardware",
    default=ASSUMED,
    show_default=True,
    metavar="NAMES",
    help="Chips or instances, separated by commas.",
)
@click.option(
    "--dtype",
    default="bf16",
    show_default=True,
    metavar="NAMES",
    help="Dtypes, separated by commas.",
)
@click.option(
    "--variant",
    default="fused",
    show_default=True,
    metavar="NAMES",
    help="Of eager, fused, compiled and nki.",
)
@click.option(
    "--lnc", type=click.IntRange(min=1), metavar="N", help="Physical cores in the logical core."
)
@click.option(
    "--clock", default="device_execution", show_default=True, help="What a time measures."
)
@click.option(
    "--shape",
    default="",
    metavar="OPERANDS",
    help="Operands, such as 'x[rows,cols] w[cols]', where OP has no closed form.",
)
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument of a torch function. Repeatable.",
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="EXPRESSION",
    help="Keep only points like 'rows * cols <= 2**24'.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="PATH=HOW",
    help="Change a hardware number, such as PATH=*1.5. Repeatable.",
)
@click.option("--terms", is_flag=True, help="Add the time of every term.")
@click.option(
    "--crossing",
    default="",
    metavar="DIM",
    help="Solve where the bound changes along this dimension.",
)
@click.option(
    "--sensitivity", "sensitive", is_flag=True, help="Add what 10 % more of each roof gains."
)
@click.option("--pareto", "pareto_front", is_flag=True, help="Mark points that no other beats.")
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw the sweep to .svg, .png or .pdf."
)
@click.option(
    "--kind", default="", metavar="KIND", help="Figure: heat, bounds, trajectory or curves."
)
@click.option(
    "--measured",
    type=click.Path(path_type=Path),
    help="Draw the measured times of this CSV on top.",
)
@click.option(
    "--chunk",
    "chunks",
    multiple=True,
    metavar="DIM=N",
    help="Block size along a dimension in a .zarr store. Repeatable.",
)
@click.option("--scheduler", help="Address of a dask cluster.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "-o",
    "--output",
    "out",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write the points to .nc, .csv or .zarr, or to a folder with their report.",
)
@click.pass_context
def command(context: click.Context, /, op: str, as_json: bool, **given: Any) -> None:
    """Sweep OP over sizes: a closed form, a registered operator, or MODULE:FUNCTION of torch.

    Every other option is a dimension with its sizes: --rows 1:65536:x2 --cols 512:10240:+512.

    \b
    Example:
      roofline sweep rmsnorm --rows 1:65536:x2 --cols 512 --hw trn1,trn2
    """
    from roofline.report.sweep_run import run_sweep
    from roofline.work.specs import parse_argument

    named = {key: _pairs(given.pop(key), key) for key in ("arguments", "changes", "chunks")}
    for key in ("hardware", "dtype", "variant"):
        given[key] = tuple(part.strip() for part in given[key].split(","))
    with progress("blocks") as show:
        result = run_sweep(
            op,
            dims=_dims(context.args),
            arguments={key: parse_argument(value) for key, value in named["arguments"].items()},
            changes=named["changes"],
            chunks={key: _whole(key, value) for key, value in named["chunks"].items()} or None,
            progress=show,
            width=width(),
            **given,
        )
    if as_json:
        echo_json(result.data)
    else:
        echo(result.text)


def _dims(args: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    words = [part for arg in args for part in _split(arg)]
    for name, value in zip(words[::2], words[1::2], strict=False):
        if not name.startswith("--") or value.startswith("--"):
            raise click.UsageError(f"not a dimension with its sizes: {name} {value}")
        key = name[2:].replace("-", "_")
        if key in found:
            raise click.UsageError(f"{name} is given twice")
        found[key] = value
    if len(words) % 2:
        raise click.UsageError(f"{words[-1]} has no sizes; write {words[-1]} 1:1024:x2")
    return found


def _split(arg: str) -> list[str]:
    return arg.split("=", 1) if arg.startswith("--") and "=" in arg else [arg]


def _pairs(given: tuple[str, ...], what: str) -> dict[str, str]:
    found = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator or not name or not value:
            raise click.UsageError(f"{what}: write NAME=VALUE, not {text!r}")
        found[name.strip()] = value.strip()
    return found


def _whole(name: str, value: str) -> int:
    if not value.isdecimal() or not 1 <= float(value) < 2**63:
        raise click.UsageError(f"--chunk {name}={value[:40]}: a block has at least one point")
    return int(value)
