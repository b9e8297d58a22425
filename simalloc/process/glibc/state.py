"""Search for glibc's arenas and parameters in a process by their structure alone."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.layouts import (
    BINS,
    FAST_LISTS,
    HEAP_HEADERS,
    NONCONTIGUOUS,
    PARAMETERS,
    PARAMETERS_BEFORE_ARENA,
    STATES,
    Parameters,
    StateLayout,
)
from simalloc.process.mappings import PAGE, Mapping
from simalloc.process.region import ABSENT, Region
from simalloc.process.target import Target, in_any

_WORDS: Final = PAGE // 8
"""Words in a page."""
_FAR_BELOW: Final = 0x2000
"""Maximum distance of the parameters before their arena."""
_MAX_ARENAS: Final = 1 << 16
_READINGS: Final = 20
"""Maximum number of readings of an arena that a thread may be changing."""
_BETWEEN: Final = 0.001
"""Seconds between two readings, because a thread may have lost its processor during a change."""
_MAX_BINS: Final = BINS * 3 // 4
"""Minimum number of correct bins for another reading. Other data that resemble an arena have fewer.
"""


@dataclass(frozen=True)
class State:
    """An arena: its `malloc_state` at one moment."""

    address: int
    layout: StateLayout
    content: bytes

    @property
    def mutex(self) -> int:
        """The lock word, 0 if free."""
        return int.from_bytes(self.content[:4], "little")

    @property
    def contiguous(self) -> bool:
        """True if the pieces of a main arena are adjacent."""
        return not int.from_bytes(self.content[4:8], "little") & NONCONTIGUOUS

    @property
    def top(self) -> int:
        """Address of the top chunk."""
        return self._word(self.layout.top)

    @property
    def next(self) -> int:
        """Address of the next arena. The last arena points to the main arena."""
        return self._word(self.layout.next)

    @property
    def next_free(self) -> int:
        """Address of the next arena on the list of arenas without threads."""
        return self._word(self.layout.next + 8)

    @property
    def last_remainder(self) -> int:
        """Address of the chunk that the latest split left. The chunk may no longer exist."""
        return self._word(self.layout.top + 8)

    @property
    def attached(self) -> int:
        """Number of threads that use the arena."""
        return self._word(self.layout.attached)

    @property
    def system_mem(self) -> int:
        """Bytes that the arena has from the system."""
        return self._word(self.layout.system_mem)

    @property
    def max_system_mem(self) -> int:
        """Maximum bytes that the arena ever had."""
        return self._word(self.layout.system_mem + 8)

    @property
    def fast_heads(self) -> list[int]:
        """First chunk of each fast list, or 0. Empty in releases without fast lists."""
        if self.layout.fast is None:
            return []
        return list(struct.unpack_from(f"<{FAST_LISTS}Q", self.content, self.layout.fast))

    def _word(self, offset: int) -> int:
        return int.from_bytes(self.content[offset : offset + 8], "little")


@dataclass(frozen=True)
class Libc:
    """One malloc of the process: its main arena and its parameters."""

    arena: int
    layout: StateLayout
    file: str
    """The mapped file that contains this malloc."""
    parameters_layouts: tuple[tuple[int, int], ...]
    """Possible addresses and layouts of the parameters, the likeliest first."""
    unused: bool = False
    """True if nothing was ever allocated from this malloc."""

    def parameters(self, target: Target) -> Parameters | None:
        """Return the current parameters, or None if they cannot be found."""
        for address, number in self.parameters_layouts:
            layout = PARAMETERS[number]
            found = layout.read(address, target.bytes_at(address, layout.size))
            if found is not None:
                return found
        return None


def read_state(target: Target, address: int, layout: StateLayout) -> State:
    """Return the current state of an arena."""
    return State(address, layout, target.bytes_at(address, layout.size))


def find_libcs(target: Target, mappings: Sequence[Mapping]) -> list[Libc]:
    """Return every malloc of glibc in the process."""
    found = []
    for file, start, end in data_areas(mappings):
        region = target.region(start, end)
        for layout in STATES:
            for address in _states(target, region, layout):
                content = region.bytes_at(address, layout.size)
                unused = State(address, layout, content).top == 0
                parameters = tuple(_parameters(region, address, mappings))
                if parameters:
                    found.append(Libc(address, layout, file, parameters, unused))
    return found


def arenas_of(target: Target, libc: Libc) -> list[State]:
    """Return the arenas of a malloc in ring order, the main arena first.

    The result ends where the ring does not lead to an arena.
    """
    states = [read_state(target, libc.arena, libc.layout)]
    seen = {libc.arena}
    while (address := states[-1].next) not in seen and len(states) < _MAX_ARENAS:
        if address % 4096 not in HEAP_HEADERS:
            break
        state = read_state(target, address, libc.layout)
        if state.system_mem == 0:
            break
        seen.add(address)
        states.append(state)
    return states


def stray_link(states: Sequence[State]) -> int | None:
    """Return the address to which the ring leads, or None if it returns to the main arena."""
    last = states[-1].next
    return None if last == states[0].address else last


def data_areas(mappings: Sequence[Mapping]) -> Iterator[tuple[str, int, int]]:
    """Yield the path and the range of each mapped file's writable data.

    The range includes a directly following anonymous mapping, which contains the data that have no
    bytes in the file.
    """
    at = 0
    while at < len(mappings):
        one = mappings[at]
        at += 1
        if not (one.inode and one.writable and one.readable and one.permissions[3] == "p"):
            continue
        end = one.end
        while at < len(mappings) and mappings[at].start == end:
            following = mappings[at]
            same_file = following.name == one.name and following.writable
            if not same_file and not (following.heap_like and not following.name):
                break
            end = following.end
            at += 1
            if not same_file:
                break
        yield one.path, one.start, end


def _states(target: Target, region: Region, layout: StateLayout) -> list[int]:
    """Return the addresses of main arenas in a region.

    A main arena begins in a page that is not absent, because the loader writes its link to itself.
    """
    words = region.words
    pages = np.flatnonzero(region.pages != ABSENT)
    place = (pages[:, None] * _WORDS + np.arange(0, _WORDS, 2)).reshape(-1)
    place = place[place < len(words) - layout.size // 8]
    address = np.uint64(region.start) + place.astype(np.uint64) * np.uint64(8)
    following = words[place + layout.next // 8]
    system = words[place + layout.system_mem // 8]
    first, second = words[place + layout.bins // 8], words[place + layout.bins // 8 + 1]
    in_heap = np.isin(following % np.uint64(4096), np.array(HEAP_HEADERS, np.uint64))
    lock = words[place]
    likely = (
        ((following == address) | in_heap)
        & ((first % np.uint64(8)) == 0)
        & ((second % np.uint64(8)) == 0)
        & ((lock & np.uint64(0xFFFFFFFF)) <= 2)
        & (lock >> np.uint64(32) <= 3)
        & (words[place + layout.top // 8] % np.uint64(16) == 0)
        & ((following == address) | (system > 0))
    )
    return [one for one in address[likely].tolist() if _is_state(target, region, one, layout)]


def _is_state(target: Target, region: Region, address: int, layout: StateLayout) -> bool:
    """Return whether every bin is empty or links to other addresses, or all bins are zero.

    All bins of an unused arena are zero. While a thread links or unlinks chunks, some bins of a
    real arena are inconsistent. While the arena grows, its bytes may exceed their maximum.
    Therefore an arena with at least `_MAX_BINS` correct bins is read again.
    """
    target.check_time()
    content = region.bytes_at(address, layout.size)
    for _ in range(_READINGS):
        state = State(address, layout, content)
        if state.top == 0:
            # an unused main arena has one attached thread, and its next arena is itself
            fresh = state.attached == 1 and state.next == address and state.system_mem == 0
            return fresh and not _links(state).any()
        right = _right_bins(state)
        if state.system_mem == 0 or right < _MAX_BINS:
            return False
        if right == BINS and state.system_mem <= state.max_system_mem:
            return True
        time.sleep(_BETWEEN)
        content = target.bytes_at(address, layout.size)
    return False


def _links(state: State) -> NDArray[np.uint64]:
    """Return the two links of each bin."""
    return np.frombuffer(state.content, np.uint64, 2 * BINS, state.layout.bins).reshape(-1, 2)


def _right_bins(state: State) -> int:
    """Return the number of bins that are empty or whose two links lead to other addresses."""
    links = _links(state)
    first = np.uint64(state.layout.head(state.address, 1))
    own = links == (first + np.arange(BINS, dtype=np.uint64) * np.uint64(16))[:, None]
    elsewhere = ~own.any(axis=1) & (links % np.uint64(16) == 0).all(axis=1) & links.all(axis=1)
    return int((own.all(axis=1) | elsewhere).sum())


def _parameters(
    region: Region, arena: int, mappings: Sequence[Mapping]
) -> Iterator[tuple[int, int]]:
    """Yield possible addresses of an arena's parameters, the likeliest first."""
    near = [arena - distance for distance in PARAMETERS_BEFORE_ARENA]
    others = range(arena - 0x80, max(arena - _FAR_BELOW, region.start) - 1, -8)
    for address in [*near, *(one for one in others if one not in near)]:
        if address < region.start:
            continue
        for number, layout in enumerate(PARAMETERS):
            content = region.bytes_at(address, layout.size)
            found = layout.read(address, content)
            if found is None or found.cache_bytes == 0:
                continue
            base = np.array([found.sbrk_base, max(found.sbrk_base, 1) - 1], np.uint64)
            if found.sbrk_base == 0 or in_any(mappings, base).any():
                yield address, number
