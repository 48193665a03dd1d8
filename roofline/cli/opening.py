"""How commands open captures: the options they share, and the one helper behind them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from roofline.captures.capture import Capture

__all__ = ["capture_options", "hardware_options", "open_path", "vendor_option"]

Command = TypeVar("Command", bound=Callable[..., Any])


def capture_options(command: Command) -> Command:
    """Add ``--vendor``, ``--via``, ``--neff`` and ``--program`` to a command that opens captures.

    The command receives ``vendor``, ``via``, ``neff`` and ``program`` for ``open_path``.
    """
    for option in (
        click.option(
            "--program",
            metavar="KEY",
            help="Which program of a summary that holds several: its number, or start of its key.",
        ),
        click.option(
            "--neff",
            type=click.Path(path_type=Path),
            help="The program a raw trace was captured from, where its name does not tell.",
        ),
        click.option(
            "--via",
            type=click.Choice(["explorer"]),
            help="Let neuron-explorer convert a raw trace instead of decoding it here.",
        ),
        vendor_option,
    ):
        command = option(command)
    return command


def hardware_options(command: Command) -> Command:
    """Add ``--hw`` and ``--lnc``; the command receives ``hardware`` and ``lnc``."""
    for option in (
        click.option(
            "--lnc",
            type=click.IntRange(min=1),
            metavar="N",
            help="Physical cores in the logical core; what PATH says if not given.",
        ),
        click.option(
            "--hw",
            "--hardware",
            "hardware",
            metavar="NAME",
            help="Chip, instance or model file; what PATH says if not given.",
        ),
    ):
        command = option(command)
    return command


vendor_option = click.option(
    "--vendor", is_flag=True, help="The vendor's rows and definitions, defects included."
)


def open_path(
    path: str | Path,
    *,
    vendor: bool = False,
    via: str | None = None,
    neff: Path | None = None,
    program: str | None = None,
) -> Capture:
    """Open a capture as the shared options ask."""
    from roofline.captures.registry import open_capture

    compat = "vendor" if vendor else None
    if via == "explorer":
        from roofline.captures.explorer import open_via_explorer

        capture = open_via_explorer(Path(path), neff, compat=compat)
    else:
        capture = open_capture(path, compat)
        if neff is not None:
            from roofline.captures.neff.attach import attach_neff

            capture = attach_neff(capture, neff)
    if program is not None:
        from roofline.captures.summary import select_program

        capture = select_program(capture, program)
    return capture
