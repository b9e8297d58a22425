"""Output of commands besides tables."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from textwrap import fill
from typing import Final

import click

from simalloc.printable import printable

_MAX_WIDTH: Final = 100
"""Maximum width of prose in characters."""


def echo(text: object = "", *, err: bool = False) -> None:
    """Write a line to stdout or stderr, with control characters of quoted names escaped."""
    click.echo(printable(str(text)), err=err)  # noqa: TID251 - the only permitted use


def echo_paragraph(text: str) -> None:
    """Write a paragraph to stdout: wrapped on a terminal, otherwise as one line for `grep`."""
    if sys.stdout.isatty():
        width = min(get_terminal_size().columns, _MAX_WIDTH)
        text = fill(printable(text), width, break_long_words=False, break_on_hyphens=False)
    echo(text)
