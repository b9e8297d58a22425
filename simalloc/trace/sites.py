"""Names of call sites: what the numbers of a trace's column `site` stand for.

A trace's provenance may have them under `stacks`, as call paths, or under `sites`, a list by
number. 0 is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simalloc.trace.stacks import Frame, path_of

PATH: Final = " < "
"""Stands between a call's place and the one that it was called from."""

_MAX_NAMES: Final = 1 << 16
_MAX_NAME_BYTES: Final = 1 << 23
_MAX_NAME_LENGTH: Final = 500  # characters


class SiteNames:
    """Names that are collected while a log is read, no more of them than a header can hold."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._bytes = 0

    def wants(self, number: int) -> bool:
        """Return whether a name for this number would be kept."""
        return number < _MAX_NAMES and self._bytes < _MAX_NAME_BYTES

    def put(self, number: int, name: str) -> None:
        """Give a number a name, if there is room for it."""
        if self.wants(number):
            text = name[:_MAX_NAME_LENGTH].encode("utf-8", "backslashreplace")
            self._names += [""] * (number + 1 - len(self._names))
            self._names[number] = text.decode()
            self._bytes += len(text)

    @property
    def names(self) -> Sequence[str]:
        """The names by number, as provenance has them; "" for those without one."""
        return self._names


def site_name(provenance: Mapping[str, Any], number: int) -> str:
    """Return the name of a site, or its number where the trace has no name for it.

    The name of a call path is all of it, the innermost place first.
    """
    stacks = provenance.get("stacks")
    if number and isinstance(stacks, dict):
        path = PATH.join(map(spelled, path_of(stacks, number)))
        return path or f"site {number}"
    names = provenance.get("sites")
    if number and isinstance(names, list) and number < len(names) and names[number]:
        return str(names[number])
    return f"site {number}" if number else "unknown"


def spelled(frame: Frame) -> str:
    """Spell a place as names have it."""
    function, file, line = frame
    return f"{function} ({file}:{line})" if file else function
