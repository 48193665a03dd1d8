"""Help texts: whole sentences on 80 columns, and options that mean the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from roofline.cli.main import cli


def commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


EVERY = dict(commands(cli))


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_fits_and_every_option_is_explained(path: tuple[str, ...]) -> None:
    text = CliRunner().invoke(cli, [*path, "--help"], terminal_width=80).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.split("Commands:")[-1] or "Commands:" not in text
    for option in EVERY[path].params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert option.help.endswith("."), option.name
    first = (EVERY[path].short_help or EVERY[path].help or "").split("\n", 1)[0]
    assert first.endswith(".")


def test_the_list_of_commands_is_not_cut() -> None:
    text = CliRunner().invoke(cli, ["--help"], terminal_width=80).stdout
    assert "..." not in text.split("Commands:")[1]


def test_one_name_means_one_thing() -> None:
    for path, command in EVERY.items():
        names = {name for option in command.params for name in option.opts}
        if "-o" in names:
            assert "--output" in names, path
        if "--hardware" in names:
            assert {"--hw", "--lnc"} <= names, path


def test_no_option_of_one_value_is_given_twice() -> None:
    """Of every command: the first value would be thrown away without a word."""
    tried = 0
    for path, command in EVERY.items():
        if isinstance(command, click.Group):
            continue
        for option in command.params:
            if not isinstance(option, click.Option) or option.multiple or option.is_flag:
                continue
            name = max(option.opts, key=len)
            found = CliRunner().invoke(cli, [*path, name, "1", name, "2"])
            assert found.exit_code == 2, (path, name)
            assert "is given 2 times, and takes one value" in found.output, (path, name)
            tried += 1
    assert tried > 30
