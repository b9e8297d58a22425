"""Messages of commands besides their tables."""

from __future__ import annotations

import click

from simalloc.printable import printable


def echo(text: object = "", *, err: bool = False) -> None:
    """Write a line to stdout or stderr, without the control characters of names that it quotes."""
    click.echo(printable(str(text)), err=err)  # noqa: TID251 - the one place that may
