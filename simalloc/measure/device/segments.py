"""Segments of device memory: when they are mapped, and their position in a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedDict

if TYPE_CHECKING:
    from simalloc.heap.watch.device_replay import DeviceReplay


@dataclass(frozen=True, eq=False)
class Segments:
    """Contiguous ranges of addresses, by address; each int64 array has one entry per range.

    An entry is a segment or, with expandable segments, the part of a range that was ever mapped.
    `shown` is its position in a picture: the lowest one without an overlap during its lifetime.
    Real devices also reuse addresses in this way.
    """

    address: NDArray[np.int64]
    size: NDArray[np.int64]
    since: NDArray[np.int64]
    """Event that mapped the segment."""
    until: NDArray[np.int64]
    """Event that returned the segment, or the number of events."""
    shown: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.address)

    def of(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the segment that contains each address."""
        return np.searchsorted(self.address, addresses, side="right") - 1

    def moved(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shown positions of addresses; negative ones stay."""
        if not len(self):
            return addresses
        number = self.of(addresses)
        return np.where(addresses < 0, addresses, addresses + (self.shown - self.address)[number])


def memory_of(replay: DeviceReplay) -> NDArray[np.int64]:
    """Return the mapped pieces: (pieces, 4) of address, size, first event and one past the last.

    A piece is the memory of one call, or a part of it if only parts were returned.
    """
    there: SortedDict = SortedDict()
    pieces = []
    for event, address, size in replay.calls.tolist():
        if size > 0:
            there[address] = size, event
            continue
        end = address - size
        begin = there.keys()[there.bisect_right(address) - 1]
        for start in list(there.irange(begin, end, (True, False))):
            length, since = there.pop(start)
            low, high = max(start, address), min(start + length, end)
            pieces.append((low, high - low, since, event))
            if start < low:
                there[start] = low - start, since
            if high < start + length:
                there[high] = start + length - high, since
    events = len(replay.addresses)
    pieces += [(start, size, since, events) for start, (size, since) in there.items()]
    return np.array(sorted(pieces), np.int64).reshape(-1, 4)


def segments_of(memory: NDArray[np.int64], *, ranges: bool) -> Segments:
    """Return the segments of mapped memory. With `ranges`, adjacent pieces are one segment."""
    if ranges:
        memory = _touching(memory)
    address, size, since, until = memory.T
    return Segments(address, size, since, until, _shown(size, since, until))


def _touching(memory: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranges of adjacent pieces; a range lasts from its first piece to its last."""
    ranges: list[list[int]] = []
    for start, size, since, until in memory.tolist():
        if ranges and start <= ranges[-1][0] + ranges[-1][1]:
            one = ranges[-1]
            end = max(one[0] + one[1], start + size)
            ranges[-1] = [one[0], end - one[0], min(one[2], since), max(one[3], until)]
        else:
            ranges.append([start, size, since, until])
    return np.array(ranges, np.int64).reshape(-1, 4)


def _shown(
    size: NDArray[np.int64], since: NDArray[np.int64], until: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the lowest positions at which segments do not overlap during their lifetimes."""
    shown = np.zeros(len(size), np.int64)
    there: list[tuple[int, int, int]] = []  # position, end and last event, by position
    for number in np.argsort(since, kind="stable").tolist():
        there = [each for each in there if each[2] > since[number]]
        place, at = 0, 0
        for at, (low, high, _) in enumerate(there):  # noqa: B007 - used after the loop
            if low - place >= size[number]:
                break
            place = high
        else:
            at = len(there)
        shown[number] = place
        there.insert(at, (place, place + int(size[number]), int(until[number])))
    return shown
