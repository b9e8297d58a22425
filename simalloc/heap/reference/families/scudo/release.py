"""Scudo's releases of the pages of small blocks (simalloc/policy/families/scudo.md)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import pairwise

from simalloc.heap.reference.families.scudo.configuration import PAGE, SMALL_BELOW, Configuration
from simalloc.heap.reference.families.scudo.primary import Group, Region
from simalloc.heap.reference.parts.overhead import round_up

_MILLISECOND = 1_000_000
_RIPE_PAGES = 8
"""Number of newly free pages above which blocks larger than a page are released at once."""


class Kind(Enum):
    """The extent of a release."""

    NORMAL = "normal"
    """Pages that have been free for the interval."""
    FORCED = "forced"
    """Pages freed since the latest release, without waiting."""
    ALL = "all"
    """All pages that are wholly free."""


class Release:
    """Releases the pages of one class, and stores the time of the latest release."""

    def __init__(self, region: Region, configuration: Configuration, slot: int) -> None:
        self._region = region
        self._group_size = configuration.group
        self._gain = configuration.release_pages * PAGE
        self._block = region.memory.block
        self._is_small = self._block < SMALL_BELOW
        # Scudo uses the slot's number as the class's number here.
        self._threshold = self._gain if configuration.sizes[slot] < SMALL_BELOW else PAGE
        self._mark = 0
        self._last = 0

    def look(self, kind: Kind, now: int, interval: int) -> list[tuple[int, int]]:
        """Return address and size of each run of pages to release at `now` nanoseconds.

        Releases of kind `NORMAL` are at least `interval` milliseconds apart. A negative interval
        disables them.
        """
        free = self._region.count * self._block
        if not free or (kind is not Kind.ALL and not self._is_due(free, kind, now, interval)):
            return []
        groups = self._choose(kind)
        if not groups:
            return []
        runs = list(self._free_pages(groups))
        if runs:
            self._mark = free
        self._last = now
        return runs

    def _is_due(self, free: int, kind: Kind, now: int, interval: int) -> bool:
        """Return whether the groups must be searched now."""
        self._mark = min(self._mark, free)
        gained = free - self._mark
        if gained < PAGE:
            return False
        if kind is Kind.FORCED:
            return True
        if interval < 0 or (self._is_small and gained < self._threshold):
            return False
        is_ripe = self._block > PAGE and gained > _RIPE_PAGES * PAGE
        return is_ripe or self._last + interval * _MILLISECOND <= now

    def _choose(self, kind: Kind) -> list[Group]:
        """Return the groups whose pages are to be released, and set the next threshold."""
        chosen = []
        distances = []
        for number, group in self._region.groups.items():
            free = group.count * self._block
            if kind is Kind.ALL:
                is_chosen = True
            elif free <= group.mark:
                is_chosen = False
            elif self._is_small:
                distance, is_chosen = self._judge_small(number, group)
                distances.append(distance)
            else:
                is_chosen = True
            if is_chosen:
                chosen.append(group)
            if is_chosen or free <= group.mark:
                group.mark = free
        if self._is_small:
            self._threshold = min(distances, default=self._gain)
        return chosen

    def _judge_small(self, number: int, group: Group) -> tuple[int, bool]:
        """Return the bytes that a group of small blocks lacks, and whether it is released now."""
        free = group.count * self._block
        gained = free - group.mark
        made = min(self._group_size, self._region.memory.made - number * self._group_size)
        least = made * (99 - self._block // 16) // 100
        if free < least:
            return least - free + gained, False
        is_empty = group.count >= self._group_size // self._block
        return self._gain, is_empty or gained >= self._gain

    def _free_pages(self, groups: list[Group]) -> Iterator[tuple[int, int]]:
        """Yield the runs of pages on which all blocks are free blocks of these groups."""
        memory = self._region.memory
        end = memory.start + memory.made
        free = sorted(
            block for group in groups for batch in group.batches for block in batch.blocks
        )
        firsts = [free[0], *(b for a, b in pairwise(free) if b > a + self._block)]
        lasts = [*(a for a, b in pairwise(free) if b > a + self._block), free[-1]]
        for first, last in zip(firsts, lasts, strict=True):
            low = round_up(first, PAGE)
            high = last + self._block
            high = round_up(high, PAGE) if high == end else high // PAGE * PAGE
            if low < high:
                yield low, high - low
