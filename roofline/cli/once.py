"""Commands that refuse an option of one value given twice: all but the last would be ignored."""

from __future__ import annotations

from collections import Counter

import click

__all__ = ["Command", "Group"]


class Command(click.Command):
    """A command whose options of one value are given once; flags may be repeated."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse ``args``. Raises ``UsageError`` for a value that would be thrown away."""
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(list(args))
            for parameter, times in Counter(order).items():
                if times > 1 and isinstance(parameter, click.Option) and _holds_one(parameter):
                    name = "/".join(parameter.opts)
                    raise click.UsageError(f"{name} is given {times} times, and takes one value")
        return super().parse_args(ctx, args)


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


def _holds_one(option: click.Option) -> bool:
    return not (option.multiple or option.is_flag or option.count)
