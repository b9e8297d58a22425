"""What an address-ordered list costs besides searches: the walk to a freed block's place.

The paper's list is Kernighan & Ritchie's. It has no boundary tags, so that `free` looks for the
place of a block from where a search would start: the front, or the rover of next fit. The walk is
not made here: the free blocks are followed by the addresses that a simulation has given out, and
how many stand before the place is a rank in a sorted list.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simalloc.trace import Op

if TYPE_CHECKING:
    from simalloc.heap import Run
    from simalloc.policy.families.sequential_fit import SequentialFit
    from simalloc.trace import Trace


@dataclass
class FreeList:
    """The free blocks of a sequential fit in address order; `rover` is next fit's, by address."""

    minimum_split: int
    growth: int
    addresses: list[int] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    brk: int = 0
    rover: int | None = None

    def allocate(self, address: int, size: int) -> int:
        """Take the low end of the block at `address`, after a growth if need be; return bytes."""
        if self.sizes.get(address, 0) < size:
            self._grow(size)
        whole = self.sizes.pop(address)
        place = bisect_left(self.addresses, address)
        if whole - size >= self.minimum_split:
            self.addresses[place] = self.rover = address + size
            self.sizes[self.rover] = whole - size
            return size
        del self.addresses[place]
        self.rover = self.addresses[place % len(self.addresses)] if self.addresses else None
        return whole

    def free(self, address: int, size: int) -> None:
        """Put a block into the list, merged with its neighbours."""
        place = bisect_left(self.addresses, address)
        if place < len(self.addresses) and self.addresses[place] == address + size:
            size += self._remove(place)
        if place > 0 and self._end(place - 1) == address:
            place -= 1
            address = self.addresses[place]
            size += self._remove(place)
        self.addresses.insert(place, address)
        self.sizes[address] = size
        if self.rover is None:
            self.rover = address

    def looked_at(self, address: int, *, from_rover: bool) -> int:
        """Return how many blocks a walk to a block's place looks at, the one behind it too."""
        place, count = bisect_left(self.addresses, address), len(self.addresses)
        if not from_rover or self.rover is None:
            return min(place + 1, count)
        start = bisect_left(self.addresses, self.rover)
        return min((place - start) % count + 1, count) if count else 0

    def _grow(self, size: int) -> None:
        tail = self.addresses[-1] if self.addresses else None
        if tail is not None and tail + self.sizes[tail] == self.brk:
            size -= self.sizes[tail]
        grown = -(-size // self.growth) * self.growth
        self.brk += grown
        self.free(self.brk - grown, grown)

    def _end(self, place: int) -> int:
        return self.addresses[place] + self.sizes[self.addresses[place]]

    def _remove(self, place: int) -> int:
        """Take a block out; a rover on it goes to the one that follows; return its size."""
        address = self.addresses.pop(place)
        if self.rover == address:
            self.rover = self.addresses[place % len(self.addresses)] if self.addresses else None
        return self.sizes.pop(address)


@dataclass(frozen=True)
class Walks:
    """Blocks looked at by frees, on average, and how far apart allocations lie.

    `pages` is how many pages of 4 KB hold the starts of a thousand allocations in a row, on
    average.
    """

    at_free: float
    pages: float


def walks(trace: Trace, run: Run) -> Walks:
    """Follow a run that has kept its addresses; it is one of a first or next fit at scale 1."""
    description: SequentialFit = run.policy.description  # type: ignore[assignment]
    free_list = FreeList(description.minimum_split, description.growth)
    from_rover = description.fit.value == "next"
    assert run.addresses is not None, "the run has kept its addresses"
    blocks: dict[int, tuple[int, int]] = {}
    looked_at = []
    events = zip(
        trace.op.tolist(),
        trace.object.tolist(),
        trace.size.tolist(),
        run.addresses.tolist(),
        strict=True,
    )
    for op, number, size, address in events:
        if op == Op.FREE:
            old, taken = blocks.pop(number)
            looked_at.append(free_list.looked_at(old, from_rover=from_rover))
            free_list.free(old, taken)
        else:
            blocks[number] = address, free_list.allocate(address, max(size, 1))
    return Walks(float(np.mean(looked_at)), pages_touched(run.addresses))


def pages_touched(addresses: np.ndarray, span: int = 1000) -> float:
    """Return in how many pages of 4 KB `span` allocations in a row begin, on average."""
    pages = addresses[addresses >= 0] // 4096
    spans = [pages[start : start + span] for start in range(0, max(len(pages) - span, 0) + 1, span)]
    return float(np.mean([len(np.unique(one)) for one in spans]))
