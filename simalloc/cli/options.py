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
