"""Progress of commands, on stderr: a bar on a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from simalloc.progress import Bar
from simalloc.progress import progress as any_progress

_SEEN: Final = f"{__name__}.seen"
"""Time at which the command last showed progress, or began.

The delay before the first bar is counted from this time, so that many short pieces of work count as
a long one.
"""


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Bar]:
    """Show the progress of the work in the block, which calls the yielded `Bar`."""
    context = click.get_current_context(silent=True)  # None outside a command line
    meta = context.meta if context else {}
    with any_progress(label, total, shown=True, seen=meta.get(_SEEN)) as bar:
        yield bar
    meta[_SEEN] = bar.seen
