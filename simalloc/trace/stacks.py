"""The call paths of a trace: a table of places with their frames, and a tree of sites.

A trace's provenance contains them under `stacks`. `places` is a list of places. A place is a list
of [function, file, line], the innermost function first; it has several entries if functions are
inlined. `place` contains for each site number the index of its place. `parent` contains for each
site number the calling site. Site 0 is the root, and a parent has a smaller number than its site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from simalloc.trace.symbols import Place, name_places

Frame = tuple[str, str, int]
"""A function, its file and line, or "" and 0 if unknown."""

MAX_SITES: Final = 1 << 22
MAX_CHARACTERS: Final = 1 << 23
"""Maximum total characters in the names of all places."""

_LONGEST: Final = 500  # maximum characters of a name


class Stacks:
    """Call paths collected while a log is read, limited to the number that fits in a header.

    Equal places are stored once. A place may be an address, which is named at the end.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[Frame, ...] | Place, int] = {(): 0}
        self._sites: list[tuple[int, int]] = [(0, 0)]
        self._numbers: dict[tuple[int, int], int] = {}
        self._characters = 0

    def __len__(self) -> int:
        return len(self._sites) - 1

    def place(self, what: Iterable[Frame] | Place) -> int:
        """Return the number of a place: an address, or frames with the innermost first."""
        key = what if isinstance(what, Place) else tuple(map(_short, what))
        if key not in self._places and self._characters < MAX_CHARACTERS:
            self._places[key] = len(self._places)
            self._characters += sum(map(len, _texts(key)))
        return self._places.get(key, 0)

    def add(self, parent: int, place: int) -> int:
        """Return the number of another site, called by `parent`, or 0 if the sites are too many."""
        if len(self._sites) == MAX_SITES:
            return 0
        self._sites.append((parent if parent < len(self._sites) else 0, place))
        return len(self)

    def path(self, frames: Sequence[Frame]) -> int:
        """Return the number of the site with this path, the innermost frame first."""
        site = 0
        for frame in reversed(frames):
            key = site, self.place((frame,))
            site = self._numbers.get(key, 0) or self._numbers.setdefault(key, self.add(*key))
        return site

    def entry(self) -> Mapping[str, Any]:
        """Return the entry `stacks` of a provenance, in which addresses are named."""
        return stacks_entry(list(self._places), self._sites)


def stacks_entry(
    places: Sequence[Sequence[Frame] | Place],
    sites: Sequence[Sequence[int]],
    names_of: Callable[[Sequence[Place]], Sequence[Sequence[Frame]]] = name_places,
) -> Mapping[str, Any]:
    """Return the entry `stacks` of a provenance. A site consists of its parent and its place.

    `names_of` names the places that are addresses.
    """
    addresses = [place for place in places if isinstance(place, Place)]
    names = dict(zip(addresses, names_of(addresses), strict=True))
    named = (names[place] if isinstance(place, Place) else place for place in places)
    return {
        "places": [[list(frame) for frame in place] for place in named],
        "parent": [parent for parent, _ in sites],
        "place": [place for _, place in sites],
    }


def path_of(stacks: Mapping[str, Any], site: int) -> Iterator[Frame]:
    """Yield the frames of a site, the innermost first. A damaged entry ends the path."""
    try:
        while site:
            for function, file, line in stacks["places"][stacks["place"][site]]:
                yield str(function), str(file), int(line)
            parent = stacks["parent"][site]
            site = parent if 0 <= parent < site else 0
    except (LookupError, TypeError, ValueError):
        return


def _short(frame: Frame) -> Frame:
    function, file, line = frame
    return _legible(function), _legible(file), line


def _legible(text: str) -> str:
    return text[-_LONGEST:].encode("utf-8", "backslashreplace").decode()


def _texts(place: tuple[Frame, ...] | Place) -> Iterable[str]:
    if isinstance(place, Place):
        return (place.path,)
    return chain.from_iterable((function, file) for function, file, _ in place)
