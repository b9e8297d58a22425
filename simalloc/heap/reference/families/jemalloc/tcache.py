"""The thread cache of jemalloc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simalloc.heap.reference.families.jemalloc.size_classes import (
    HUGE_PAGE,
    SMALL_CLASSES,
    class_number,
    slab_size,
)
from simalloc.policy.families.jemalloc import Jemalloc

_SMALL: Final = len(SMALL_CLASSES)
_GC_INTERVAL: Final = 10_000_000
"""Minimum nanoseconds between two collections of 5.3.1."""
_SMALL_COLLECTED: Final = 4
"""Number of small classes that one collection of 5.3.1 flushes, besides one large class."""


def capacities(description: Jemalloc) -> list[int]:
    """Return the capacity of a cache for each class; larger classes are not cached."""
    most = max(2, description.tcache_nslots_small_max // 2 * 2)
    least = min(max(2, _even(description.tcache_nslots_small_min)), most)
    found = []
    for number in range(class_number(description.largest_cached) + 1):
        if number < _SMALL:
            regions = slab_size(description, number) // SMALL_CLASSES[number]
            slots = _shifted(regions, description.lg_tcache_nslots_mul)
            found.append(min(max(_even(slots), least), most))
        else:
            found.append(description.tcache_nslots_large)
    for first, last, count in description.max_cached:
        for number in range(class_number(first), min(class_number(last) + 1, len(found))):
            found[number] = count
    return found


def _shifted(number: int, places: int) -> int:
    return number << places if places >= 0 else number >> -places


def _even(number: int) -> int:
    return number + number % 2


class Stack:
    """The cached objects of one class, the newest last."""

    def __init__(self, number: int, capacity: int, end: int) -> None:
        """`end` is the end of the stack's table, which grows downwards."""
        self.number = number
        self.capacity = capacity
        self.end = end
        self.objects: list[int] = []
        # Minimum number of objects since the latest collection.
        self.low = 0
        # A fill takes at most capacity >> (shift - burst) objects; small classes only.
        self.shift = 1
        self.burst = 0
        self.refilled = False

    @property
    def is_small(self) -> bool:
        """True if the class is allocated from slabs."""
        return self.number < _SMALL

    def pop(self) -> int:
        """Take the newest object."""
        found = self.objects.pop()
        self.low = min(self.low, len(self.objects))
        return found

    def take_oldest(self, kept: int) -> list[int]:
        """Remove all but the `kept` newest objects; return the removed ones, the newest first."""
        count = len(self.objects) - kept
        taken = self.objects[:count][::-1]
        del self.objects[:count]
        self.low = min(self.low, kept)
        return taken

    def fill_counts(self, *, in_bursts: bool) -> tuple[int, int]:
        """Return the minimum and the maximum number of objects that a fill takes."""
        most = max(1, self.capacity >> (self.shift - self.burst))
        if not in_bursts:
            return most, most
        if self.burst + 1 < self.shift:
            self.burst += 1
        return most // 2 + 1, most

    def slow_down(self) -> None:
        """Halve the objects of a fill, to at least one object."""
        self.burst = 0
        if self.capacity >> (self.shift + 1) >= 1:
            self.shift += 1

    def speed_up(self) -> None:
        """Double the objects of a fill, after a collection that found the class refilled."""
        self.burst = 0
        self.refilled = False
        if self.shift > 1:
            self.shift -= 1


class ThreadCache:
    """The stacks of a thread, and their collection."""

    def __init__(
        self,
        description: Jemalloc,
        table: int,
        flush: Callable[[Stack, int], None],
        span_of: Callable[[int], range | None],
        place_of: Callable[[int], int],
    ) -> None:
        """Make the stacks, whose table is located at `table`.

        `flush` takes a stack and the number of objects to leave in it. `span_of` returns the
        addresses of the slab that a class allocates from, and `place_of` the address of an object,
        both as Linux would have placed them.
        """
        end = table + 8
        self.stacks: list[Stack] = []
        for number, capacity in enumerate(capacities(description)):
            end += 8 * capacity
            self.stacks.append(Stack(number, capacity, end))
        self._by_clock = description.collects_by_clock
        self._flush = flush
        self._span_of = span_of
        self._place_of = place_of
        self._cursor = 0
        self._large_cursor = _SMALL
        self._next_time: int | None = None

    @staticmethod
    def table_size(description: Jemalloc) -> int:
        """Return the bytes of the table of all stacks."""
        return 8 * (2 + sum(capacities(description)))

    def collect(self, now: int) -> None:
        """Flush a part of the objects that were unused since the latest collection."""
        if not self._by_clock:
            self._visit(self.stacks[self._cursor])
            self._cursor = (self._cursor + 1) % len(self.stacks)
            return
        if self._next_time is not None and now < self._next_time:
            return
        self._next_time = now + _GC_INTERVAL
        small = min(_SMALL, len(self.stacks))
        self._cursor = self._visit_some(self._cursor, 0, small, _SMALL_COLLECTED)
        if len(self.stacks) > _SMALL:
            self._large_cursor = self._visit_some(self._large_cursor, _SMALL, len(self.stacks), 1)

    def _visit_some(self, cursor: int, first: int, end: int, most: int) -> int:
        """Visit classes in turn until `most` were flushed; return the class to continue with."""
        flushed = 0
        for _ in range(end - first):
            flushed += self._visit(self.stacks[cursor])
            cursor = cursor + 1 if cursor + 1 < end else first
            if flushed == most:
                break
        return cursor

    def _visit(self, stack: Stack) -> bool:
        """Flush at least three quarters of the unused objects; return whether any were flushed."""
        count = stack.low - stack.low // 4
        if stack.is_small and stack.low > 0:
            stack.slow_down()
        elif stack.is_small and stack.refilled:
            stack.speed_up()
        if stack.is_small and self._by_clock and count < len(stack.objects):
            count = self._gather_far(stack, count)
        if count > 0:
            self._flush(stack, len(stack.objects) - count)
        stack.low = len(stack.objects)
        return count > 0

    def _gather_far(self, stack: Stack, count: int) -> int:
        """Move objects far from the current slab to the oldest end.

        Returns the number of objects to flush: `count`, or all far objects if there are more.
        """
        slab = self._span_of(stack.number)
        if slab is None:
            return count
        newest_first = stack.objects[::-1]
        far: list[int] = []
        for near in (range(slab.start - HUGE_PAGE, slab.start + HUGE_PAGE), slab):
            far = [object_ for object_ in newest_first if self._place_of(object_) not in near]
            if len(far) >= count:
                break
        if 0 < len(far) < len(newest_first):
            _move_behind(newest_first, set(far))
            stack.objects[:] = newest_first[::-1]
        return max(count, len(far))


def _move_behind(objects: list[int], far: set[int]) -> None:
    """Move the near objects to the front by swapping each with the first far object.

    Near objects keep their order.
    """
    first_far: int | None = None
    for place, address in enumerate(objects):
        if address in far:
            if first_far is None:
                first_far = place
        elif first_far is not None:
            objects[place], objects[first_far] = objects[first_far], address
            first_far += 1
