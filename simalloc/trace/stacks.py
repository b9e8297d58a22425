"""The call paths of a trace: a table of places with their frames, and a tree of sites.

A trace's provenance has them under `stacks`: `places`, a list of lists of [function, file, line],
the innermost first (a place has several where functions are inlined); and for each site number its
`place` in this list and its `parent`, the site that called from there. Site 0 is the root, and a
parent has a smaller number than its site.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Frame = tuple[str, str, int]
"""A function, its file and line; "" and 0 where they are not known."""

MOST_SITES: Final = 1 << 22


class Stacks:
    """Call paths that are collected while a log is read. Equal places and sites are one."""

    def __init__(self) -> None:
        self._places: dict[tuple[Frame, ...], int] = {(): 0}
        self._sites: dict[tuple[int, int], int] = {(0, 0): 0}

    def __len__(self) -> int:
        return len(self._sites) - 1

    def place(self, frames: Iterable[Frame]) -> int:
        """Return the number of a place with these frames, the innermost first."""
        return self._places.setdefault(tuple(frames), len(self._places))

    def site(self, parent: int, place: int) -> int:
        """Return the number of the site that was called from `parent`; 0: there are too many."""
        key = parent, place
        if len(self._sites) >= MOST_SITES and key not in self._sites:
            return 0
        return self._sites.setdefault(key, len(self._sites))

    def path(self, frames: Sequence[Frame]) -> int:
        """Return the number of the site with this path, the innermost first."""
        site = 0
        for frame in reversed(frames):
            site = self.site(site, self.place((frame,)))
        return site

    def told(self) -> Mapping[str, Any]:
        """Return what a provenance has under `stacks`."""
        return told(list(self._places), list(self._sites))


def told(places: Iterable[Iterable[Frame]], sites: Sequence[Sequence[int]]) -> Mapping[str, Any]:
    """Return what a provenance has under `stacks`; a site is its parent and its place."""
    return {
        "places": [[list(frame) for frame in place] for place in places],
        "parent": [parent for parent, _ in sites],
        "place": [place for _, place in sites],
    }


def path_of(stacks: Mapping[str, Any], site: int) -> Iterator[Frame]:
    """Yield the frames of a site, the innermost first. What is damaged ends the path."""
    try:
        while site:
            for function, file, line in stacks["places"][stacks["place"][site]]:
                yield str(function), str(file), int(line)
            parent = stacks["parent"][site]
            site = parent if 0 <= parent < site else 0
    except (LookupError, TypeError, ValueError):
        return
