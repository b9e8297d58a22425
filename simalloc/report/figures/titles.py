"""Titles of panels side by side and names of rows, in lines of limited width."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

_LETTERS: Final = 94
"""Number of letters of titles that fit above all panels of a figure together."""

_GAP: Final = 5
"""Number of letters that stay empty above each panel."""

_ROW: Final = 40
"""Maximum letters in a line of a name of a row, less than half of the width of a figure."""

_PIECE: Final = re.compile(r"[^\s:,/]*[:,/]+|[^\s:,/]+|\s+")
"""Pieces after which a line may end: a word, a space, or a part of a policy up to `:` or `,`."""


def panel_title(text: str, panels: int) -> str:
    """Return a title in lines no wider than one of `panels` panels."""
    return _wrapped(text, _LETTERS // panels - _GAP)


def row_names(names: Iterable[str]) -> list[str]:
    """Return the names of rows, with long names in several lines."""
    return [_wrapped(name, _ROW) for name in names]


def _wrapped(text: str, width: int) -> str:
    return "\n".join(line for part in text.splitlines() for line in _lines(part, width))


def _lines(text: str, width: int) -> Iterator[str]:
    line = ""
    for piece in _PIECE.findall(text):
        if line and len(line) + len(piece.rstrip()) > width:
            yield line.rstrip()
            line = ""
        while len(piece) > width:
            yield piece[:width]
            piece = piece[width:]  # noqa: PLW2901 - the rest of a name without any break
        line = (line + piece).lstrip()
    if line.strip():
        yield line.rstrip()
