"""Names of the call sites in a trace's column `site`.

A trace's provenance may contain the names as call paths under `stacks`, or as a list by number
under `sites`. Number 0 means an unknown site.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simalloc.trace.stacks import Frame, path_of

PATH: Final = " < "
"""Separator between a call's place and its caller's place."""

_MAX_NAMES: Final = 1 << 16
_MAX_NAME_BYTES: Final = 1 << 23
_MAX_NAME_LENGTH: Final = 500  # maximum characters of a name


class SiteNames:
    """Names collected while a log is read, limited to the number that fits in a header."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._bytes = 0

    def wants(self, number: int) -> bool:
        """Return whether a name for this number would be stored."""
        return number < _MAX_NAMES and self._bytes < _MAX_NAME_BYTES

    def put(self, number: int, name: str) -> None:
        """Store the name of a number if space is left."""
        if self.wants(number):
            text = name[:_MAX_NAME_LENGTH].encode("utf-8", "backslashreplace")
            self._names += [""] * (number + 1 - len(self._names))
            self._names[number] = text.decode()
            self._bytes += len(text)

    @property
    def names(self) -> Sequence[str]:
        """The names by number, as in a provenance, or "" for numbers without a name."""
        return self._names


def site_name(provenance: Mapping[str, Any], number: int) -> str:
    """Return the name of a site, or its number if the trace does not name it.

    The name of a call path contains all its places, the innermost first.
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
    """Return the text of a place in names."""
    function, file, line = frame
    return f"{function} ({file}:{line})" if file else function
