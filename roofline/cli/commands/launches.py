"""``roofline launches``: what each operator of a framework trace cost."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.once import Command
from roofline.cli.terminal import echo, echo_json

__all__ = ["command"]


@click.command(cls=Command, short_help="Show launches and device time of a trace.json.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--warmup", type=int, help="Leading steps to leave out; by rule if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(path: Path, warmup: int | None, *, as_json: bool) -> None:
    """Show launches, dispatch windows and device time of a trace.json.

    \b
    Example:
      roofline launches trace.json.gz
    """
    from roofline.analysis.launches import launches
    from roofline.analysis.trace_findings import trace_findings
    from roofline.captures.registry import open_capture
    from roofline.report.launches import launches_record, launches_text

    capture = open_capture(path)
    result = launches(capture, warmup=warmup)
    findings = trace_findings(capture, result)
    if as_json:
        echo_json(launches_record(result, findings))
    else:
        echo(launches_text(result, findings))
