"""Progress of commands, on stderr: a bar on a terminal, else a line every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from simalloc.progress import Bar
from simalloc.progress import progress as any_progress

_seen = [time.monotonic()]
"""When the command began, or last showed how far it is: many short works are a long one."""


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Bar]:
    """Show how far the work in the block has come; the block gets a `Bar` to call."""
    with any_progress(label, total, shown=True, seen=_seen[0]) as bar:
        yield bar
    _seen[0] = bar.seen
