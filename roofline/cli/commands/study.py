"""``roofline study``: start, check and list studies, and show variants by configs."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.once import Group
from roofline.cli.opening import hardware_options
from roofline.cli.terminal import echo, echo_json
from roofline.hardware.assumed import ASSUMED

__all__ = ["command"]


@click.group(cls=Group)
def command() -> None:
    """Start, check, list and tabulate studies."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(*, as_json: bool) -> None:
    """List the studies that ship with roofline."""
    from roofline.cli.terminal import width
    from roofline.report.study_table import list_blocks
    from roofline.report.terminal import to_text
    from roofline.study.load import list_studies, load_study

    studies = [load_study(name) for name in list_studies()]
    if as_json:
        rows = [{"name": s.name, "title": s.title, "op": s.op} for s in studies]
        echo_json(rows)
    else:
        echo(to_text(list_blocks(studies), width=width()), nl=False)


@command.command("check", short_help="Check a study without running its code.")
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check_command(path: str, *, as_json: bool) -> None:
    """Check the study at PATH without running its code; the exit code is 1 for an error."""
    from dataclasses import asdict

    from roofline.report.study_table import check_text
    from roofline.study.check import check_study

    file, study, remarks = check_study(path)
    wrong = any(one.severity == "error" for one in remarks)
    if as_json:
        record = {"path": str(file), "ok": not wrong, "remarks": [asdict(one) for one in remarks]}
        echo_json(record)
    else:
        echo(check_text(file, study, remarks))
    if wrong:
        raise click.exceptions.Exit(1)


@command.command("new")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--op", required=True, help="Operator, such as rmsnorm.")
@click.option(
    "--param",
    "params",
    multiple=True,
    required=True,
    metavar="NAME=N[,N...]",
    help="A parameter and its values, such as rows=4,8. Repeatable.",
)
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    default=("bf16",),
    show_default=True,
    help="A dtype. Repeatable.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    default=("eager", "fused"),
    show_default=True,
    help="A variant. Repeatable.",
)
@click.option(
    "--hw",
    "hardware",
    multiple=True,
    default=(ASSUMED,),
    show_default=True,
    help="A chip or instance. Repeatable.",
)
def new_command(
    folder: Path,
    *,
    op: str,
    params: tuple[str, ...],
    dtypes: tuple[str, ...],
    variants: tuple[str, ...],
    hardware: tuple[str, ...],
) -> None:
    """Start a study in a new FOLDER: then fill in times and captures."""
    from roofline.study.scaffold import new_study

    written = new_study(
        folder,
        op=op,
        params=dict(_parameter(text) for text in params),
        dtypes=dtypes,
        variants=variants,
        hardware=hardware,
    )
    echo(f"written: {', '.join(map(str, written))}")
    echo(f"fill in times, then: roofline study check {folder}")


def _parameter(text: str) -> tuple[str, list[int]]:
    name, mark, values = text.partition("=")
    parts = values.split(",")
    if not (mark and name.isidentifier() and all(part.strip().isdecimal() for part in parts)):
        raise click.UsageError(f"--param {text!r}: write NAME=N or NAME=N,N")
    return name, [int(part) for part in parts]


@command.command("table")
@click.argument("path")
@click.option(
    "--value",
    type=click.Choice(["time", "speedup", "bound", "bandwidth", "verdict"]),
    default="time",
    show_default=True,
    help="What the table shows.",
)
@hardware_options
@click.option("--trust", is_flag=True, help="Run the code of a study that is not shipped.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def table_command(
    path: str,
    *,
    value: str,
    hardware: str | None,
    lnc: int | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Show the variants of the study at PATH by its configs."""
    from roofline.cli.terminal import width
    from roofline.report.data import to_json
    from roofline.report.study_table import table_blocks, table_record
    from roofline.report.terminal import to_text
    from roofline.study.evaluate import evaluate
    from roofline.study.load import load_study

    result = evaluate(load_study(path), hardware=hardware, lnc=lnc, trust=trust)
    if as_json:
        echo(to_json(table_record(result)), nl=False)
    else:
        echo(to_text(table_blocks(result, value), width=width()), nl=False)
