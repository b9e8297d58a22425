"""A bar below the cell of a notebook, without widgets, so that any front end shows it."""

from __future__ import annotations

import datetime as dt
from html import escape
from typing import TYPE_CHECKING, Any

from IPython.display import display

if TYPE_CHECKING:
    from simalloc.progress import Bar


class NotebookDisplay:
    """One output of the cell that is emptied when the work is done."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, bar: Bar) -> None:
        """Show the bar, or what has become of it."""
        self._put({"text/html": _html(bar), "text/plain": _words(bar)})

    def close(self) -> None:
        """Leave nothing to be seen."""
        self._put({"text/html": "", "text/plain": ""})

    def _put(self, content: dict[str, str]) -> None:
        if self._handle is None:
            show: Any = display
            self._handle = show(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _html(bar: Bar) -> str:
    state = "" if bar.total is None else f' value="{bar.done}" max="{bar.total}"'
    return f"<div><progress{state}></progress> {escape(_words(bar))}</div>"


def _words(bar: Bar) -> str:
    parts = [bar.label, bar.text]
    if bar.total:
        parts.insert(1, f"{100 * bar.done / bar.total:.0f} %")
    if bar.total and bar.done:
        left = round(bar.seconds * max(0.0, bar.total / bar.done - 1))
        parts.append(f"{dt.timedelta(seconds=left)} left")
    return ", ".join(filter(None, parts))


new_display = NotebookDisplay
