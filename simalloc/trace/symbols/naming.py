"""Naming of places in programs and libraries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.symbols.elf import SymbolTable, is_regular, symbol_tables
from simalloc.trace.symbols.tools import Frame, frames_in, symbolizer

_FILES: Final = 64
"""Maximum number of files whose tables are cached."""


class _Functions(NamedTuple):
    """The functions of a file, by address."""

    starts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    table: SymbolTable


def function_at(path: str, address: int) -> str:
    """Return the name of the function at an address in a program or library, or "" if unknown."""
    for functions in _functions(path):
        at = int(np.searchsorted(functions.starts, np.uint64(address), "right")) - 1
        if at >= 0 and address < int(functions.ends[at]):
            return functions.table.name(int(functions.table.symbols["name"][at]))
    return ""


@lru_cache(_FILES)
def _functions(path: str) -> tuple[_Functions, ...]:
    return tuple(map(_by_address, symbol_tables(path)))


def _by_address(table: SymbolTable) -> _Functions:
    symbols = table.symbols[table.symbols["size"] > 0]
    _, first = np.unique(symbols["value"], return_index=True)
    symbols = symbols[first]
    ends = symbols["value"] + symbols["size"]
    return _Functions(symbols["value"], ends, SymbolTable(symbols, table.names))


class Place(NamedTuple):
    """A calling instruction, as an offset in the file of a program or library."""

    path: str
    offset: int


class Names:
    """Names places. The names are cached, so that each module is read once."""

    def __init__(self) -> None:
        self._known: dict[Place, list[Frame]] = {}

    def of(self, places: Sequence[Place]) -> list[list[Frame]]:
        """Return for each place its frames, the innermost first, including inlined functions.

        A place whose function is unknown has one frame, named FILE+0xOFFSET.
        """
        tool = symbolizer()
        of_file = defaultdict(list)
        for place in dict.fromkeys(places):
            if place not in self._known:
                of_file[place.path].append(place)
        for path, unknown in of_file.items():
            calls = [place.offset for place in unknown]
            readable = is_regular(path)
            found = frames_in(tool, path, calls) if tool and readable else [[] for _ in calls]
            for place, frames in zip(unknown, found, strict=True):
                name = "" if frames or not readable else function_at(path, place.offset)
                self._known[place] = frames or [(name or _spelled(place), "", 0)]
        return [self._known[place] for place in places]


def name_places(places: Sequence[Place]) -> list[list[Frame]]:
    """Return for each place its frames, in the form of `Names.of`."""
    return Names().of(places)


def is_named(place: Place, frames: Sequence[Frame]) -> bool:
    """Return whether a place has the name of a function."""
    return frames[0][0] != _spelled(place)


def _spelled(place: Place) -> str:
    return f"{place.path}+{place.offset:#x}"
