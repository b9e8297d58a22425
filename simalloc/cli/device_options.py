"""Options of the commands that examine a device's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import click

from simalloc.cli.progress import progress
from simalloc.errors import SimallocError
from simalloc.measure import WhatIf
from simalloc.measure.device import CANDIDATES, SETTINGS, search, what_if
from simalloc.sizes import parse_size
from simalloc.trace import Trace

_MIN_CAPACITY: Final = 2 << 20
"""Smallest capacity, in bytes: the size of one segment."""


def _capacities(_: click.Context, __: click.Parameter, given: Sequence[str]) -> tuple[int, ...]:
    try:
        sizes = tuple(
            parse_size(text.strip().upper().removesuffix("B").removesuffix("I")) for text in given
        )
    except SimallocError:
        raise click.BadParameter(
            f"{', '.join(given)!r} is not a size; write a whole number, or one with K, M, G or T"
        ) from None
    for text, size in zip(given, sizes, strict=True):
        if size < _MIN_CAPACITY:
            raise click.BadParameter(f"{text} is {size:,} bytes; {text}G is {text} GiB")
    if not all(size < 1 << 50 for size in sizes):
        raise click.BadParameter("a capacity must be less than 1024T")
    return sizes


_OPTIONS: Final = (
    click.option(
        "--capacity",
        "capacities",
        multiple=True,
        callback=_capacities,
        metavar="SIZE",
        help="Print which settings fit a device of this size, for example 24G. Repeatable.",
    ),
    click.option(
        "--settings",
        multiple=True,
        metavar="TEXT",
        help="Try these settings too, written as in PYTORCH_ALLOC_CONF. Repeatable.",
    ),
    click.option(
        "--search",
        "searches",
        is_flag=True,
        help="Search for settings that need the smallest device. Ctrl-C prints the best so far.",
    ),
    click.option(
        "--device",
        type=int,
        metavar="N",
        help="Device number, for a snapshot with several devices.",
    ),
)


def device_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options `capacities`, `settings`, `searches` and `device` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def explored(
    trace: Trace, settings: Sequence[str], capacities: tuple[int, ...], *, searches: bool
) -> WhatIf:
    """Return the memory that a trace needs under the common settings and the given ones.

    Ctrl-C ends the work. The result then contains all measurements so far and is marked
    interrupted.
    """
    texts = [*SETTINGS, *settings]
    with progress(f"{trace.name}: settings", len(texts) + 1) as advance:
        found = what_if(trace, texts, capacities, progress=advance)
    if not searches or found.interrupted:
        return found
    with progress(f"{trace.name}: search", len(CANDIDATES)) as advance:
        return search(trace, found, progress=advance)
