"""The option `-p NAME...`, for one or several policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from simalloc.cli import completing
from simalloc.policy import is_policy_name, split_names

_SPELLINGS: Final = ("-p", "--policy")


def policy_option(what: str, *, required: bool = False) -> Callable[[Any], Any]:
    """Return the option -p of a `PolicyCommand`; `what` is its help text."""
    return click.option(
        *_SPELLINGS,
        "policies",
        multiple=True,
        required=required,
        metavar="NAME[:PARAMETER=VALUE,...],...",
        shell_complete=completing.policies,
        callback=lambda _context, _option, given: [
            name for text in given for name in split_names(text)
        ],
        help=what,
    )


def one_policy_option(
    what: str, *, required: bool = False, default: str | None = None
) -> Callable[[Any], Any]:
    """Return the option -p of a command with one policy; `what` is its help text."""
    return click.option(
        *_SPELLINGS,
        multiple=True,
        required=required,
        metavar="NAME[:PARAMETER=VALUE,...]",
        shell_complete=completing.policies,
        callback=lambda context, _option, texts: _only(context, texts) or default,
        help=f"{what}  [default: {default}]" if default else what,
    )


def _only(context: click.Context, texts: Sequence[str]) -> str | None:
    """Return the one policy in the texts, or None without texts."""
    names = [name for text in texts for name in split_names(text)]
    if len(names) > 1:
        raise click.UsageError(
            f"{context.info_name} takes one policy, but {' and '.join(names)} are given.", context
        )
    return names[0] if names else None


class PolicyCommand(click.Command):
    """A command whose option -p accepts names up to the first argument that is not a policy."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments as if -p preceded the name of each policy."""
        return super().parse_args(ctx, list(_spelled_out(args)))


def _spelled_out(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the arguments with -p before each further policy name; file names stay unchanged."""
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
            are_names = all(map(is_policy_name, split_names(argument)))
            names_follow &= are_names and not Path(argument).exists()
            yield from (["-p", argument] if names_follow else [argument])
