"""Lines on stderr, for where it is no terminal: a log file, or another program."""

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
        """Leave what is written."""


new_display = LineDisplay
