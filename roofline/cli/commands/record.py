"""``roofline record``: run the variants of a study under the profiler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roofline.cli.once import Command
from roofline.cli.terminal import echo, echo_json

if TYPE_CHECKING:
    from roofline.record.manifest import Run

__all__ = ["command"]


@click.command(cls=Command, short_help="Record a study on a Trainium host.")
@click.argument("study")
@click.option(
    "-o", "--output", "output", type=click.Path(path_type=Path), help="Folder to record into."
)
@click.option(
    "--explorer", is_flag=True, help="Trace the programs of a recorded folder by neuron-explorer."
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME",
    help="Record only this variant. Repeatable.",
)
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="KEY",
    help="Record only this shape and dtype, such as '4x512 bf16'. Repeatable.",
)
@click.option("--core", type=int, default=0, show_default=True, help="Logical NeuronCore.")
@click.option("--active", type=int, default=5, show_default=True, help="Profiled steps to keep.")
@click.option("--wait", type=int, default=1, show_default=True, help="Steps that are ignored.")
@click.option("--warmup", type=int, default=1, show_default=True, help="Steps thrown away.")
@click.option("--repeats", type=int, default=20, show_default=True, help="Unprofiled timed calls.")
@click.option(
    "--no-dge", is_flag=True, help="Leave out notifications of dynamic DMA, which disturb timing."
)
@click.option("--require-device", is_flag=True, help="Fail where there is no Neuron device.")
@click.option("--trust", is_flag=True, help="Run the code of a study that is not shipped.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    study: str,
    output: Path | None,
    variants: tuple[str, ...],
    configs: tuple[str, ...],
    core: int,
    active: int,
    wait: int,
    warmup: int,
    repeats: int,
    *,
    explorer: bool,
    no_dge: bool,
    require_device: bool,
    trust: bool,
    as_json: bool,
) -> None:
    """Record STUDY: a study folder, or the name of a study that ships with roofline.

    On a Trainium host with TorchNeuron the device is traced; elsewhere the host side is recorded,
    and what is missing is said. With --explorer STUDY is a recorded folder, and each of its
    programs is traced by itself.

    \b
    Example:
      roofline record rmsnorm-4x512-bf16 -o recorded
    """
    from roofline.record.explorer import capture_programs
    from roofline.record.manifest import FAILURES, Skipped
    from roofline.record.run import record
    from roofline.record.schedule import Schedule
    from roofline.report.recording import recording_record, recording_text

    if explorer:
        output = Path(study)
        runs: Iterator[Run | Skipped] = capture_programs(output, dge=not no_dge)
    elif output is None:
        raise click.UsageError("Missing option '-o': the folder to record into.")
    else:
        runs = record(
            study,
            output,
            variants=variants,
            configs=configs,
            schedule=Schedule(repeats=repeats, wait=wait, warmup=warmup, active=active),
            core=core,
            dge=not no_dge,
            require_device=require_device,
            trust=trust,
        )
    failed = False
    for one in runs:
        if isinstance(one, Skipped):
            echo(f"skipped {one.variant}: {one.why}", err=True)
            continue
        echo(f"{'traced' if explorer else 'recorded'} {one.folder}", err=True)
        for problem in one.problems:
            echo(f"  {problem.id}: {problem.what}", err=True)
        failed |= any(problem.id in FAILURES for problem in one.problems)
    if as_json:
        echo_json(recording_record(output))
    else:
        echo(recording_text(output))
        echo(f"next: roofline report {output}")
    if failed:
        raise click.exceptions.Exit(1)
