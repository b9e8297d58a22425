"""Options of the commands that simulate; apart from the others, for they need numpy."""

from __future__ import annotations

from typing import Final

import click

from simalloc.cli.size import Size
from simalloc.heap.run_options import OnRefusal, Realloc

scale_option: Final = click.option(
    "--scale",
    type=int,
    default=None,
    help="Multiply every size by this. Default: what the policy is meant for, 16 or 1.",
)
realloc_option: Final = click.option(
    "--realloc",
    type=click.Choice([rule.value for rule in Realloc]),
    default=None,
    help="What a realloc does. Default: in-place for policies with mechanism=on, else free-first.",
)
on_refusal_option: Final = click.option(
    "--on-refusal",
    type=click.Choice([each.value for each in OnRefusal]),
    default=None,
    help="Whether the program goes on without an object that was refused for want of memory, or "
    "the run ends there. Default: stop for device allocators, else go-on.",
)

page_option: Final = click.option(
    "--page",
    type=Size(),
    default="4K",
    show_default=True,
    help="The bytes of a page, such as 64K or 2M, of which each is resident or not.",
)
write_option: Final = click.option(
    "--write",
    "writes",
    type=click.Choice(["all", "none"]),
    default="all",
    show_default=True,
    callback=lambda _context, _option, value: value == "all",
    help="Which bytes of its objects the program writes, for what is resident.",
)
