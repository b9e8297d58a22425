"""Options of the commands that simulate, in a separate module because they need numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from simalloc.cli.size import Size
from simalloc.heap.quantity import QUANTITIES
from simalloc.heap.run_options import OnRefusal, Realloc
from simalloc.heap.start import Start
from simalloc.trace import EventSource
from simalloc.trace.catalogue import open_source

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
    help="Free the old block of a realloc before or after allocating the new one, or resize it in "
    "place where possible. Default: in-place with mechanism=on, else free-first.",
)
on_refusal_option: Final = click.option(
    "--on-refusal",
    type=click.Choice([each.value for each in OnRefusal]),
    default=None,
    help="Continue a run without the object when a request is refused, or stop the run. Default: "
    "stop for device allocators, else go-on.",
)


def _start(_context: click.Context, _option: click.Parameter, path: Path | None) -> Start | None:
    """Return the heap in a file that `simalloc snapshot -o` wrote."""
    if path is None:
        return None
    from simalloc.process.saved import load_snapshot  # noqa: PLC0415 - on Linux only

    return Start.of(load_snapshot(path))


start_option: Final = click.option(
    "--start",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="HEAP.npz",
    callback=_start,
    help="Begin runs of ptmalloc with the heap of a process, saved by `simalloc snapshot -o`. Its "
    "live blocks come first in the trace; other policies place them.",
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
    help="Bytes of its objects that the program writes and thereby makes resident.",
)


def of_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option --of, which selects a quantity; `text` is its help."""
    return click.option(
        "--of", type=click.Choice(QUANTITIES), default="mapped", show_default=True, help=text
    )


def open_started(name: str, start: Start | None) -> EventSource:
    """Open a trace, with the live blocks of a process's heap in front if there is a start."""
    source = open_source(name)
    return source if start is None else start.before(source)
