"""Progress of commands, on stderr: a bar on a terminal, else a line every ten seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from simalloc.progress import Bar
from simalloc.progress import progress as any_progress

_SEEN: Final = f"{__name__}.seen"
"""When the command last showed how far it is, or began: many short works are a long one."""


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Bar]:
    """Show how far the work in the block has come; the block gets a `Bar` to call."""
    context = click.get_current_context(silent=True)  # None: not from a command line
    meta = context.meta if context else {}
    with any_progress(label, total, shown=True, seen=meta.get(_SEEN)) as bar:
        yield bar
    meta[_SEEN] = bar.seen
