"""A bar below the cell of a notebook, without widgets, so that any front end shows it."""

from __future__ import annotations

from html import escape
from typing import Any

from IPython.display import display

from simalloc.progress import Bar, words


class NotebookDisplay:
    """An output of the cell that is emptied when the work is done."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, bar: Bar) -> None:
        """Show or update the bar."""
        self._put({"text/html": _html(bar), "text/plain": words(bar)})

    def close(self) -> None:
        """Empty the output."""
        self._put({"text/html": "", "text/plain": ""})

    def _put(self, content: dict[str, str]) -> None:
        if self._handle is None:
            show: Any = display
            self._handle = show(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _html(bar: Bar) -> str:
    state = "" if bar.total is None else f' value="{bar.done}" max="{bar.total}"'
    return f"<div><progress{state}></progress> {escape(words(bar))}</div>"


new_display = NotebookDisplay
