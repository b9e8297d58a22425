"""Progress of commands, on stderr: a bar on a terminal, else a line every ten seconds."""

from __future__ import annotations

from contextlib import AbstractContextManager

from simalloc.progress import Bar
from simalloc.progress import progress as any_progress


def progress(label: str, total: float | None) -> AbstractContextManager[Bar]:
    """Show how far the work in the block has come; the block gets a `Bar` to call."""
    return any_progress(label, total, shown=True)
