"""Progress on stderr, for work that takes more than two seconds at a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE: Final = 2.0
"""Seconds before anything is shown."""


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """Show how far the work in the block has come; `total` of None: it is not known.

    The block is given a function to call with what was done since the last call, from any thread.
    Nothing is shown if stderr is not a terminal, or in the first two seconds.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    task = bar.add_task(label, total=total)
    started = time.monotonic()

    def advance(done: float) -> None:
        bar.advance(task, done)
        if not bar.live.is_started and time.monotonic() - started > PATIENCE:
            bar.start()

    try:
        yield advance
    finally:
        bar.stop()
