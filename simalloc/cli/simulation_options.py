"""Options of the commands that simulate; apart from the others, for they need numpy."""

from __future__ import annotations

from typing import Final

import click

from simalloc.heap import Realloc

scale_option: Final = click.option(
    "--scale", type=int, default=16, show_default=True, help="Multiply every size by this."
)
realloc_option: Final = click.option(
    "--realloc",
    type=click.Choice([rule.value for rule in Realloc]),
    default=None,
    help="What a realloc does. Default: in-place for policies with mechanism=on, else free-first.",
)
