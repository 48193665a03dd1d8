"""How commands open captures: the options they share, and the one helper behind them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from roofline.captures.capture import Capture
    from roofline.captures.opening import Opener

__all__ = ["capture_options", "hardware_options", "open_path", "opener_of"]

Command = TypeVar("Command", bound=Callable[..., Any])


def capture_options(command: Command) -> Command:
    """Add ``--vendor``, ``--via``, ``--neff`` and ``--program`` to a command that opens captures.

    The command receives ``vendor``, ``via``, ``neffs`` and ``program`` for ``opener_of``.
    """
    for option in (
        click.option(
            "--program",
            metavar="KEY",
            help="Which program of a summary that holds several: its number, or start of its key.",
        ),
        click.option(
            "--neff",
            "neffs",
            multiple=True,
            type=click.Path(path_type=Path),
            help="The program a raw trace was captured from, where its name does not tell. "
            "Repeatable: each is joined to the traces it belongs to.",
        ),
        click.option(
            "--via",
            type=click.Choice(["explorer"]),
            help="Let neuron-explorer convert a raw trace instead of decoding it here.",
        ),
        click.option(
            "--vendor", is_flag=True, help="The vendor's rows and definitions, defects included."
        ),
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


def opener_of(
    *,
    vendor: bool = False,
    via: str | None = None,
    neffs: tuple[Path, ...] = (),
    program: str | None = None,
) -> Opener:
    """Return what opens captures as the shared options ask."""
    from roofline.captures.opening import Opener

    return Opener(compat="vendor" if vendor else None, via=via, neffs=neffs, program=program)


def open_path(path: str | Path, **options: Any) -> Capture:
    """Open one capture as the shared options ask; an option that is not about it is refused."""
    opener = opener_of(**options)
    capture = opener(path)
    opener.check()
    return capture
