"""``roofline convert``: write a capture in other tools' formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofline.cli.once import Command
from roofline.cli.opening import capture_options, open_path
from roofline.cli.terminal import echo, echo_json

__all__ = ["command"]


@click.command(cls=Command, short_help="Write a capture as Parquet tables or as a timeline.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder for Parquet, file (.json or .json.gz) for Perfetto.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["parquet", "perfetto"]),
    default="parquet",
    show_default=True,
    help="Parquet tables as the Explorer names them, or a timeline for ui.perfetto.dev.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@capture_options
def command(
    path: Path,
    output: Path,
    kind: str,
    *,
    as_json: bool,
    **opening: Any,
) -> None:
    """Write the capture PATH as Parquet tables or as a timeline.

    The tables carry the vendor's names, engine spelling and core numbers, so scripts for Explorer
    profiles read them; beside them the columns that only we derive, unless --vendor is given.

    \b
    Example:
      roofline convert kernel.ntff -o tables
      roofline convert kernel.ntff --format perfetto -o kernel.json.gz
    """
    from roofline.captures.export.targets import write_capture
    from roofline.wholefile import refuse_inputs

    refuse_inputs([output], [path])
    capture = open_path(path, **opening)
    written = write_capture(capture, output, kind)
    if as_json:
        echo_json({"output": str(output), "format": kind, "rows": written})
    else:
        counts = ", ".join(f"{name} {count:,}" for name, count in written.items())
        echo(f"{output}: {counts}")
