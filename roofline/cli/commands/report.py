"""``roofline report``: where a kernel sits on the roofline, and what holds it back."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "-o", "output", type=click.Path(path_type=Path), help="Write the report to this folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--hw", "hardware", help="Hardware to place on (default: what PATH says).")
@click.option("--lnc", type=int, help="Physical cores in the logical core.")
@click.option(
    "--window",
    type=click.Choice(["body", "total"]),
    default="body",
    show_default=True,
    help="What is judged: the kernel's body, or all of it with start-up.",
)
@click.option("--preset", default="vendor", show_default=True, help="Marks of the verdict.")
@click.option("--trust", is_flag=True, help="Run the code of a study that is not shipped.")
def command(
    paths: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    hardware: str | None,
    lnc: int | None,
    window: str,
    preset: str,
    trust: bool,
) -> None:
    """Report on each PATH: a study folder, or the name of a study that ships with roofline.

    Without -o a compact report is printed; with it report.md, report.json, points.csv, the
    figures and index.html are written.
    """
    from roofline.report.run import report

    for text in report(
        paths,
        output=output,
        as_json=as_json,
        hardware=hardware,
        lnc=lnc,
        window=window,
        preset=preset,
        trust=trust,
        width=_width(),
    ):
        click.echo(text, nl=False)


def _width() -> int:
    """Columns of the terminal; 80 where there is none, 120 at most for prose."""
    import shutil

    return max(40, min(120, shutil.get_terminal_size((80, 24)).columns))
