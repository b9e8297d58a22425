"""Options of the commands that simulate, in a separate module because they need numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import click

from simalloc.cli.size import Size
from simalloc.heap.quantity import QUANTITIES
from simalloc.heap.run_options import OnRefusal, Realloc

scale_option: Final = click.option(
    "--scale",
    type=int,
    default=None,
    help="Multiply all sizes by this number. Default: the policy's own scale, 16 or 1.",
)
realloc_option: Final = click.option(
    "--realloc",
    type=click.Choice([rule.value for rule in Realloc]),
    default=None,
    help="Free the old block of a realloc before or after allocating the new block, or resize the "
    "block in place where possible. Default: in-place with mechanism=on, else free-first.",
)
on_refusal_option: Final = click.option(
    "--on-refusal",
    type=click.Choice([each.value for each in OnRefusal]),
    default=None,
    help="When a request is refused, continue the run without the object, or stop it. Default: "
    "stop for device allocators, else go-on.",
)

page_option: Final = click.option(
    "--page",
    type=Size(),
    default="4K",
    show_default=True,
    help="Page size for counting resident memory, for example 64K or 2M.",
)
write_option: Final = click.option(
    "--write",
    "writes",
    type=click.Choice(["all", "none"]),
    default="all",
    show_default=True,
    callback=lambda _context, _option, value: value == "all",
    help="Bytes that the program is assumed to write to its objects. Written pages are resident.",
)


def of_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option --of, which selects a quantity; `text` is its help."""
    return click.option(
        "--of", type=click.Choice(QUANTITIES), default="mapped", show_default=True, help=text
    )
