"""Reference implementation of both placement methods in plain Python, for small traces.

Outward from an event, a live object is one span of addresses. Gaps are the spaces between objects
below the highest address that was ever in use. They are determined again for each object.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.exact import reference as exact
from simalloc.bound.placer import MAX_GAPS, Fit, Placer
from simalloc.trace import Op, Trace

FARTHEST = 4.0
"""Maximum distance of two ends that is counted, in remaining lifetimes of the object."""


class Life(NamedTuple):
    """A life from the event `born` to just before the event `died`; `size` in bytes."""

    born: int
    died: int
    size: int


def lives_of_trace(trace: Trace) -> list[Life]:
    """Return the lives of a trace in the order of their births. A realloc begins a new life."""
    found: list[Life] = []
    current: dict[int, int] = {}
    for event, (name, size) in enumerate(
        zip(trace.object.tolist(), trace.size.tolist(), strict=True)
    ):
        if name in current:
            life = current.pop(name)
            found[life] = found[life]._replace(died=event)
        if trace.op[event] != Op.FREE:
            current[name] = len(found)
            found.append(Life(event, len(trace), max(size, 1)))
    return found


class ReferencePlacer(Placer):
    """Places the lives of one timetable by the reference implementation."""

    fit = staticmethod(exact.fit)

    def _go(
        self, packed: NDArray[np.uint32], event: int, fit: Fit, limit: int, *, backward: bool
    ) -> int | None:
        height, addresses, events = place_outward(
            self._lives(), packed.tolist(), event, fit, backward=backward, limit=limit
        )
        for life, address in addresses.items():
            self._address[life] = address
        self.events_gone_through += events
        return height if height < limit else None

    def _go_by_tiers(self, tier: NDArray[np.uint32], limit: int) -> int | None:
        lives = self._lives()
        self._address[:] = place_in_tiers(lives, tier.tolist())
        self.events_gone_through += 2 * len(lives)
        height = int((self._address + self._table.size).max())
        return height if height < limit else None

    def _lives(self) -> list[Life]:
        table = self._table
        return [Life(*life) for life in zip(table.born, table.died, table.size, strict=True)]


def place_outward(
    lives: Sequence[Life],
    order: Iterable[int],
    event: int,
    fit: Fit,
    *,
    backward: bool,
    limit: int,
) -> tuple[int, dict[int, int], int]:
    """Place the lives of one direction, until the height reaches the limit.

    `order` contains the lives that are live after the event, the lowest first. Forward, the later
    events are processed in order. Backward, this event and the earlier ones are undone. Returns the
    height, the address of each life encountered, and the number of processed events.
    """
    heap = _Heap(lives, backward=backward)
    for life in order:
        heap.put(life, heap.height)
    ends = {life.died: number for number, life in enumerate(lives)}
    begins = {life.born: number for number, life in enumerate(lives)}
    if backward:
        ends, begins = begins, ends
    last = max(life.died for life in lives)
    events = range(event, -1, -1) if backward else range(event + 1, last)
    done = 0
    for now in events:
        if heap.height >= limit:
            break
        done += 1
        if now in ends:
            del heap.live[ends[now]]
        if now in begins:
            heap.place(begins[now], now, fit)
    return heap.height, heap.address, done


def place_in_tiers(lives: Sequence[Life], tier: Sequence[int]) -> list[int]:
    """Return the address of each life, placed by tier and, within a tier, by birth."""
    address: dict[int, int] = {}
    for life in sorted(range(len(lives)), key=lambda life: (tier[life], lives[life].born)):
        found = 0
        for taken, size in sorted(
            (there, lives[other].size)
            for other, there in address.items()
            if lives[other].born < lives[life].died and lives[life].born < lives[other].died
        ):
            if taken - found >= lives[life].size:
                break
            found = max(found, taken + size)
        address[life] = found
    return [address[life] for life in range(len(lives))]


class _Heap:
    """The live objects by address; `height` is the highest address that was ever in use."""

    def __init__(self, lives: Sequence[Life], *, backward: bool) -> None:
        self.height = 0
        self.live: dict[int, int] = {}
        self.address: dict[int, int] = {}
        self._lives = lives
        self._backward = backward

    def put(self, life: int, address: int) -> None:
        """Begin a life at an address."""
        self.live[life] = self.address[life] = address
        self.height = max(self.height, address + self._lives[life].size)

    def place(self, life: int, now: int, fit: Fit) -> None:
        """Choose an address for a life that begins now."""
        size = self._lives[life].size
        gaps = self._gaps()
        large = [gap for gap in gaps if gap.size >= size]
        if not large:
            top = gaps[-1] if gaps and gaps[-1].above is None else None
            self.put(life, self.height if top is None else top.address)
        elif fit is Fit.FIRST:
            self.put(life, large[0].address)
        else:
            large.sort(key=lambda gap: gap.size)
            if fit is Fit.BEST:
                self.put(life, large[0].address)
            else:
                self._match(life, now, large[:MAX_GAPS])

    def _match(self, life: int, now: int, gaps: Sequence[_Gap]) -> None:
        """Place a life in the gap with the lowest cost, at the neighbour that ends nearest in time.

        The cost has two terms. The first is the remaining space of the gap in sizes of the life, at
        most 1. The second is three times the interval between the ends of the life and the
        neighbour, in remaining lifetimes, and at most three times `FARTHEST`.
        """
        size, until = self._lives[life].size, self._until(life)
        remaining = until - (-now if self._backward else now) + 1

        def distance(neighbour: int | None) -> float:
            if neighbour is None:
                return FARTHEST
            return min(abs(self._until(neighbour) - until) / remaining, FARTHEST)

        def cost(gap: _Gap) -> float:
            nearer = min(distance(gap.below), distance(gap.above))
            return min((gap.size - size) / size, 1.0) + 3 * nearer

        gap = min(gaps, key=cost)
        high = distance(gap.above) < distance(gap.below)
        self.put(life, gap.address + (gap.size - size if high else 0))

    def _until(self, life: int) -> int:
        return -self._lives[life].born if self._backward else self._lives[life].died

    def _gaps(self) -> list[_Gap]:
        """Return the gaps in the order of their addresses."""
        found = []
        end, below = 0, None
        for life, address in sorted(self.live.items(), key=lambda item: item[1]):
            if address > end:
                found.append(_Gap(end, address - end, below, life))
            end, below = address + self._lives[life].size, life
        if self.height > end:
            found.append(_Gap(end, self.height - end, below, None))
        return found


class _Gap(NamedTuple):
    """A span of addresses without an object, and the adjacent lives, or None."""

    address: int
    size: int
    below: int | None
    above: int | None
