"""Progress of work that takes more than two seconds: on a terminal, in a notebook, or in lines."""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Final, Protocol

from simalloc.printable import printable

PATIENCE: Final = 2.0
"""Seconds before a bar is shown."""
_PAUSE: Final = 0.2
"""Minimum seconds between two updates of a bar."""
_LINES: Final = 10.0
"""Seconds between two lines, if stderr is neither a terminal nor a notebook."""


class Display(Protocol):
    """The output of a bar."""

    def show(self, bar: Bar) -> None:
        """Show the progress of a bar."""

    def close(self) -> None:
        """Remove the bar."""


class Bar:
    """Progress of some work. Call it, from any thread, with the work done since the last call.

    `label` is printed before the bar and `text` after it; both may be changed at any time. `total`
    is None if the amount of work is unknown. `seen` is the time of the last visible progress; the
    work may have begun later.
    """

    def __init__(
        self, label: str, total: float | None, *, shown: bool, seen: float | None = None
    ) -> None:
        self.label = label
        self.text = ""
        self.total = total
        self.done = 0.0
        self.started = time.monotonic()
        self._shown = shown
        in_lines = place() == "lines"
        self._pause = _LINES if in_lines else _PAUSE
        self.seen = self.started if seen is None else seen
        self._next = self.seen + (_LINES if in_lines else PATIENCE)
        self._lock = Lock()
        self._display: Display | None = None

    def __call__(self, done: float = 0.0) -> None:
        """Add an amount of work, and update the display if an update is due."""
        with self._lock:
            self.done += done
            if not self._shown or time.monotonic() < self._next:
                return
            if self._display is None:
                self._display = _display()
            self._display.show(self)
            self.seen = time.monotonic()
            self._next = self.seen + self._pause

    @property
    def seconds(self) -> float:
        """Seconds since the bar was created, or since `started` was set."""
        return time.monotonic() - self.started

    def close(self) -> None:
        """Remove the bar and end all output."""
        with self._lock:
            self._shown = False
            if self._display is not None:
                self._display.close()


@contextmanager
def progress(
    label: str, total: float | None, *, shown: bool | None = None, seen: float | None = None
) -> Iterator[Bar]:
    """Show the progress of the work in the block, on stderr or in the cell of a notebook.

    If `shown` is None, progress is shown in notebooks only. Nothing is shown within the first two
    seconds, or within two seconds after `seen`.
    """
    bar = Bar(label, total, shown=in_notebook() if shown is None else shown, seen=seen)
    try:
        yield bar
    finally:
        bar.close()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _display() -> Display:
    """Return the display of bars. Its module is imported at the first bar."""
    display: Display = import_module(f"{__name__}.{place()}").new_display()
    return display


def place() -> str:
    """Return the name of the module that draws bars for this process."""
    if in_notebook():
        return "notebook"
    return "terminal" if sys.stderr is not None and sys.stderr.isatty() else "lines"


def words(bar: Bar) -> str:
    """Return the progress of a bar in words, with an estimate of the remaining time."""
    parts = [bar.label, bar.text]
    if bar.total:
        parts.insert(1, f"{100 * bar.done / bar.total:.0f} %")
    if bar.total and bar.done:
        left = round(bar.seconds * max(0.0, bar.total / bar.done - 1))
        parts.append(f"{dt.timedelta(seconds=left)} left")
    return printable(", ".join(filter(None, parts)))
