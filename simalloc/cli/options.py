"""Options that several commands share."""

from __future__ import annotations

from typing import Final

import click

from simalloc.report import FORMATS

format_option: Final = click.option(
    "--format",
    "table_format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How the table is printed.",
)


def condition(text: str) -> tuple[str, str]:
    """Read NAME=VALUE, a condition on a column of results or a parameter of policies."""
    name, equals, wanted = text.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE")
    return name.strip(), wanted.strip()
