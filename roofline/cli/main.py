"""The ``roofline`` command. Each file of ``roofline.cli.commands`` is one subcommand."""

from __future__ import annotations

import codecs
import os
import pkgutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import Final, NoReturn

import click

from roofline import __version__
from roofline.cli import commands
from roofline.cli.terminal import echo
from roofline.errors import RooflineError

__all__ = ["cli", "main"]

_LONGEST_LINE: Final = 1200
"""Of an error, in characters: what it quotes may have any length."""


_ESCAPED: Final = "roofline.escaped"


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Write characters that an encoding lacks as JSON does: printed JSON stays JSON."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), error.end


codecs.register_error(_ESCAPED, _escaped)


class _CommandFolder(click.Group):
    """A group whose commands are the modules of a package, imported only when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = import_module(f"{commands.__name__}.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"{cmd_name}: not a command")
        return command


@click.group(cls=_CommandFolder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roofline")
def cli() -> None:
    """Place kernels on the roofline of AWS Trainium, and say what holds them back."""


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit: 0 fine, 1 a gate failed, 2 bad input, 3 internal error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # names may hold what the encoding of the terminal does not
            stream.reconfigure(errors=_ESCAPED)
    words = sys.argv[1:] if args is None else args
    if "" in words:
        _fail(f"argument {words.index('') + 1} is empty: a shell variable that is not set?", 2)
    if os.environ.get("ROOFLINE_TRACEBACK"):
        cli(args)
    if args is None:  # a library that cannot close a damaged file says so where nobody can act
        sys.unraisablehook = lambda _: None
    try:
        with _terminated_as_by_hand():
            sys.exit(cli.main(args, standalone_mode=False) or 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.UsageError as error:
        _fail(error.format_message(), 2)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code)
    except RooflineError as error:
        _fail(str(error), 2)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError as error:
        said = " ".join(str(error).split())
        _fail(f"not enough memory for this input{f': {said}' if said else ''}", 2)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        _fail(f"{name}{error.strerror or error}", 2)
    except UnicodeEncodeError as error:  # bytes that were no text where they were read
        held = error.object[error.start : error.start + 20]
        _fail(f"{held!r}: is not UTF-8 text, and has to be here", 2)
    except ValueError as error:
        if "int_max_str_digits" in str(error):
            _fail("a number of thousands of digits: no size, count or time is so large", 2)
        _fail_inside(error)
    except Exception as error:  # the last line of defence: no traceback reaches a user
        _fail_inside(error)


def _fail_inside(error: Exception) -> NoReturn:
    _fail(
        f"internal error: {type(error).__name__}: {error} "
        "(set ROOFLINE_TRACEBACK=1 and run again for a traceback to report)",
        3,
    )


@contextmanager
def _terminated_as_by_hand() -> Iterator[None]:
    """Let SIGTERM unwind the stack, as an interrupt does: half-written files are taken away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _fail(message: str, code: int) -> NoReturn:
    line = " ".join(str(message).split())
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE // 2]} ... {line[-_LONGEST_LINE // 2 :]}"
    echo(f"roofline: {line}", err=True)
    sys.exit(code)
