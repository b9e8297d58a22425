"""Lines on stderr if it is not a terminal: for a log file, or another program."""

from __future__ import annotations

import sys

from simalloc.progress import Bar, words


class LineDisplay:
    """One line each time that a bar is shown; nothing is taken away."""

    def show(self, bar: Bar) -> None:
        """Write how far the bar has come."""
        sys.stderr.write(f"simalloc: {words(bar)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the written lines."""


new_display = LineDisplay
