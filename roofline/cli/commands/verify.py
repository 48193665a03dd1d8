"""``roofline verify``: does the decoder agree with the vendor's tool on the same run?"""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.once import Command
from roofline.cli.terminal import echo, echo_json

__all__ = ["command"]


@click.command(cls=Command, short_help="Compare a decoded trace with the vendor's output.")
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("vendor", type=click.Path(path_type=Path), required=False)
@click.option("--each", is_flag=True, help="Print every pair, not only the totals.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(path: Path, vendor: Path | None, *, each: bool, as_json: bool) -> None:
    """Compare a trace with the vendor's output of the same run.

    PATH is an NTFF trace or a folder of them. VENDOR is the vendor's JSON or summary; without it,
    files of the same name beside each trace are taken. The exit code is 1 if anything differs
    without a reason.

    \b
    Example:
      roofline verify kernel.ntff summary.json
    """
    from roofline.captures.agreement import find_pairs, verify_pair
    from roofline.report.agreement import agreement_record, agreement_text

    pairs = [(path, vendor)] if vendor is not None else find_pairs(path)
    agreements = [verify_pair(ours, theirs) for ours, theirs in pairs]
    if as_json:
        echo_json(agreement_record(agreements))
    else:
        echo(agreement_text(agreements, each=each))
    if not all(agreement.agrees for agreement in agreements):
        raise click.exceptions.Exit(1)
