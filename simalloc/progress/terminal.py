"""A bar on a terminal, drawn by rich on stderr."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from simalloc.printable import printable
from simalloc.progress import Bar


class TerminalDisplay:
    """A line on the terminal that is removed when the work is done."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[text]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, text="")

    def show(self, bar: Bar) -> None:
        """Redraw the line."""
        self._progress.update(
            self._task,
            description=printable(bar.label),
            total=bar.total,
            completed=bar.done,
            text=printable(bar.text),
        )
        self._progress.start()

    def close(self) -> None:
        """Remove the line."""
        self._progress.stop()


new_display = TerminalDisplay
