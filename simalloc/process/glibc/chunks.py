"""Chunks of an arena as columns, and the errors of a walk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process._walker import Memory
from simalloc.process.glibc.layouts import FLAGS

LIVE: Final = 0
CACHED: Final = 1
FAST: Final = 2
BINNED: Final = 3
TOP: Final = 4
MAPPED_ALONE: Final = 5
OWN: Final = 6
STATE_NAMES: Final = ("live", "tcache", "fastbin", "bin", "top", "mmapped", "own")
"""Names of the states of a block, by the numbers above."""

DONE, FULL, FENCED, WRONG_SIZE, OUTSIDE, BROKEN = range(6)
"""Reasons for the end of a walk in C (chains.h)."""

_REASONS: Final = {
    FULL: "has more items than the arena has chunks",
    FENCED: "ends early, at a chunk of 16 or 0 bytes",
    WRONG_SIZE: "has a chunk of an impossible size",
    OUTSIDE: "has a link to an address outside of the arena",
    BROKEN: "has a link whose reverse link does not match",
}
_ROOM: Final = 1 << 16
_MAX_ROOM: Final = 1 << 22


class WalkError(Exception):
    """Error: a chain or list is inconsistent.

    The memory has changed while it was read, or is damaged.
    """

    def __init__(self, what: str, address: int) -> None:
        super().__init__(f"{what} at {address:#x}")
        self.address = address


@dataclass(frozen=True, eq=False)
class Chunks:
    """Chunks in order of address."""

    address: NDArray[np.uint64]
    word: NDArray[np.uint64]
    """Size words, including the three flags."""

    @property
    def size(self) -> NDArray[np.uint64]:
        """Sizes in bytes, headers included."""
        return self.word & np.uint64(~FLAGS & 0xFFFFFFFFFFFFFFFF)

    def __len__(self) -> int:
        return len(self.address)

    @classmethod
    def of(cls, parts: Sequence[Chunks]) -> Chunks:
        """Return the concatenated chunks of parts."""
        if len(parts) == 1:
            return parts[0]
        columns = ([part.address for part in parts], [part.word for part in parts])
        return cls(*(np.concatenate([np.empty(0, np.uint64), *column]) for column in columns))


def walk(memory: Memory, start: int, stop: int) -> tuple[Chunks, int]:
    """Return the chunks from `start` on, and their end: `stop`, or a fence before it.

    Raises `WalkError` if a chunk has an impossible size.
    """
    parts, room, at = [], _ROOM, start
    while True:
        address, word = np.empty(room, np.uint64), np.empty(room, np.uint64)
        count, at, end = memory.walk(at, stop, address, word)
        parts.append(Chunks(address[:count], word[:count]))
        if end != FULL:
            break
        room = min(2 * room, _MAX_ROOM)
    if end not in {DONE, FENCED}:
        raise WalkError(f"The chain of chunks {_REASONS[end]}", at)
    return Chunks.of(parts), at


def follow(
    memory: Memory, first: int, offset: int, most: int, *, masked: bool
) -> NDArray[np.uint64]:
    """Return the items of a list.

    Raises `WalkError` if the list has more than `most` items or an invalid link.
    """
    item = np.empty(most, np.uint64)
    count, at, end = memory.follow(first, offset, masked, item)
    if end != DONE:
        raise WalkError(f"A list {_REASONS[end]}", at)
    return item[:count].copy()


def ring(memory: Memory, head: int, item: NDArray[np.uint64]) -> int:
    """Store the chunks of a bin in an array. Return their number. Raises `WalkError`."""
    count, at, end = memory.ring(head, item)
    if end != DONE:
        raise WalkError(f"A bin {_REASONS[end]}", at)
    return count


def places_of(addresses: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the indices of wanted addresses in an ordered array, or -1 for missing addresses."""
    if not len(addresses):
        return np.full(len(wanted), -1, np.int64)
    place = np.minimum(np.searchsorted(addresses, wanted), len(addresses) - 1)
    return np.where(addresses[place] == wanted, place, -1)
