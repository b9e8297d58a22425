"""Names places in programs and libraries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from simalloc.trace.symbols.symbol_table import function_at
from simalloc.trace.symbols.tools import Frame, frames_in, symbolizer


class Place(NamedTuple):
    """An instruction, which calls: its offset, as the file has it, in a program or library."""

    path: str
    offset: int


def name_places(places: Sequence[Place]) -> list[list[Frame]]:
    """Return for each place its frames, the innermost first: more than one where some are inlined.

    A place whose function nothing tells has one frame, named FILE+0xOFFSET.
    """
    tool = symbolizer()
    of_file = defaultdict(list)
    for number, place in enumerate(places):
        of_file[place.path].append(number)
    found: list[list[Frame]] = [[] for _ in places]
    for path, numbers in of_file.items():
        calls = [places[number].offset for number in numbers]
        if tool is not None and Path(path).is_file():
            for number, frames in zip(numbers, frames_in(tool, path, calls), strict=True):
                found[number] = frames
        for number, call in zip(numbers, calls, strict=True):
            found[number] = found[number] or [
                (function_at(path, call) or _spelled(places[number]), "", 0)
            ]
    return found


def is_named(place: Place, frames: Sequence[Frame]) -> bool:
    """Say whether a place has got the name of a function."""
    return frames[0][0] != _spelled(place)


def _spelled(place: Place) -> str:
    return f"{place.path}+{place.offset:#x}"
