"""Progress as lines on stderr, if stderr is not a terminal: for a log file or another program."""

from __future__ import annotations

import sys

from simalloc.progress import Bar, words


class LineDisplay:
    """A display that writes one line for each update and removes no line."""

    def show(self, bar: Bar) -> None:
        """Write the progress of the bar."""
        sys.stderr.write(f"simalloc: {words(bar)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the written lines."""


new_display = LineDisplay
