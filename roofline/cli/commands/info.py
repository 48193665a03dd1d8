"""``roofline info``: what a file is, and how far it can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofline.cli.once import Command
from roofline.cli.opening import capture_options, open_path, opener_of
from roofline.cli.terminal import echo, echo_json, progress

__all__ = ["command"]


@click.command(cls=Command, short_help="Show what a file or folder holds, and its quality.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--full", is_flag=True, help="Decode everything: rows, and all of the quality.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@capture_options
def command(
    path: Path,
    *,
    full: bool,
    as_json: bool,
    **opening: Any,
) -> None:
    """Show what PATH is: format, versions, instance, cores, span, counts and data quality.

    Of a raw trace only the header is read, however large the file is. Of a folder, every capture in
    it is listed under the program it ran.

    \b
    Example:
      roofline info kernel.ntff
    """
    from roofline.captures.folder import is_folder, scan_folder
    from roofline.captures.info import describe
    from roofline.report.folder import folder_record, folder_text
    from roofline.report.info import info_record, info_text

    if is_folder(path):
        opener = opener_of(**opening)
        with progress("files looked at") as show:
            folder = scan_folder(path, opener=opener, progress=show)
        opener.check()
        if as_json:
            echo_json(folder_record(folder))
        else:
            echo(folder_text(folder))
        return
    capture = open_path(path, **opening)
    info = describe(capture, full=full)
    if as_json:
        echo_json(info_record(info))
    else:
        echo(info_text(info))
