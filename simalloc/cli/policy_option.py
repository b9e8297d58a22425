"""`-p NAME...`: one policy or several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from simalloc.policy import is_policy_name

_SPELLINGS: Final = ("-p", "--policy")


def policy_option(what: str, *, required: bool = False) -> Callable[[Any], Any]:
    """Return the option -p of a `PolicyCommand`; `what` is its help text."""
    return click.option(
        *_SPELLINGS,
        "policies",
        multiple=True,
        required=required,
        metavar="NAME[:PARAMETER=VALUE,...]...",
        help=what,
    )


class PolicyCommand(click.Command):
    """A command whose option -p takes names up to the first argument that is no policy's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments as if each policy's name stood behind a -p of its own."""
        return super().parse_args(ctx, list(_spelled_out(args)))


def _spelled_out(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the arguments with a -p before each name that follows another; a file stays a file."""
    rest = iter(arguments)
    names_follow = False
    for argument in rest:
        if argument == "--":
            yield argument
            yield from rest
        elif argument in _SPELLINGS:
            names_follow = True
            yield argument
            yield from islice(rest, 1)
        elif argument.startswith("-"):
            names_follow = argument.startswith(("-p", "--policy="))
            yield argument
        else:
            names_follow &= is_policy_name(argument) and not Path(argument).exists()
            yield from (["-p", argument] if names_follow else [argument])
